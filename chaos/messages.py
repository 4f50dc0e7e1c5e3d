"""HTTP messages as they are: head and body, read from a stream."""

import asyncio
import re
from http import HTTPStatus
from typing import NamedTuple

LENGTH = re.compile(rb"^content-length: *([0-9]+)\r?$", re.IGNORECASE | re.MULTILINE)
CHUNKED = re.compile(rb"^transfer-encoding: *chunked\r?\n", re.IGNORECASE | re.MULTILINE)
CLOSING = re.compile(rb"^connection: *close\r?$", re.IGNORECASE | re.MULTILINE)

PAGE = b"<html><body><b>Http/1.1 Service Unavailable</b></body> </html>"
"""The body of DynamoDB's 503 in an outage (aws-sdk-js, issue 1379; aws-sdk-ruby, issue 1713)."""


class Message(NamedTuple):
    """A request or a response. `head` ends with the empty line."""

    head: bytes
    body: bytes

    @property
    def status(self) -> int:
        """A response's status."""
        return int(self.head.split(b" ", 2)[1])

    @property
    def last(self) -> bool:
        """Whether its sender closes the connection after it."""
        return CLOSING.search(self.head) is not None


async def read_message(reader: asyncio.StreamReader) -> Message:
    """Read one message. A body in chunks gets a Content-Length instead.

    Raises:
        asyncio.IncompleteReadError: The connection ended before.
    """
    head = await reader.readuntil(b"\r\n\r\n")
    if CHUNKED.search(head):
        body = b""
        while size := int((await reader.readuntil(b"\r\n")).partition(b";")[0], 16):
            body += await reader.readexactly(size)
            await reader.readexactly(2)
        await reader.readuntil(b"\r\n")
        return Message(CHUNKED.sub(b"Content-Length: %d\r\n" % len(body), head), body)
    length = LENGTH.search(head)
    return Message(head, await reader.readexactly(int(length[1])) if length else b"")


def refusal(error: str) -> Message:
    """Return DynamoDB's response that refuses a call with this error."""
    body = b'{"__type":"com.amazonaws.dynamodb.v20120810#%s","message":"injected by chaos"}' % error.encode()
    return _response(400, "application/x-amz-json-1.0", body)


def error_page(status: int) -> Message:
    """Return the response of what stands before DynamoDB during an outage: HTML with 503, else an empty body."""
    return _response(status, "text/html", PAGE if status == HTTPStatus.SERVICE_UNAVAILABLE else b"")


def _response(status: int, media_type: str, body: bytes) -> Message:
    reason = HTTPStatus(status).phrase
    head = f"HTTP/1.1 {status} {reason}\r\nContent-Type: {media_type}\r\nContent-Length: {len(body)}\r\n\r\n"
    return Message(head.encode(), body)
