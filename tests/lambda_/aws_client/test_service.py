"""A call gets a response, is retried where a retry helps, and never gets a wrong response, whatever the server does."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import math
import time
from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace

import aws_client.service
import pytest
from aws_client.connection import Connection, NoResponse
from aws_client.service import DynamoDB, ServiceError, set_deadline, time_left

from proof.faulty_server import PATIENCE, Fault, Request, Response, Server, json_response
from tests.lambda_.aws_client.faults import (
    ANSWER,
    CUTS_AFTER,
    CUTS_BEFORE,
    GOOD,
    NEVER_ENDS,
    SAYS_NOTHING,
    STALLS,
    answers,
    answers_and_closes,
    calling,
    whole,
)

pytestmark = pytest.mark.usefixtures("quick")

THROTTLED = {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow down"}
FAILED = {
    "__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",
    "message": "The conditional request failed",
    "Item": {"issued": {"N": "7"}},
}
OTHER_BODY = GOOD.replace(b'"4"', b'"5"')  # JSON, and as long, but not what was sent


def test_threads_that_share_a_service_get_their_own_responses(monkeypatch: pytest.MonkeyPatch) -> None:
    async def echo(request: Request) -> Response:
        return json_response(request.document)

    with Server(echo) as server, ThreadPoolExecutor(8) as pool:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        dynamodb = DynamoDB()
        questions = [{"n": n} for n in range(200)]

        assert list(pool.map(lambda question: dynamodb.call("GetItem", question), questions)) == questions
        dynamodb.close()

    assert server.connections <= 8


def test_calls_have_the_headers_of_the_protocol(monkeypatch: pytest.MonkeyPatch) -> None:
    with calling(monkeypatch, GOOD) as (server, dynamodb):
        assert dynamodb.call("UpdateItem", {"TableName": "t"}) == ANSWER

    (request,) = server.requests
    assert (request.method, request.path, request.document) == ("POST", "/", {"TableName": "t"})
    assert (request.operation, request.scope) == ("UpdateItem", ("eu-west-1", "dynamodb"))
    expected = {
        "host": server.url.removeprefix("http://"),
        "content-type": "application/x-amz-json-1.0",
        "x-amz-target": "DynamoDB_20120810.UpdateItem",
        "x-amz-security-token": "the-token",
    }
    assert request.headers == {**request.headers, **expected}


def test_new_credentials_and_a_later_second_are_used_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    with calling(monkeypatch, GOOD) as (server, dynamodb):
        for at, key in ((1.0, "a"), (1.9, "a"), (2.0, "a"), (2.0, "b")):
            monkeypatch.setattr("aws_client.service.time.time", lambda at=at: at)
            monkeypatch.setenv("AWS_ACCESS_KEY_ID", key)
            dynamodb.call("UpdateItem", {})
        monkeypatch.delenv("AWS_SESSION_TOKEN")
        dynamodb.call("UpdateItem", {})

    first, same, later, renewed, without = (request.head for request in server.requests)
    assert first == same
    assert len({first, later, renewed, without}) == 4
    assert (b"Credential=b/" in renewed, b"Security-Token" in without) == (True, False)


@pytest.mark.slow
@pytest.mark.parametrize(
    "fault",
    [
        CUTS_BEFORE,
        CUTS_AFTER,
        STALLS,
        NEVER_ENDS,
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
def test_two_faults_are_not_noticed_and_three_are_unavailable(monkeypatch: pytest.MonkeyPatch, fault: Fault) -> None:
    with calling(monkeypatch, GOOD, fault, fault) as (server, dynamodb):
        assert dynamodb.call("UpdateItem", {}) == ANSWER

    with calling(monkeypatch, GOOD) as (server, dynamodb):
        server.faults.append(fault)
        with pytest.raises((NoResponse, ServiceError)) as failed:
            dynamodb.call("UpdateItem", {})
    assert len(server.requests) == 3
    assert isinstance(failed.value, NoResponse) or failed.value.transient


def test_a_refusal_is_not_retried_and_the_connection_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    with calling(monkeypatch, whole(FAILED, 400)) as (server, dynamodb):
        with pytest.raises(ServiceError) as refused:
            dynamodb.call("UpdateItem", {})
        with pytest.raises(ServiceError):
            dynamodb.call("UpdateItem", {})

    error = refused.value
    assert str(error) == "UpdateItem: ConditionalCheckFailedException (400): The conditional request failed"
    assert str(ServiceError(502, "", "no message")) == "error (502): no message"
    assert (error.meaning, error.item) == ("condition", {"issued": {"N": "7"}})
    assert (server.connections, len(server.requests)) == (1, 2)


def test_a_signer_that_is_not_accepted_signs_once_more(monkeypatch: pytest.MonkeyPatch) -> None:
    refused = whole({"__type": "com.amazon.coral.service#ExpiredTokenException", "message": "no"}, 400)
    with calling(monkeypatch, GOOD, *[answers(refused)] * 3) as (server, dynamodb):
        times = iter([0.0, 1_700_000_000.0, 1_800_000_000.0, 1_900_000_000.0])
        clock = SimpleNamespace(time=times.__next__, sleep=lambda _: None, monotonic=time.monotonic)
        monkeypatch.setattr(aws_client.service, "time", clock)
        with pytest.raises(ServiceError) as failed:
            dynamodb.call("UpdateItem", {})
        assert (failed.value.unaccepted, len(server.requests)) == (True, 2)
        assert dynamodb.call("UpdateItem", {}) == ANSWER

    days = [request.headers["x-amz-date"][:8] for request in server.requests]
    assert days == ["19700101", "20231114", "20270115", "20300317"], "each was signed when it was sent"


def test_any_call_is_repeated_without_a_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("aws_client.service.time.sleep", waits.append)
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    with pytest.raises(NoResponse, match=r"127\.0\.0\.1:1: .*refused"):
        aws_client.service.Service("lambda").request("POST", "/", {}, b"{}", timeout=PATIENCE)
    assert len(waits) == 2
    assert 0 <= waits[0] <= 0.05
    assert 0 <= waits[1] <= 0.1


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("aws_client.service.TIMEOUT", 0.1)
    monkeypatch.setattr(aws_client.service, "ATTEMPTS", 1)
    with calling(monkeypatch, GOOD, SAYS_NOTHING) as (_, dynamodb), pytest.raises(NoResponse, match="timed out"):
        dynamodb.call("UpdateItem", {})


def test_without_credentials_it_says_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_SECRET_ACCESS_KEY")

    with pytest.raises(LookupError, match="AWS_SECRET_ACCESS_KEY"):
        DynamoDB().call("UpdateItem", {})


def test_no_call_outlasts_the_time_that_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    now, timeouts = 1000.0, list[float]()

    def late(_: Connection, _request: bytes, timeout: float) -> None:
        nonlocal now
        timeouts.append(timeout)
        now += timeout
        raise NoResponse("timed out")

    def begin(milliseconds: int) -> None:
        set_deadline(SimpleNamespace(get_remaining_time_in_millis=lambda: milliseconds))

    assert time_left() == math.inf, "without a remaining time there is none"
    monkeypatch.setattr(aws_client.service, "time", SimpleNamespace(monotonic=lambda: now, time=time.time))
    monkeypatch.setattr(Connection, "exchange", late)
    with calling(monkeypatch, GOOD) as (_, dynamodb):
        begin(1_000)
        with pytest.raises(NoResponse, match="timed out"):
            dynamodb.call("UpdateItem", {})
        assert timeouts == [pytest.approx(0.8)], "the time that is left, and no second attempt"
        begin(200)
        with pytest.raises(NoResponse, match="no time left"):
            dynamodb.call("UpdateItem", {})
    assert len(timeouts) == 1
