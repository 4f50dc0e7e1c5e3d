"""Connections: kept open, replaced, and never used for what isn't clear. test_trust.py has those with TLS."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import socket
from typing import Any, ClassVar

import pytest
from aws_client.connection import Connection, NoResponse
from aws_client.signed_request import endpoint_of

from tests.lambda_.aws_client.faults import ANSWER, GOOD, answers, calling, whole


@pytest.mark.usefixtures("quick")
def test_bytes_after_a_response_are_never_taken_for_the_next_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with calling(monkeypatch, GOOD, answers(GOOD + whole({"wrong": 1}))) as (server, dynamodb):
        assert [dynamodb.call("UpdateItem", {}) for _ in range(3)] == [ANSWER] * 3

    assert server.connections == 2


@pytest.mark.usefixtures("quick")
@pytest.mark.parametrize("token", ["a\r\nX-Evil: 1", "a\nb", "ü"])
def test_a_variable_that_would_break_the_request_is_refused(monkeypatch: pytest.MonkeyPatch, token: str) -> None:
    monkeypatch.setenv("AWS_SESSION_TOKEN", token)
    with calling(monkeypatch, GOOD) as (server, dynamodb), pytest.raises(ValueError, match="a header is not one line"):
        dynamodb.call("UpdateItem", {})
    assert server.requests == []


class Deaf(socket.socket):
    """A socket to an address that doesn't answer. Time passes only while it is waited for."""

    now = 1000.0
    waited: ClassVar[list[float]] = []

    def connect(self, _: Any) -> None:
        seconds = self.gettimeout()
        assert seconds is not None
        Deaf.waited.append(seconds)
        Deaf.now += seconds
        raise TimeoutError("timed out")

    @staticmethod
    def monotonic() -> float:
        return Deaf.now


def test_each_ip_address_of_a_host_has_an_even_share_of_the_time(monkeypatch: pytest.MonkeyPatch) -> None:
    infos = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (f"127.0.0.{n}", 80)) for n in range(2, 6)]

    def resolved(*_: object, **__: object) -> Any:
        return infos

    monkeypatch.setattr(socket, "getaddrinfo", resolved)
    monkeypatch.setattr("aws_client.connection.time", Deaf)
    monkeypatch.setattr(socket, "socket", Deaf)
    with pytest.raises(NoResponse, match="timed out"):
        Connection(endpoint_of("dynamodb", "eu-west-1", {}), None, 8)

    assert Deaf.waited == [2, 2, 2, 2]
