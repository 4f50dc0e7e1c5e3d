"""A server on 127.0.0.1 that answers, or fails to, as told: one turn a request."""

import json
import socket
import ssl
import threading
import zlib
from collections.abc import Callable
from contextlib import suppress
from types import TracebackType
from typing import Any

Turn = Callable[["FaultyServer", socket.socket], None]
"""Deals with the one request that waits on a connection."""


class FaultyServer:
    """Takes its turns in order, the last one for ever. What it saw is in `requests` and `connections`."""

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
            thread.join(5)
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
        """The whole request."""
        request = b""
        while b"\r\n\r\n" not in request:
            request += _some(connection)
        head, _, body = request.partition(b"\r\n\r\n")
        length = next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length: "))
        while len(body) < int(length[16:]):
            body += _some(connection)
        self.requests.append(head + b"\r\n\r\n" + body)
        return body


def _some(connection: socket.socket) -> bytes:
    arrived = connection.recv(65536)
    if not arrived:
        raise OSError("the client went")
    return arrived


def whole(document: Any, status: int = 200, *, crc: int | None = None, more: str = "") -> bytes:
    """An answer as DynamoDB gives it; `crc` instead of the right checksum, `more` headers, each with its line's end."""
    body = json.dumps(document).encode()
    crc = zlib.crc32(body) if crc is None else crc
    head = f"HTTP/1.1 {status} Whatever\r\nContent-Type: application/x-amz-json-1.0\r\n{more}"
    return f"{head}x-amz-crc32: {crc}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body


def answers(answer: bytes) -> Turn:
    def turn(server: FaultyServer, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(answer)

    return turn


def answers_and_closes(answer: bytes) -> Turn:
    """Says nothing of it beforehand, as the other end of a connection that stays idle for long."""

    def turn(server: FaultyServer, connection: socket.socket) -> None:
        server.read(connection)
        connection.sendall(answer)
        connection.close()
        server.closed.set()

    return turn


def drips(answer: bytes, pause: float) -> Turn:
    """A byte at a time: never silent for long, and never done."""

    def turn(server: FaultyServer, connection: socket.socket) -> None:
        server.read(connection)
        for byte in answer:
            connection.sendall(bytes([byte]))
            if server.ends.wait(pause):
                return

    return turn


def cuts_before(server: FaultyServer, connection: socket.socket) -> None:
    """With the request unread, the other end hears of it by a reset."""
    connection.close()


def cuts_after(server: FaultyServer, connection: socket.socket) -> None:
    """The request was read, and may have been carried out."""
    server.read(connection)
    connection.close()


def stalls(server: FaultyServer, connection: socket.socket) -> None:
    server.read(connection)
    server.ends.wait(30)
