"""Read HTTP/1.1 responses (RFC 9112), as AWS's JSON services send them.

The parser is strict: an unclear response is an error. A wrong guess about where a response ends would give the
rest of it to the next request.
"""

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple, NoReturn

from .failure import NoResponse

MAX_HEAD = 64 * 1024
MAX_BODY = 8 * 1024 * 1024
"""Bytes. Lambda's responses have at most 6 MB; DynamoDB's have a few hundred bytes here."""

STATUS_LINE = re.compile(r"HTTP/1\.([01]) ([2-5][0-9]{2})(?: .*)?")
LENGTH = re.compile(r"[0-9]{1,9}")


class Response(NamedTuple):
    """One response."""

    status: int
    headers: Mapping[str, str]
    """Names are in lower case. Repeated headers are joined with a comma."""
    body: bytes
    last: bool
    """Whether the connection can't be used for another request."""


class Incoming:
    """The bytes of a connection as they arrive. `receive` returns some, or none at the end of the connection."""

    def __init__(self, receive: Callable[[], bytes]) -> None:
        self._receive = receive
        self._held = b""

    def until(self, mark: bytes, limit: int) -> bytes:
        """Return the bytes before `mark`, and drop `mark`.

        Raises:
            NoResponse: `mark` doesn't come within `limit` bytes.
        """
        while (end := self._held.find(mark)) < 0:
            if len(self._held) > limit:
                _broken(f"more than {limit} bytes of headers")
            self._more()
        found, self._held = self._held[:end], self._held[end + len(mark) :]
        return found

    def exactly(self, count: int) -> bytes:
        """Return the next `count` bytes.

        Raises:
            NoResponse: the connection ends before.
        """
        while len(self._held) < count:
            self._more()
        found, self._held = self._held[:count], self._held[count:]
        return found

    def nothing_left(self) -> bool:
        """Return whether everything that has arrived was read."""
        return not self._held

    def _more(self) -> None:
        arrived = self._receive()
        if not arrived:
            _broken("the connection was closed before the end")
        self._held += arrived


def read(incoming: Incoming) -> Response:
    """Read one response and no byte more. Errors of `receive` are passed on.

    Raises:
        NoResponse: the response is incomplete or not understood.
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
        _broken(f"the length is unclear: Content-Length {length!r}, Transfer-Encoding {coding!r}")
    last = status[1] == "0" or headers.get("connection", "").lower() == "close" or not incoming.nothing_left()
    return Response(int(status[2]), headers, body, last)


def _chunks(incoming: Incoming) -> bytes:
    """Read a chunked body (section 7.1). Extensions and trailers are ignored."""
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
    raise NoResponse(f"invalid response: {what}")
