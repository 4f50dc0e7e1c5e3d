"""No call outlasts the invocation."""

import math
from types import SimpleNamespace

import pytest
from aws_client import service
from aws_client.connection import Connection, NoResponse
from aws_client.service import DynamoDB

from tests.lambda_.aws_client.faults import GOOD, answering, dynamodb_at


class Clock:
    """A clock that stands until it is set."""

    now = 1000.0

    def monotonic(self) -> float:
        return self.now

    def time(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch, credentials: None) -> Clock:
    clock = Clock()
    monkeypatch.setattr(service, "time", clock)
    return clock


def begin(milliseconds: int) -> None:
    """Begin an invocation with so much time."""
    service.set_deadline(SimpleNamespace(get_remaining_time_in_millis=lambda: milliseconds))


def test_the_deadline_leaves_time_to_respond(clock: Clock) -> None:
    service.set_deadline(None)
    assert service.time_left() == math.inf, "without a remaining time there is none"

    begin(3_000)
    assert service.time_left() == pytest.approx(2.8)
    clock.now += 3
    assert service.time_left() == pytest.approx(-0.2)


def test_no_call_outlasts_the_time_that_is_left(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    timeouts: list[float] = []

    def late(_: Connection, _request: bytes, timeout: float) -> None:
        timeouts.append(timeout)
        clock.now += timeout
        raise NoResponse("timed out")

    monkeypatch.setattr(Connection, "exchange", late)
    monkeypatch.setattr("aws_client.service.TIMEOUT", 10)
    with answering(GOOD) as server:
        dynamodb: DynamoDB = dynamodb_at(server, monkeypatch)
        begin(1_000)
        with pytest.raises(NoResponse, match="timed out"):
            dynamodb.call("UpdateItem", {})
        assert timeouts == [pytest.approx(0.8)], "the time that is left, and no second attempt"

        begin(100)
        with pytest.raises(NoResponse, match="no time left"):
            dynamodb.call("UpdateItem", {})
        assert len(timeouts) == 1
