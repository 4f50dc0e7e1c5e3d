"""Counters are created through the coordinator and listed, where callers may do so."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from typing import Any

import mint.counters
import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed
from aws_client.service import ServiceError

from tests.lambda_.aws_client.faults import answering
from tests.lambda_.coordinator_calls import deploy
from tests.lambda_.fixtures import HOME, Ask, Stack
from tests.lambda_.recorded import Recorded, recorded

FULL = InvocationFailed("TooManyCounters", "invoices: callers may create no more (the setting maxCounters).")
COORDINATOR = "arn:aws:lambda:us-east-1:000000000000:function:coordinate:minting"


def opened(stack: Stack, *results: dict[str, Any] | Exception) -> list[object]:
    """Let callers create counters. Return the invocations of the coordinator, which has these results."""
    invocations, left = list[object](), list(results)

    def invoke(function: str, event: object, timeout: float) -> dict[str, Any]:
        invocations.append((function, event))
        result = left.pop(0)
        if isinstance(result, Exception):
            raise result
        return result

    stack.monkeypatch.setenv("COORDINATOR", COORDINATOR)
    stack.monkeypatch.setenv("OPEN_COUNTERS", "1")
    stack.monkeypatch.setattr(mint.counters, "invoke", invoke)
    return invocations


@pytest.mark.parametrize(
    ("ending", "status", "retry", "detail"),
    [
        (FULL, 403, None, str(FULL)),
        (InvocationFailed("CoordinatorError", "the register was lost."), 503, None, "the log says why"),
        (InvocationFailed("Runtime.ExitError", "signal: killed"), 503, "1", "try again"),
        (InvocationFailed("Sandbox.Timedout", "Task timed out after 900.00 seconds"), 503, "1", "try again"),
        (NoResponse("timed out"), 503, "1", "try again"),
        (ServiceError(429, "TooManyRequestsException", "slow down"), 503, "1", "try again"),
        (ServiceError(404, "ResourceNotFoundException", "no"), 503, None, "can't be invoked"),
        (ServiceError(403, "AccessDeniedException", "no"), 503, "5", "can't be invoked"),
    ],
)
def test_the_response_says_whether_a_retry_can_help(
    ask: Ask, stack: Stack, ending: Exception, status: int, retry: str | None, detail: str
) -> None:
    opened(stack, ending)
    response = ask("PUT", "/invoices")

    assert (response["statusCode"], response["headers"].get("Retry-After")) == (status, retry)
    assert detail in response["document"]["detail"]


@recorded("function")
def test_a_retry_helps_if_the_coordinator_was_killed(ask: Ask, stack: Stack, answer: Recorded) -> None:
    stack.monkeypatch.setenv("COORDINATOR", COORDINATOR)
    stack.monkeypatch.setenv("OPEN_COUNTERS", "1")
    with answering(answer.raw) as server:
        stack.monkeypatch.setenv("AWS_ENDPOINT_URL_LAMBDA", server.url)
        response = ask("PUT", "/invoices")

    assert (response["statusCode"], response["headers"].get("Retry-After")) == (503, answer.means["retry_after"])


@pytest.mark.parametrize(("created", "status"), [(["invoices"], 201), ([], 200)])
def test_the_response_says_whether_the_counter_is_new(ask: Ask, stack: Stack, created: list[str], status: int) -> None:
    reconciled = {"epoch": 1, "base": 1, "regions": {HOME: {"offset": 1, "stride": 1}}}
    invocations = opened(stack, {"counters": {"invoices": reconciled}, "created": created})
    response = ask("PUT", "/invoices")

    assert (response["statusCode"], response["document"]) == (status, {"counter": "invoices", **reconciled})
    assert invocations == [(COORDINATOR, {"create": ["invoices"]})]


@pytest.mark.parametrize("limit", [1, 2])
def test_the_list_has_every_counter_once_in_one_read_a_page(ask: Ask, stack: Stack, limit: int) -> None:
    names = ["integers", "invoices", "orders"]
    deploy(counters=[*names, "-check"])
    opened(stack)
    calls: list[str] = []
    stack.monkeypatch.setattr(stack.aws, "answer", lambda _region, operation, _request: calls.append(operation))
    pages = [ask("GET", f"/-/counters?limit={limit}")["document"]]
    while "next" in pages[-1] and len(pages) < 10:
        pages.append(ask("GET", f"/-/counters?limit={limit}&after={pages[-1]['next']}")["document"])

    assert sorted(name for page in pages for name in page["counters"]) == names
    assert max(len(page["counters"]) for page in pages) == limit
    assert calls == ["scan"] * len(pages), "also of a page that finds only the counter of the checks"


def test_a_refused_creation_is_not_asked_again_for_a_minute(ask: Ask, stack: Stack) -> None:
    """The coordinator reads all registers to refuse one, so whoever repeats it would run up a bill."""
    deploy()
    invocations = opened(stack, FULL, {"counters": {"integers": {"epoch": 1}}, "created": []}, FULL)
    now = 1_795_000_000.0
    stack.monkeypatch.setattr("mint.counters.time.time", lambda: now)

    assert ask("PUT", "/invoices")["statusCode"] == 403
    now += 59
    refused = ask("PUT", "/tickets", warm=True)
    assert (refused["statusCode"], len(invocations)) == (403, 1)
    assert refused["document"]["detail"] == str(FULL).replace("invoices", "tickets")
    assert ask("PUT", "/integers", warm=True)["statusCode"] == 200  # it exists
    now += 1
    assert ask("PUT", "/tickets", warm=True)["statusCode"] == 403
    assert len(invocations) == 3
