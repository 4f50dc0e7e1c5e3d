"""Who asks the coordinator for more, and who waits for it. `exchanges/grants.txt` has when a region asks."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.service import ServiceError
from coordinate.protocol.model import Item

from tests.lambda_.coordinator_calls import HOME, put_item
from tests.lambda_.fixtures import COORDINATOR, Ask, Sent, Stack

USED_UP = Item(issued=10, stride=3, ceiling=10, epoch=1)
NOW = 1_795_000_000


def refused(response: dict[str, Any]) -> tuple[int, str, bool]:
    """Return status, `Retry-After`, and whether the caller is told that more was asked for."""
    detail = response["document"]["detail"]
    return response["statusCode"], response["headers"].get("Retry-After", ""), "asked the home region" in detail


def test_of_many_functions_one_asks_and_all_tell_their_callers(ask: Ask, stack: Stack, sent: Sent) -> None:
    stack.monkeypatch.setattr("time.time", lambda: NOW)
    for counter in ("integers", "orders"):
        put_item(stack, HOME, USED_UP, counter)

    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda n: ask("POST", "/orders" if n % 2 else "/", warm=True), range(8)))

    assert {refused(response) for response in responses} == {(503, "1", True)}
    assert len(sent) == 1


@pytest.mark.parametrize("failure", [NoResponse("timed out"), ServiceError(403, "AccessDenied", "no"), OSError("?")])
def test_a_region_that_cant_ask_still_answers_503(
    ask: Ask, stack: Stack, sent: Sent, caplog: pytest.LogCaptureFixture, failure: Exception
) -> None:
    def fail(*_: object) -> None:
        raise failure

    stack.monkeypatch.setattr("mint.grants.send", fail)
    put_item(stack, HOME, USED_UP)

    assert refused(ask()) == (503, "5", False)
    assert "can't be asked for integers of integers" in caplog.text


def test_a_fence_that_stays_asks_once_its_wait_is_over(ask: Ask, stack: Stack, sent: Sent) -> None:
    """The coordinator that should open it may have been cut off."""
    waited: list[float] = []
    stack.monkeypatch.setattr("mint.minting.time.sleep", lambda _: waited.append(len(sent)))
    stack.monkeypatch.setattr("mint.minting.MAX_WAIT", 0.2)
    put_item(stack, HOME, replace(USED_UP, fenced=True))

    response = ask()

    assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "1")
    assert sent == [(COORDINATOR, {"grant": "integers", "count": 1})]
    assert set(waited) <= {0}, "nobody was asked while a fence may still be short"


LOW = Item(issued=10, stride=3, ceiling=10**6, epoch=1, low=16)


def test_no_caller_often_waits_for_a_home_region_that_cant_be_asked(ask: Ask, stack: Stack, sent: Sent) -> None:
    """The integers are minted all the same."""
    tried: list[float] = []
    now = 100.0

    def send(*_: object) -> None:
        tried.append(now)
        raise ConnectionError("no route")

    stack.monkeypatch.setattr("mint.grants.send", send)
    stack.monkeypatch.setattr("mint.minting.time.monotonic", lambda: now)
    stack.monkeypatch.setattr("time.time", lambda: NOW + now)
    put_item(stack, HOME, replace(LOW, issued=16))
    for _ in range(20):
        assert ask(warm=True)["statusCode"] == 200
        now += 4

    assert tried == [100, 168]


def test_who_asks_waits_for_the_grant_and_others_do_not(ask: Ask, stack: Stack, sent: Sent) -> None:
    """A request that waits is an execution that could serve another counter."""
    waited: list[int] = []

    def sleep(_: float) -> None:
        waited.append(len(sent))
        assert refused(ask("POST", warm=True)) == (503, "1", True), "another caller"
        put_item(stack, HOME, replace(USED_UP, ceiling=100))

    put_item(stack, HOME, USED_UP)
    stack.monkeypatch.setattr("mint.minting.MAX_WAIT", 600)
    stack.monkeypatch.setattr("mint.minting.time.sleep", sleep)

    assert ask("POST", warm=True)["document"]["integer"] == 13
    assert waited == [1]
