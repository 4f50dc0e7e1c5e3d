"""A signed JSON call to a service of AWS: endpoint, credentials, checksum, and another try where one helps."""

import json
import os
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import deadline
from .connection import Connection
from .endpoint import endpoint_of
from .failure import NoAnswer, ServiceError, Unsent
from .response import Response
from .signature import Credentials, signed

if TYPE_CHECKING:
    from ssl import SSLContext

ATTEMPTS = 3
CONNECT_TIMEOUT = 1.0
FIRST_PAUSE = 0.05
"""Seconds, doubled by each further attempt; what is waited lies anywhere below (full jitter)."""


class Reply(NamedTuple):
    headers: Mapping[str, str]
    document: Any
    """The decoded JSON."""


class Service:
    """One service in one region, over one kept connection. Threads may share it: each at work has its own.

    Made when the function is, without a call: `ssl` and the certificates that it trusts are read then,
    25 ms while Lambda still gives a whole processor. No connection is opened.
    """

    def __init__(self, name: str, region: str | None = None) -> None:
        """`region`: the function's own if not given."""
        self._name = name
        self._region = region or os.environ["AWS_REGION"]
        self._endpoint = endpoint_of(name, self._region, os.environ)
        self._context = _tls_context() if self._endpoint.secure else None
        self._kept: list[Connection] = []

    def close(self) -> None:
        while self._kept:
            self._kept.pop().close()

    def post(
        self, path: str, headers: Mapping[str, str], body: bytes, *, timeout: float, repeatable: bool = True
    ) -> Reply:
        """Post `body`; in at most three attempts of `timeout` seconds, within the time that the invocation has left.

        A call that isn't `repeatable` is repeated only if it was certainly not carried out.

        Raises:
            NoAnswer, ServiceError: as the last attempt ended.
        """
        attempt = 1
        while True:
            try:
                return self._attempt(path, headers, body, timeout)
            except (NoAnswer, ServiceError) as failure:
                pause = _jitter(attempt)
                if attempt == ATTEMPTS or not _retry_can_help(failure, repeatable) or pause >= deadline.left():
                    raise
            time.sleep(pause)
            attempt += 1

    def _attempt(self, path: str, headers: Mapping[str, str], body: bytes, timeout: float) -> Reply:
        path = self._endpoint.path + path
        sent = signed(
            "POST",
            path,
            "",
            # The checksum is of the body as sent: not compressed, it needs no care.
            {"Host": self._endpoint.authority, "Accept-Encoding": "identity", **headers},
            body,
            credentials=_credentials(),
            region=self._region,
            service=self._name,
            at=time.time(),
        )
        connection = self._connection()
        response = connection.exchange("POST", path, sent, body, min(timeout, _time_left()))
        document = _document(response)
        if not response.last:
            self._kept.append(connection)
        if response.status >= 300:
            raise _error(response, document)
        return Reply(response.headers, document)

    def _connection(self) -> Connection:
        """The kept one, if the other side has left it open; taken out, so that no one else uses it meanwhile."""
        with suppress(IndexError):  # none is kept (any more: another thread may take it at any moment)
            while True:
                connection = self._kept.pop()
                if connection.alive():
                    return connection
                connection.close()
        return Connection(self._endpoint, self._context, min(CONNECT_TIMEOUT, _time_left()))


@cache
def _tls_context() -> "SSLContext":
    import ssl

    return ssl.create_default_context()


def _credentials() -> Credentials:
    """As Lambda sets them, read for every attempt: the function's role has new ones every few hours."""
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        raise LookupError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set; Lambda sets them")
    return Credentials(key, secret, os.environ.get("AWS_SESSION_TOKEN", ""))


def _time_left() -> float:
    left = deadline.left()
    if left <= 0:
        raise Unsent("the invocation has no time left")
    return left


def _retry_can_help(failure: NoAnswer | ServiceError, repeatable: bool) -> bool:
    """Return whether a retry can help."""
    if isinstance(failure, ServiceError):
        return failure.throttled or (failure.transient and repeatable)
    return isinstance(failure, Unsent) or repeatable


def _jitter(attempt: int) -> float:
    import random  # 1 ms, and seldom needed

    return random.uniform(0, FIRST_PAUSE * 2 ** (attempt - 1))  # noqa: S311 (spreads load, guards nothing)


def _document(response: Response) -> Any:
    checksum = response.headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(zlib.crc32(response.body)):
        raise NoAnswer("the answer is corrupt: its checksum differs")
    try:
        return json.loads(response.body)
    except ValueError:
        if response.status >= 300:  # an intermediary's reply; its status says enough
            return None
        raise NoAnswer("the answer is corrupt: it is no JSON") from None


def _error(response: Response, document: Any) -> ServiceError:
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", document) if isinstance(document, Mapping) else {}
    # "com.amazonaws.dynamodb.v20120810#ThrottlingException", or "TooManyRequestsException:http://…"
    code = str(response.headers.get("x-amzn-errortype") or fields.get("__type") or "").partition(":")[0]
    message = fields.get("message") or fields.get("Message") or "no message"
    return ServiceError(response.status, code.rpartition("#")[2], str(message), fields.get("Item"))
