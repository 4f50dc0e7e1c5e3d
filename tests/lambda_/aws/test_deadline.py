"""No call outlasts the invocation."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import math
import time
from types import SimpleNamespace

import pytest
from aws import deadline
from aws.failure import Unsent
from mint.table import Unavailable, call_table

from tests.lambda_.aws.faulty_server import FaultyServer, dynamodb_at, stalls

pytestmark = pytest.mark.usefixtures("quick")


def test_without_a_remaining_time_there_is_no_deadline() -> None:
    deadline.begin(None)

    assert deadline.left() == math.inf


def test_the_deadline_leaves_time_to_respond() -> None:
    deadline.begin(SimpleNamespace(get_remaining_time_in_millis=lambda: 3_000))

    assert 2.5 < deadline.left() <= 2.8


def test_it_is_negative_once_it_has_passed() -> None:
    deadline.begin(SimpleNamespace(get_remaining_time_in_millis=lambda: 0))

    assert deadline.left() < 0


def test_no_call_outlasts_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aws.dynamodb.TIMEOUT", 10)
    with FaultyServer(stalls) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        deadline.begin(SimpleNamespace(get_remaining_time_in_millis=lambda: 500))
        began = time.monotonic()
        with pytest.raises(Unavailable, match=r"timed out|no time left"):
            call_table(lambda: dynamodb.call("UpdateItem", {}))
        took = time.monotonic() - began
        asked = len(server.requests)

        deadline.begin(SimpleNamespace(get_remaining_time_in_millis=lambda: 100))
        with pytest.raises(Unsent, match="no time left"):
            dynamodb.call("UpdateItem", {})
        assert len(server.requests) == asked == 1
        dynamodb.close()

    assert 0.25 < took < 0.5
