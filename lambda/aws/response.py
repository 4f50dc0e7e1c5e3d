"""What comes back over HTTP/1.1, byte by byte (RFC 9112), as AWS's JSON services send it.

Strict: what isn't understood for certain is no answer, for a wrong guess about where one answer ends
would hand the rest of it to the next request.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

from .failure import NoAnswer

MAX_HEAD = 64 * 1024
MAX_BODY = 8 * 1024 * 1024
"""Bytes. Lambda answers with at most 6 MB; what DynamoDB answers here is some hundred bytes."""

STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([2-5][0-9]{2})(?: .*)?")
LENGTH = re.compile(r"[0-9]{1,9}")


class Response(NamedTuple):
    status: int
    headers: Mapping[str, str]
    """Names in lower case. What was sent twice is joined by a comma."""
    body: bytes
    last: bool
    """No other may follow on this connection."""


class Incoming:
    """Bytes as they arrive. `receive` returns some, none at the end of the connection."""

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self._held = b""

    def until(self, mark: bytes, limit: int) -> bytes:
        """What comes before `mark`, which is dropped."""
        while (end := self._held.find(mark)) < 0:
            if len(self._held) > limit:
                _broken(f"more than {limit} bytes of headers")
            self._more()
        found, self._held = self._held[:end], self._held[end + len(mark) :]
        return found

    def exactly(self, count: int) -> bytes:
        while len(self._held) < count:
            self._more()
        found, self._held = self._held[:count], self._held[count:]
        return found

    def nothing_left(self) -> bool:
        return not self._held

    def _more(self) -> None:
        arrived = self._receive()
        if not arrived:
            _broken("the connection was closed before the end")
        self._held += arrived


def read(incoming: Incoming) -> Response:
    """One response and no byte more.

    Raises:
        NoAnswer: it is cut short or not understood; and whatever `receive` raises.
    """
    first, *lines = incoming.until(b"\r\n\r\n", MAX_HEAD).decode("latin-1").split("\r\n")
    status = STATUS_LINE.fullmatch(first) or _broken(f"not a status line: {first[:80]!r}")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            _broken(f"not a header: {line[:80]!r}")
        name, value = name.lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    length, coding = headers.get("content-length"), headers.get("transfer-encoding")
    if coding is None and length is not None and LENGTH.fullmatch(length):
        body = incoming.exactly(_allowed(int(length)))
    elif length is None and coding is not None and coding.lower() == "chunked":
        body = _chunks(incoming)
    else:
        _broken(f"no length that is understood: Content-Length {length!r}, Transfer-Encoding {coding!r}")
    last = status[1] == "0" or headers.get("connection", "").lower() == "close" or not incoming.nothing_left()
    return Response(int(status[2]), headers, body, last)


def _chunks(incoming: Incoming) -> bytes:
    """Section 7.1. Extensions and trailers mean nothing here."""
    body = b""
    while True:
        size = incoming.until(b"\r\n", MAX_HEAD).partition(b";")[0].strip()
        if not re.fullmatch(rb"[0-9A-Fa-f]{1,8}", size):
            _broken(f"not the size of a chunk: {size[:80]!r}")
        count = int(size, 16)
        if count == 0:
            while incoming.until(b"\r\n", MAX_HEAD):
                pass
            return body
        body += incoming.exactly(_allowed(len(body) + count) - len(body))
        if incoming.exactly(2) != b"\r\n":
            _broken("a chunk is longer than it says")


def _allowed(length: int) -> int:
    return length if length <= MAX_BODY else _broken(f"a body of {length} bytes")


def _broken(what: str) -> NoReturn:
    raise NoAnswer(f"the answer is broken: {what}")
