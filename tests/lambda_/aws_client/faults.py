"""How a server on 127.0.0.1 responds or fails in tests of calls to AWS, and the clock of such a test."""

import ssl
import time
from collections.abc import Generator, Mapping
from contextlib import closing, contextmanager
from dataclasses import replace
from typing import Any

import pytest
from aws_client.service import DynamoDB

from proof.faulty_server import PATIENCE, Fault, Reply, Request, Server, json_response


class Clock:
    """The clock of connections: time also passes when a server says so."""

    ahead = 0.0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def pass_by(self) -> None:
        """Let more time pass than anybody waits."""
        self.ahead += 2 * PATIENCE


CLOCK = Clock()


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

    return Server(handler, [replace(fault, times=1) for fault in faults], tls=tls)


@contextmanager
def calling(
    monkeypatch: pytest.MonkeyPatch, reply: Reply, *faults: Fault, tls: ssl.SSLContext | None = None
) -> Generator[tuple[Server, DynamoDB]]:
    """Yield a server that answers as `answering` says, and a client of it."""
    with answering(reply, *faults, tls=tls) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        with closing(DynamoDB()) as dynamodb:
            yield server, dynamodb


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
