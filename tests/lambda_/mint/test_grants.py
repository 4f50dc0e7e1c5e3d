"""A region that ran out of integers asks the coordinator for more: seldom, and without harm if that fails."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import mint.minting
import pytest
from aws_client.connection import NoResponse
from aws_client.service import ServiceError
from coordinate.protocol.model import Item

from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.records import ASKED_KEY
from tests.lambda_.coordinator_calls import HOME, laid_out, put_item, register, send
from tests.lambda_.fixtures import COORDINATOR, Ask, Sent, Stack

USED_UP = Item(issued=10, stride=3, ceiling=10, epoch=1)
NOW = 1_795_000_000

Clock = Callable[[float], None]


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """`at(seconds)` sets the clock, after `NOW`."""

    def set_clock(seconds: float) -> None:
        monkeypatch.setattr("time.time", lambda: NOW + seconds)

    set_clock(0)
    return set_clock


def asked(stack: Stack, counter: str = "") -> int | None:
    """Return when the region asked last, at all or for a counter."""
    dynamodb = stack.aws.client("dynamodb", HOME)
    key: Any = {"receipt": {"S": f"{ASKED_KEY}{counter}"}}
    found = dynamodb.get_item(TableName=stack.receipts, Key=key).get("Item")
    return int(found["at"].get("N", "")) if found else None


def put_asked(stack: Stack, at: int, counter: str = "") -> None:
    record: Any = {"receipt": {"S": f"{ASKED_KEY}{counter}"}, "at": {"N": str(at)}, "count": {"N": "1"}}
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.receipts, Item=record)


def refused(response: dict[str, Any]) -> tuple[int, str, bool]:
    """Return status, `Retry-After`, and whether the caller is told that more was asked for."""
    detail = response["document"]["detail"]
    return response["statusCode"], response["headers"].get("Retry-After", ""), "asked the home region" in detail


def test_a_region_that_has_too_few_asks_and_the_caller_soon_retries(
    ask: Ask, stack: Stack, sent: Sent, at: Clock
) -> None:
    put_item(stack, HOME, replace(USED_UP, ceiling=16))
    put_item(stack, HOME, USED_UP, "orders")

    response = ask("POST", "/?count=3")

    assert refused(response) == (503, "1", True)
    assert response["document"]["available"] == 2
    assert sent == [(COORDINATOR, {"grant": "integers", "count": 3})]
    assert ask("POST", "/?count=2")["statusCode"] == 200
    at(1)
    assert refused(ask("POST", "/orders")) == (503, "1", True)
    assert sent[1:] == [(COORDINATOR, {"grant": "orders", "count": 1})]


@pytest.mark.usefixtures("at")
def test_of_many_functions_one_asks_and_all_tell_their_callers(ask: Ask, stack: Stack, sent: Sent) -> None:
    for counter in ("integers", "orders"):
        put_item(stack, HOME, USED_UP, counter)

    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda n: ask("POST", "/orders" if n % 2 else "/", warm=True), range(8)))

    assert {refused(response) for response in responses} == {(503, "1", True)}
    assert len(sent) == 1
    assert asked(stack) == NOW
    assert {asked(stack, "/integers"), asked(stack, "/orders")} == {NOW, None}


def test_a_region_asks_again_after_some_seconds(ask: Ask, stack: Stack, sent: Sent, at: Clock) -> None:
    put_item(stack, HOME, USED_UP)
    times: list[float] = []
    for second in (0, 1, 2, 3, 4, 60):
        at(second)
        before = len(sent)
        assert refused(ask()) == (503, "1", True)
        times += [second] * (len(sent) - before)

    assert times == [0, 2, 4, 60]


def test_a_counter_that_asks_in_vain_leaves_room_for_others(ask: Ask, stack: Stack, sent: Sent, at: Clock) -> None:
    for counter in ("integers", "orders"):
        put_item(stack, HOME, USED_UP, counter)
    for second in range(11):
        at(second)
        ask("POST", "/")  # first, whenever anybody may ask
        ask("POST", "/orders")

    assert [event["grant"] for _, event in sent] == ["integers", "orders"] * 5 + ["integers"]


@pytest.mark.parametrize(("ahead", "expected"), [(60, 0), (61, 1), (10**9, 1)])
@pytest.mark.parametrize("counter", ["", "/integers"])
@pytest.mark.usefixtures("at")
def test_a_wrong_clock_stops_no_region_for_long(
    ask: Ask, stack: Stack, sent: Sent, counter: str, ahead: int, expected: int
) -> None:
    put_item(stack, HOME, USED_UP)
    put_asked(stack, NOW + ahead, counter)

    ask()

    assert len(sent) == expected


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
    stack.monkeypatch.setenv("RECEIPTS_TABLE", "missing")
    assert refused(ask()) == (503, "5", False)
    assert "ResourceNotFoundException" in caplog.text


@pytest.mark.usefixtures("at")
def test_nobody_asks_for_what_cant_be_granted(ask: Ask, stack: Stack, sent: Sent) -> None:
    top = MAX_INTEGER - MAX_INTEGER % 3
    put_item(stack, HOME, Item(issued=top, stride=3, ceiling=top, epoch=1), "ended")
    put_item(stack, HOME, Item(issued=MAX_INTEGER - 30, stride=3, ceiling=MAX_INTEGER - 30, epoch=1), "ending")
    put_item(stack, HOME, USED_UP)

    assert ask("POST", "/ended")["statusCode"] == 503
    assert ask("POST", "/ending?count=11")["statusCode"] == 503
    assert ask("POST", "/missing")["statusCode"] == 503
    for path in ("/-/health", "/-/status", "/-/status?counter=orders"):
        ask("GET", path)  # asks nothing of the coordinator either
    stack.monkeypatch.setenv("LEAVING", "eu-west-1")
    ask()
    assert (sent, asked(stack)) == ([], None)

    stack.monkeypatch.delenv("LEAVING")
    assert ask("POST", "/ending?count=10")["statusCode"] == 503
    assert sent == [(COORDINATOR, {"grant": "ending", "count": 10})]


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


def test_a_fence_that_opens_asks_nobody(ask: Ask, stack: Stack, sent: Sent) -> None:
    put_item(stack, HOME, replace(USED_UP, fenced=True))
    opened = Item(issued=97, stride=3, ceiling=10**9, epoch=2)
    stack.monkeypatch.setattr("mint.minting.MAX_WAIT", 600)
    stack.monkeypatch.setattr("mint.minting.time.sleep", lambda _: put_item(stack, HOME, opened))

    assert ask()["document"]["integer"] == 100
    assert sent == []


def test_what_is_asked_for_is_granted(ask: Ask, stack: Stack, sent: Sent) -> None:
    laid_out(window=1000, scheduleMinutes=60)
    assert [ask("POST", "/?count=1000", "eu-west-1")["statusCode"] for _ in range(2)] == [200, 503]
    send(sent[-1][1], invoked=COORDINATOR)
    granted = register(stack)

    assert granted is not None
    assert (granted.epoch, granted.window) == (1, 12_000), "a minute at this rate"
    assert ask("POST", "/?count=1000", "eu-west-1")["document"]["integers"][0] == 3002


LOW = Item(issued=10, stride=3, ceiling=10**6, epoch=1, low=16)


def test_a_region_asks_ahead_when_little_is_left(ask: Ask, stack: Stack, sent: Sent, at: Clock) -> None:
    """Once in some seconds, and the caller doesn't wait."""
    now = 100.0
    stack.monkeypatch.setattr("mint.minting.time.monotonic", lambda: now)
    put_item(stack, HOME, LOW)
    integers: list[int] = []
    for seconds in (0, 0, 1, 4, 1):  # it is low from the third one on
        now += seconds
        at(now)
        integers.append(ask(warm=True)["document"]["integer"])
        before = [event["count"] for _, event in sent]

    assert integers == [13, 16, 19, 22, 25]
    assert before == [1, 1]
    assert {where for where, _ in sent} == {COORDINATOR}


def test_who_asks_ahead_keeps_nobody_waiting_who_wants_more(ask: Ask, stack: Stack, sent: Sent, at: Clock) -> None:
    put_item(stack, HOME, replace(LOW, ceiling=28))
    for _ in range(3):
        ask(warm=True)
    assert [event["count"] for _, event in sent] == [1]

    assert refused(ask("POST", "/?count=50", warm=True)) == (503, "1", True)
    assert [event["count"] for _, event in sent] == [1, 50]
    at(0.9)
    assert refused(ask("POST", "/?count=40", warm=True)) == (503, "1", True)
    assert [event["count"] for _, event in sent] == [1, 50]


def test_many_counters_ask_ahead_in_turn(ask: Ask, stack: Stack, sent: Sent, at: Clock) -> None:
    """Otherwise a stack whose counters are all used alike would start as many coordinators at once."""
    for counter in ("integers", "orders", "tickets"):
        put_item(stack, HOME, replace(LOW, issued=16), counter)
    for second in range(3):
        at(second)
        mint.minting.forget()
        for counter in ("integers", "orders", "tickets"):
            assert ask("POST", f"/{counter}", warm=True)["statusCode"] == 200

    assert [event["grant"] for _, event in sent] == ["integers", "orders", "integers"]


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


def test_a_leaving_region_asks_for_nothing(ask: Ask, stack: Stack, sent: Sent) -> None:
    stack.monkeypatch.setenv("LEAVING", "1")
    put_item(stack, HOME, replace(LOW, issued=16, ceiling=22))
    statuses = [ask(warm=True)["statusCode"] for _ in range(3)]

    assert (statuses, sent) == ([200, 200, 503], [])


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
