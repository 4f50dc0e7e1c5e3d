"""A server on 127.0.0.1 that responds or fails as a test wants: each request takes one turn."""

import json
import socket
import ssl
import threading
import time
import zlib
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any
from urllib.parse import urlsplit

import pytest
import trustme
from aws_client.service import DynamoDB

Turn = Callable[["FaultyServer", socket.socket], None]
"""Handles the one request that waits on a connection."""


def certified(authority: trustme.CA, *names: str) -> ssl.SSLContext:
    """The TLS settings of a server with a certificate for these names."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    authority.issue_cert(*names).configure_cert(context)
    return context


PATIENCE = 60
"""Seconds that a test waits for what comes at once, on a machine that may be as busy as can be."""


class Clock:
    """The clock of connections: time also passes when a server says so."""

    ahead = 0

    def monotonic(self) -> float:
        return time.monotonic() + self.ahead

    def pass_by(self) -> None:
        """Let more time pass than anybody waits."""
        self.ahead += 2 * PATIENCE


CLOCK = Clock()


class FaultyServer:
    """Takes its turns in order, and repeats the last one. It records `requests` and counts `connections`."""

    def __init__(self, *turns: Turn, tls: ssl.SSLContext | None = None) -> None:
        self._turns = list(turns)
        self._tls = tls
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self._threads = [threading.Thread(target=self._accept)]
        self.requests: list[bytes] = []
        self.connections = 0
        self.closed = threading.Event()
        """A turn has closed its connection."""
        self.ends = threading.Event()

    @property
    def url(self) -> str:
        return f"{'https' if self._tls else 'http'}://127.0.0.1:{self._listener.getsockname()[1]}"

    def __enter__(self) -> "FaultyServer":
        self._threads[0].start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.ends.set()
        for end in (self._listener, *self._open):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()
        for thread in self._threads:
            thread.join(PATIENCE)
            assert not thread.is_alive()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                self.connections += 1
                self._open.append(connection)
                thread = threading.Thread(target=self._serve, args=(connection,))
                self._threads.append(thread)
                thread.start()

    def _serve(self, plain: socket.socket) -> None:
        with suppress(OSError), plain:
            connection = self._tls.wrap_socket(plain, server_side=True) if self._tls else plain
            self._open.append(connection)
            with connection:
                while not self.ends.is_set() and connection.fileno() != -1:
                    if not self._tls and not connection.recv(1, socket.MSG_PEEK):
                        return
                    turn = self._turns.pop(0) if len(self._turns) > 1 else self._turns[0]
                    turn(self, connection)

    def read(self, connection: socket.socket) -> bytes:
        """Read and record a whole request; return its body."""
        return self.whole(connection).partition(b"\r\n\r\n")[2]

    def whole(self, connection: socket.socket) -> bytes:
        """Read and record a whole request, and return it."""
        request = b""
        while b"\r\n\r\n" not in request:
            request += _some(connection)
        head, _, body = request.partition(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
        while len(body) < int(length[16:]):
            body += _some(connection)
        request = head + b"\r\n\r\n" + body
        self.requests.append(request)
        return request


def _some(connection: socket.socket) -> bytes:
    arrived = connection.recv(65536)
    if not arrived:
        raise OSError("the client has closed the connection")
    return arrived


def whole(document: Any, status: int = 200, *, crc: int | None = None, more: str = "") -> bytes:
    """Return a response like DynamoDB's.

    Args:
        document: its JSON.
        status: its status.
        crc: a checksum, by default the right one.
        more: further headers, each with the end of its line.
    """
    body = json.dumps(document).encode()
    crc = zlib.crc32(body) if crc is None else crc
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/x-amz-json-1.0\r\n{more}"
    return f"{head}x-amz-crc32: {crc}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


ANSWER = {"Attributes": {"issued": {"N": "4"}}}
GOOD = whole(ANSWER)


def dynamodb_at(server: FaultyServer, monkeypatch: pytest.MonkeyPatch) -> DynamoDB:
    """Return a client of the server."""
    monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", server.url)
    return DynamoDB()


def answers(answer: bytes) -> Turn:
    def turn(server: FaultyServer, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(answer)

    return turn


def answers_and_closes(answer: bytes) -> Turn:
    """Close without a notice, like a server whose connection was idle for long."""

    def turn(server: FaultyServer, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(answer)
        connection.close()
        server.closed.set()

    return turn


def never_ends(server: FaultyServer, connection: socket.socket) -> None:
    """Answer byte by byte, so that something always arrives, but the client's time is over before the answer is."""
    server.read(connection)
    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
    CLOCK.pass_by()
    while not server.ends.wait(0.01):
        connection.sendall(b" ")


def cuts_before(server: FaultyServer, connection: socket.socket) -> None:
    """Close with the request unread, which the client sees as a reset."""
    connection.close()


def cuts_after(server: FaultyServer, connection: socket.socket) -> None:
    """Close with the request read. For the client, it may have been carried out."""
    server.read(connection)
    connection.close()


def stalls(server: FaultyServer, connection: socket.socket) -> None:
    """Begin to answer when the client's time is over."""
    server.read(connection)
    CLOCK.pass_by()
    connection.sendall(GOOD[:1])
    server.ends.wait()


def says_nothing(server: FaultyServer, connection: socket.socket) -> None:
    server.read(connection)
    server.ends.wait()


def passes_on(endpoint: str, *, reply: bool) -> Turn:
    """Pass the request on to the real server, and its response back to the client, or lose the response."""

    def turn(server: FaultyServer, connection: socket.socket) -> None:
        received = passed_on(endpoint, server.whole(connection))
        if reply:
            connection.sendall(received)
        connection.close()

    return turn


def passed_on(endpoint: str, request: bytes) -> bytes:
    """Send a request to the real server, and return its response. The connection is to be closed after it."""
    real = urlsplit(endpoint)
    # The same bytes, since the signature covers their Host header.
    with socket.create_connection((real.hostname, real.port)) as upstream:
        upstream.sendall(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
        received = b""
        while arrived := upstream.recv(65536):
            received += arrived
    return received
