"""Counters are created through the coordinator and listed, where callers may do so."""

from typing import Any

import mint.counters
import pytest
from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed
from aws_client.service import ServiceError

from global_integers_core.names import RESERVED
from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import HOME, Ask, Stack

ENDED = InvocationFailed("Runtime.ExitError", "signal: killed")
FULL = InvocationFailed(
    "TooManyCounters",
    "invoices: callers may create counters only while there are fewer than 2 (the setting maxCounters).",
)
LATE = InvocationFailed("Sandbox.Timedout", "Task timed out after 900.00 seconds")
REFUSED = InvocationFailed("CoordinatorError", "invoices: the register was lost.")
COORDINATOR = "arn:aws:lambda:us-east-1:000000000000:function:coordinate:minting"


def open_counters(stack: Stack) -> None:
    stack.monkeypatch.setenv("COORDINATOR", COORDINATOR)
    stack.monkeypatch.setenv("OPEN_COUNTERS", "1")


@pytest.mark.parametrize(
    ("ending", "retry", "detail"),
    [
        (FULL, False, str(FULL)),
        (REFUSED, False, "the log says why"),
        (ENDED, True, "try again"),
        (LATE, True, "try again"),
        (NoResponse("timed out"), True, "try again"),
        (ServiceError(429, "TooManyRequestsException", "slow down"), True, "try again"),
        (ServiceError(404, "ResourceNotFoundException", "no"), False, "can't be invoked"),
        (ServiceError(403, "AccessDeniedException", "no"), True, "can't be invoked"),
    ],
)
def test_the_response_says_whether_a_retry_can_help(
    ask: Ask, stack: Stack, ending: Exception, retry: bool, detail: str
) -> None:
    def invoke(*_: object, **__: object) -> None:
        raise ending

    open_counters(stack)
    stack.monkeypatch.setattr(mint.counters, "invoke", invoke)

    response = ask("PUT", "/invoices")

    assert response["statusCode"] == (403 if ending is FULL else 503)
    assert ("Retry-After" in response["headers"]) == retry
    assert detail in response["document"]["detail"]


@pytest.mark.parametrize(("created", "status"), [(["invoices"], 201), ([], 200)])
def test_the_response_says_whether_the_counter_is_new(ask: Ask, stack: Stack, created: list[str], status: int) -> None:
    reconciled = {"epoch": 1, "base": 1, "regions": {HOME: {"offset": 1, "stride": 1}}}
    events: list[object] = []

    def invoke(function: str, event: object, timeout: float) -> dict[str, Any]:
        events.append((function, event))
        return {"counters": {"invoices": reconciled}, "created": created}

    open_counters(stack)
    stack.monkeypatch.setattr(mint.counters, "invoke", invoke)

    response = ask("PUT", "/invoices")

    assert (response["statusCode"], response["document"]) == (status, {"counter": "invoices", **reconciled})
    assert events == [(COORDINATOR, {"create": ["invoices"]})]


@pytest.mark.parametrize("counter", sorted(RESERVED))
def test_a_name_that_api_gateway_answers_itself_is_refused(ask: Ask, stack: Stack, counter: str) -> None:
    open_counters(stack)
    stack.monkeypatch.setattr(mint.counters, "invoke", None)

    response = ask("PUT", f"/{counter}")

    assert response["statusCode"] == 400
    assert f"API Gateway has another use for the path /{counter}" in response["document"]["detail"]


@pytest.mark.parametrize(("method", "path"), [("PUT", "/invoices"), ("GET", "/-/counters")])
def test_it_is_forbidden_unless_it_is_turned_on(ask: Ask, stack: Stack, method: str, path: str) -> None:
    laid_out()
    stack.monkeypatch.setenv("COORDINATOR", COORDINATOR)  # which it always has, to ask for integers

    response = ask(method, path)

    assert response["statusCode"] == 403
    assert "openCounters" in response["document"]["detail"]


@pytest.mark.parametrize("limit", [1, 2])
def test_the_list_has_every_counter_once_in_one_read_a_page(ask: Ask, stack: Stack, limit: int) -> None:
    names = ["integers", "invoices", "orders"]
    laid_out(counters=[*names, "-check"])
    open_counters(stack)
    calls: list[str] = []

    def count(_region: str, operation: str, _request: Any) -> None:
        calls.append(operation)

    stack.monkeypatch.setattr(stack.aws, "answer", count)
    after, found, pages = "", list[str](), 0
    while pages == 0 or (after and pages < 10):
        page = ask("GET", f"/-/counters?limit={limit}{after}")["document"]
        pages += 1
        assert len(page["counters"]) <= limit
        found += page["counters"]
        after = f"&after={page['next']}" if "next" in page else ""

    assert sorted(found) == names
    assert calls == ["scan"] * pages, "also of a page that finds only the counter of the checks"


def test_a_refused_creation_is_not_asked_again_for_a_minute(
    ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator reads all registers to refuse one, so whoever repeats it would run up a bill."""
    laid_out()
    open_counters(stack)
    asked: list[Any] = []
    now = [1_795_000_000.0]

    def invoke(function: str, payload: Any, timeout: float) -> dict[str, Any]:
        asked.append(payload["create"])
        if payload["create"] == ["integers"]:
            return {"counters": {"integers": {"epoch": 1}}, "created": []}
        raise FULL

    monkeypatch.setattr(mint.counters, "invoke", invoke)
    monkeypatch.setattr("mint.counters.time.time", lambda: now[0])

    assert ask("PUT", "/invoices")["statusCode"] == 403
    refused = ask("PUT", "/tickets", warm=True)
    assert (refused["statusCode"], refused["document"]["detail"].partition(" ")[0]) == (403, "tickets:")
    assert "maxCounters" in refused["document"]["detail"]
    assert asked == [["invoices"]]
    assert ask("PUT", "/integers", warm=True)["statusCode"] == 200  # it exists
    now[0] += 60
    assert ask("PUT", "/tickets", warm=True)["statusCode"] == 403
    assert asked == [["invoices"], ["integers"], ["tickets"]]
