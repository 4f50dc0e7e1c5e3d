"""How a server on 127.0.0.1 responds or fails in tests of calls to AWS, and the clock of such a test."""

import ssl
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
import trustme
from aws_client.service import DynamoDB

from proof.faulty_server import PATIENCE, Fault, Reply, Request, Server, forward, json_response


class Clock:
    """The clock of connections: time also passes when a server says so."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def pass_by(self) -> None:
        """Let more time pass than anybody waits."""
        self.ahead += 2 * PATIENCE


CLOCK = Clock()


def certified(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """The TLS settings of a server with a certificate for these names."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


def whole(
    document: Any, status: int = 200, headers: Mapping[str, str] | None = None, *, crc: int | None = None
) -> bytes:
    """Return a response like DynamoDB's. `crc` is its checksum, by default the right one."""
    return json_response(document, status, headers, crc=crc).encode()


ANSWER = {"Attributes": {"issued": {"N": "4"}}}
GOOD = whole(ANSWER)


def answering(reply: Reply, *faults: Fault, tls: ssl.SSLContext | None = None) -> Server:
    """Return a server that answers so. Each of the faults strikes one of the first requests, in order."""

    async def handler(_: Request) -> Reply:
        return reply

    return Server(handler, once(*faults), tls=tls)


def before(endpoint: str, *faults: Fault) -> Server:
    """Return a server before another one. Each of the faults strikes one of the first requests, in order."""
    return Server(lambda request: forward(endpoint, request), once(*faults))


def once(*faults: Fault) -> list[Fault]:
    return [replace(fault, times=1) for fault in faults]


def dynamodb_at(server: Server, monkeypatch: pytest.MonkeyPatch) -> DynamoDB:
    """Return a client of the server."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
    return DynamoDB()


def answers(reply: Reply) -> Fault:
    return Fault(replies=(reply,))


def answers_and_closes(reply: bytes) -> Fault:
    """Close without a notice, like a server whose connection was idle for long."""
    return Fault(replies=(reply,), end="close")


CUTS_BEFORE = Fault(end="reset")
"""For the client, it may not have been carried out."""

CUTS_AFTER = Fault(end="close")
"""For the client, it may have been carried out."""

STALLS = Fault(notify=CLOCK.pass_by, replies=(GOOD[:1],), drip=b"")
"""Begins to answer when the client's time is over."""

NEVER_ENDS = Fault(notify=CLOCK.pass_by, replies=(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n",), drip=b" ")
"""Answers byte by byte, so that something always arrives, but the client's time is over before the answer is."""

SAYS_NOTHING = Fault(hold=True)
