"""A call is answered, tried again where that helps, and never answered wrongly: against a server that fails."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import json
import re
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any

import aws.service
import pytest
from aws import deadline
from aws.dynamodb import DynamoDB
from aws.failure import NoAnswer, ServiceError, Unsent
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from mint.table import ConditionFailed, Unavailable, call_table

from tests.lambda_.aws.faulty_server import (
    FaultyServer,
    Turn,
    answers,
    answers_and_closes,
    cuts_after,
    cuts_before,
    drips,
    stalls,
    whole,
)

ANSWER = {"Attributes": {"issued": {"N": "4"}}}
GOOD = whole(ANSWER)
THROTTLED = {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow down"}
FAILED = {
    "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
    "message": "The conditional request failed",
    "Item": {"issued": {"N": "7"}},
}
OTHER_BODY = GOOD.replace(b'"4"', b'"5"')  # JSON, and as long, but not what was sent


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch, credentials: None) -> None:
    monkeypatch.setattr("aws.dynamodb.TIMEOUT", 0.3)


def dynamodb_at(server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> DynamoDB:
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
    return DynamoDB()


def test_calls_share_one_connection_and_carry_what_dynamodb_wants(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(GOOD)) as server:
        dynamodb = dynamodb_at(server, monkeypatch)

        assert [dynamodb.call("UpdateItem", {"TableName": "t"}) for _ in range(5)] == [ANSWER] * 5
        host = server.url.removeprefix("http://")
        dynamodb.close()

    assert server.connections == 1
    head, _, body = server.requests[0].partition(b"\r\n\r\n")
    assert body == b'{"TableName": "t"}'
    lines = head.decode().split("\r\n")
    assert lines[0] == "POST / HTTP/1.1"
    assert f"Host: {host}" in lines
    assert "X-Amz-Target: DynamoDB_20120810.UpdateItem" in lines
    assert "Content-Type: application/x-amz-json-1.0" in lines
    assert "X-Amz-Security-Token: the-token" in lines
    assert re.search(
        r"Authorization: AWS4-HMAC-SHA256 Credential=AKID/\d{8}/eu-west-1/dynamodb/aws4_request", head.decode()
    )


def test_threads_that_share_it_get_each_their_own_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    def echoes(server: FaultyServer, connection: socket.socket) -> None:
        connection.sendall(whole(json.loads(server.read(connection))))

    with FaultyServer(echoes) as server, ThreadPoolExecutor(8) as pool:
        dynamodb = dynamodb_at(server, monkeypatch)
        questions = [{"n": n} for n in range(200)]

        assert list(pool.map(lambda question: dynamodb.call("GetItem", question), questions)) == questions
        dynamodb.close()

    assert server.connections <= 8


def test_new_credentials_count_from_the_next_call(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(GOOD)) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        dynamodb.call("GetItem", {})
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "NEXT")
        monkeypatch.delenv("AWS_SESSION_TOKEN")
        dynamodb.call("GetItem", {})
        dynamodb.close()

    assert b"Credential=NEXT/" in server.requests[1]
    assert b"Security-Token" not in server.requests[1]


@pytest.mark.parametrize(
    "fault",
    [
        cuts_before,
        cuts_after,
        stalls,
        drips(GOOD, 0.05),
        answers_and_closes(GOOD[:-5]),
        answers_and_closes(GOOD[:40]),
        answers(OTHER_BODY),
        answers(whole(ANSWER, crc=1)),
        answers(b"SSH-2.0-OpenSSH_9.2\r\n\r\n"),
        answers(b"HTTP/1.1 200 OK\r\n\r\n{}"),
        answers(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
        answers(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n{nope"),
        answers(whole({"__type": "InternalServerError"}, 500)),
        answers(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>"),
        answers(b"HTTP/1.1 503 Slow Down\r\nContent-Length: 0\r\n\r\n"),
        answers(whole(THROTTLED, 400)),
    ],
)
def test_two_faults_are_not_noticed_and_three_are_unavailable(monkeypatch: pytest.MonkeyPatch, fault: Turn) -> None:
    with FaultyServer(fault, fault, answers(GOOD)) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        assert dynamodb.call("UpdateItem", {}) == ANSWER
        dynamodb.close()

    turns = 0

    def counted(server: FaultyServer, connection: Any) -> None:
        nonlocal turns
        turns += 1
        fault(server, connection)

    with FaultyServer(counted) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        with pytest.raises(Unavailable):
            call_table(lambda: dynamodb.call("UpdateItem", {}))
        dynamodb.close()
    assert turns == 3


@pytest.mark.parametrize("kept", [1, 3])
def test_a_connection_that_died_while_idle_is_replaced_without_another_attempt(
    monkeypatch: pytest.MonkeyPatch, kept: int
) -> None:
    turns = [answers(GOOD)] * (kept - 1)
    with FaultyServer(*turns, answers_and_closes(GOOD), answers(GOOD)) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        for _ in range(kept):
            dynamodb.call("UpdateItem", {})
        assert server.closed.wait(5)
        monkeypatch.setattr(aws.service, "ATTEMPTS", 1)

        assert dynamodb.call("UpdateItem", {}) == ANSWER
        dynamodb.close()

    assert (server.connections, len(server.requests)) == (2, kept + 1)


def test_one_that_is_announced_to_close_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(aws.service, "ATTEMPTS", 1)
    with FaultyServer(answers(whole(ANSWER, more="Connection: close\r\n"))) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        dynamodb.call("UpdateItem", {})
        dynamodb.call("UpdateItem", {})
        dynamodb.close()

    assert server.connections == 2


def test_what_follows_an_answer_is_never_taken_for_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(GOOD + whole({"wrong": 1})), answers(GOOD)) as server:
        dynamodb = dynamodb_at(server, monkeypatch)

        assert [dynamodb.call("UpdateItem", {}) for _ in range(3)] == [ANSWER] * 3
        dynamodb.close()

    assert server.connections == 2


def test_a_refusal_is_told_once_with_its_item_and_the_connection_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    with FaultyServer(answers(whole(FAILED, 400))) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        with pytest.raises(ServiceError) as refused:
            dynamodb.call("UpdateItem", {})
        with pytest.raises(ConditionFailed) as failed:
            call_table(lambda: dynamodb.call("UpdateItem", {}))
        dynamodb.close()

    error = refused.value
    assert (error.status, error.code, error.message) == (
        400,
        "ConditionalCheckFailedException",
        "The conditional request failed",
    )
    assert error.item == failed.value.item == {"issued": {"N": "7"}}
    assert (server.connections, len(server.requests)) == (1, 2)


def test_nothing_outlasts_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
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


def test_a_server_that_is_not_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(Unsent, match=r"127\.0\.0\.1:1: .*refused"):
        DynamoDB().call("UpdateItem", {})


@pytest.mark.parametrize(
    ("turn", "attempts"),
    [(cuts_after, 1), (stalls, 1), (answers(whole({}, 500)), 1), (answers(whole(THROTTLED, 400)), 3)],
)
def test_what_must_not_be_repeated_is_only_if_it_was_not_carried_out(
    monkeypatch: pytest.MonkeyPatch, turn: Turn, attempts: int
) -> None:
    with FaultyServer(turn) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        service = aws.service.Service("lambda")
        with pytest.raises((NoAnswer, ServiceError)):
            service.post("/", {}, b"{}", timeout=0.3, idempotent=False)
        service.close()

    assert len(server.requests) == attempts


def test_what_is_not_repeated_is_tried_again_while_no_connection_comes_about(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("aws.service.time.sleep", waits.append)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(Unsent):
        aws.service.Service("lambda").post("/", {}, b"{}", timeout=0.3, idempotent=False)
    assert len(waits) == 2
    assert 0 <= waits[0] <= 0.05
    assert 0 <= waits[1] <= 0.1


@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "a\nb", "ü"])
def test_a_variable_that_would_break_the_request_is_told_and_nothing_is_sent(
    monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    with FaultyServer(answers(GOOD)) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        with pytest.raises(ValueError, match="a header is not one line"):
            dynamodb.call("UpdateItem", {})
        dynamodb.close()
    assert server.requests == []


def test_without_credentials_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(LookupError, match="AWS_SECRET_ACCESS_KEY"):
        DynamoDB().call("UpdateItem", {})


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(at=st.integers(GOOD.index(b"\r\n\r\n") + 4, len(GOOD) - 1), bit=st.integers(0, 7))
def test_no_flipped_bit_of_an_answer_gets_through(monkeypatch: pytest.MonkeyPatch, at: int, bit: int) -> None:
    monkeypatch.setattr(aws.service, "ATTEMPTS", 1)
    flipped = bytearray(GOOD)
    flipped[at] ^= 1 << bit
    with FaultyServer(answers(bytes(flipped))) as server:
        dynamodb = dynamodb_at(server, monkeypatch)
        with pytest.raises(NoAnswer, match="corrupt"):
            dynamodb.call("UpdateItem", {})
        dynamodb.close()
