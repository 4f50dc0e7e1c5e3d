"""A region that ran out of integers asks the coordinator for more: seldom, and without harm if that fails."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import mint.grants
import pytest
from aws_client.connection import NoResponse
from aws_client.service import ServiceError
from coordinate.protocol.model import Item

from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.names import COUNTER_NAME
from global_integers_core.records import ASKED_KEY
from tests.lambda_.coordinator_calls import HOME, item, laid_out, put_item, register, send
from tests.lambda_.fixtures import Ask, Response, Stack

COORDINATOR = "arn:aws:lambda:us-east-1:000000000000:function:shop-coordinate:minting"
USED_UP = Item(issued=10, stride=3, ceiling=10, epoch=1)
NOW = 1_795_000_000

Sent = list[tuple[str, dict[str, str]]]


@pytest.fixture
def sent(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> Sent:
    """What minting functions send, to whom; nothing carries it out."""
    events: Sent = []

    def send(function: str, event: dict[str, str], timeout: float) -> None:
        events.append((function, event))

    monkeypatch.setattr(mint.grants, "send", send)
    monkeypatch.setenv("COORDINATOR", COORDINATOR)
    return events


@pytest.fixture
def at(monkeypatch: pytest.MonkeyPatch) -> Callable[[float], None]:
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
    record: Any = {"receipt": {"S": f"{ASKED_KEY}{counter}"}, "at": {"N": str(at)}}
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.receipts, Item=record)


def refused(response: Response) -> tuple[int, str, bool]:
    """Return status, `Retry-After`, and whether the caller is told that more was asked for."""
    detail = response["document"]["detail"]
    return response["statusCode"], response["headers"].get("Retry-After", ""), "asked the home region" in detail


def test_a_region_that_has_too_few_asks_and_the_caller_soon_retries(
    ask: Ask, stack: Stack, sent: Sent, at: Callable[[float], None]
) -> None:
    put_item(stack, HOME, replace(USED_UP, ceiling=16))
    put_item(stack, HOME, USED_UP, "orders")

    response = ask("POST", "/?count=3")

    assert refused(response) == (503, "3", True)
    assert response["document"]["available"] == 2
    assert sent == [(COORDINATOR, {"grant": "integers", "count": 3})]
    assert ask("POST", "/?count=2")["statusCode"] == 200
    at(1)
    assert refused(ask("POST", "/orders")) == (503, "3", True)
    assert sent[1:] == [(COORDINATOR, {"grant": "orders", "count": 1})]


@pytest.mark.usefixtures("at")
def test_of_many_functions_one_asks_and_all_tell_their_callers(ask: Ask, stack: Stack, sent: Sent) -> None:
    for counter in ("integers", "orders"):
        put_item(stack, HOME, USED_UP, counter)

    with ThreadPoolExecutor(4) as pool:
        responses = list(pool.map(lambda n: ask("POST", "/orders" if n % 2 else "/", warm=True), range(8)))

    assert {refused(response) for response in responses} == {(503, "3", True)}
    assert len(sent) == 1
    assert asked(stack) == NOW
    assert {asked(stack, "/integers"), asked(stack, "/orders")} == {NOW, None}


def test_a_region_asks_again_after_some_seconds(
    ask: Ask, stack: Stack, sent: Sent, at: Callable[[float], None]
) -> None:
    put_item(stack, HOME, USED_UP)
    times: list[float] = []
    for second in (0, 1, 4, 5, 6, 9, 10, 60):
        at(second)
        before = len(sent)
        assert refused(ask()) == (503, "3", True)
        times += [second] * (len(sent) - before)

    assert times == [0, 5, 10, 60]


def test_a_counter_that_asks_in_vain_leaves_room_for_others(
    ask: Ask, stack: Stack, sent: Sent, at: Callable[[float], None]
) -> None:
    for counter in ("integers", "orders"):
        put_item(stack, HOME, USED_UP, counter)
    for second in range(11):
        at(second)
        ask("POST", "/")  # first, whenever anybody may ask
        ask("POST", "/orders")

    assert [event["grant"] for _, event in sent] == ["integers", "orders"] * 2 + ["integers"]


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


@pytest.mark.parametrize(
    "failure",
    [
        NoResponse("timed out"),
        ServiceError(403, "AccessDeniedException", "no"),
        ServiceError(404, "", ""),
        OSError("?"),
    ],
)
def test_a_region_that_cant_ask_still_answers_503(
    ask: Ask, stack: Stack, sent: Sent, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture,
    failure: Exception,
) -> None:  # fmt: skip
    def fail(*_: object) -> None:
        raise failure

    monkeypatch.setattr(mint.grants, "send", fail)
    put_item(stack, HOME, USED_UP)

    assert refused(ask()) == (503, "5", False)
    assert "can't be asked for integers of integers" in caplog.text
    stack.monkeypatch.setenv("RECEIPTS_TABLE", "missing")
    assert refused(ask()) == (503, "5", False)
    assert "ResourceNotFoundException" in caplog.text


@pytest.mark.usefixtures("at")
def test_nobody_asks_for_what_cant_be_granted(
    ask: Ask, stack: Stack, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    top = MAX_INTEGER - MAX_INTEGER % 3
    put_item(stack, HOME, Item(issued=top, stride=3, ceiling=top, epoch=1), "ended")
    put_item(stack, HOME, Item(issued=MAX_INTEGER - 30, stride=3, ceiling=MAX_INTEGER - 30, epoch=1), "ending")
    put_item(stack, HOME, USED_UP)

    assert ask("POST", "/ended")["statusCode"] == 503
    assert ask("POST", "/ending?count=11")["statusCode"] == 503
    assert ask("POST", "/missing")["statusCode"] == 503
    for path in ("/-/health", "/-/status", "/-/status?counter=orders"):
        ask("GET", path)  # asks nothing of the coordinator either
    monkeypatch.setenv("LEAVING", "eu-west-1")
    ask()
    assert (sent, asked(stack)) == ([], None)

    monkeypatch.delenv("LEAVING")
    assert ask("POST", "/ending?count=10")["statusCode"] == 503
    assert sent == [(COORDINATOR, {"grant": "ending", "count": 10})]


def test_a_fence_that_stays_asks_once_its_wait_is_over(
    ask: Ask, stack: Stack, sent: Sent, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The coordinator that should open it may have been cut off."""
    waited: list[float] = []
    monkeypatch.setattr("mint.minting.time.sleep", lambda _: waited.append(len(sent)))
    monkeypatch.setattr("mint.minting.MAX_WAIT", 0.2)
    put_item(stack, HOME, replace(USED_UP, fenced=True))

    response = ask()

    assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "1")
    assert sent == [(COORDINATOR, {"grant": "integers", "count": 1})]
    assert set(waited) <= {0}, "nobody was asked while a fence may still be short"


def test_a_fence_that_opens_asks_nobody(ask: Ask, stack: Stack, sent: Sent, monkeypatch: pytest.MonkeyPatch) -> None:
    put_item(stack, HOME, replace(USED_UP, fenced=True))
    opened = Item(issued=97, stride=3, ceiling=10**9, epoch=2)
    monkeypatch.setattr("mint.minting.MAX_WAIT", 600)
    monkeypatch.setattr("mint.minting.time.sleep", lambda _: put_item(stack, HOME, opened))

    assert ask()["document"]["integer"] == 100
    assert sent == []


def test_what_is_asked_for_is_granted(ask: Ask, stack: Stack, sent: Sent) -> None:
    laid_out(window=1000, schedule_minutes=60)
    before = register(stack)
    assert before is not None
    assert ask("POST", "/?count=1000", "eu-west-1")["statusCode"] == 200
    assert ask("POST", "/?count=1000", "eu-west-1")["statusCode"] == 503

    send(sent[-1][1], invoked=COORDINATOR)

    granted = register(stack)
    assert granted is not None
    assert granted.epoch == before.epoch
    assert before.window < granted.window <= 3 * before.window
    found = item(stack, "eu-west-1")
    assert found is not None
    assert found.ceiling <= granted.limit
    integers = ask("POST", "/?count=1000", "eu-west-1")["document"]["integers"]
    assert integers[0] == 3002


@pytest.mark.usefixtures("at")
def test_no_receipt_and_no_record_of_layouts_has_its_key(ask: Ask, stack: Stack) -> None:
    laid_out()
    put_asked(stack, NOW)
    for path in ("/", "/%2Fasked", "//asked", "/asked"):
        for key in ("/asked", "asked"):
            ask("POST", path, idempotency_key=key)

    assert asked(stack) == NOW
    assert "/" not in COUNTER_NAME.pattern.partition("]")[0], "every key of theirs begins with a counter's name"
