"""A signed JSON call to an AWS service: endpoint, credentials, checksum and retries."""

import json
import os
import time
import zlib
from collections.abc import Mapping
from contextlib import suppress
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from . import deadline
from .connection import Connection
from .endpoint import endpoint_of
from .failure import NoResponse, ServiceError, Unsent
from .request import Credentials, signed_post
from .response import Response

if TYPE_CHECKING:
    from ssl import SSLContext

    from .trust import Trust

ATTEMPTS = 3
CONNECT_TIMEOUT = 1.0
FIRST_PAUSE = 0.05
"""Seconds, doubled with each attempt. The actual pause is a random part of it (full jitter)."""


class Reply(NamedTuple):
    """A response with its decoded JSON."""

    headers: Mapping[str, str]
    document: Any


class Service:
    """One service in one region. Threads may share it: each uses a connection of its own, which is kept open.

    It is created while Lambda initialises the function, and loads `ssl` and Amazon's root certificates: about 8 ms of
    the whole processor that Lambda gives at that time (Python 3.11). It opens no connection yet.
    """

    def __init__(self, name: str, region: str | None = None) -> None:
        """Prepare calls to the service in `region`, by default the function's own."""
        self._name = name
        self._region = region or os.environ["AWS_REGION"]
        self._endpoint = endpoint_of(name, self._region, os.environ)
        self._trust = _trust() if self._endpoint.secure else None
        self._kept: list[Connection] = []

    def close(self) -> None:
        """Close the connections that are kept open."""
        while self._kept:
            self._kept.pop().close()

    def post(
        self, path: str, headers: Mapping[str, str], body: bytes, *, timeout: float, idempotent: bool = True
    ) -> Reply:
        """Post `body`, in at most three attempts and within the time that the invocation has left.

        Each attempt is signed with its own time. If the signer isn't accepted, one more attempt is made.

        Args:
            path: below the endpoint's own path.
            headers: besides those of the signature.
            body: JSON.
            timeout: seconds for each attempt.
            idempotent: whether the call may be carried out more than once. If not, a retry is made only if it
                was certainly not carried out.

        Raises:
            NoResponse: the last attempt got no valid response.
            ServiceError: in the last attempt, the service refused the call or failed.
        """
        attempt, unaccepted = 1, 0
        while True:
            try:
                return self._attempt(path, headers, body, timeout)
            except (NoResponse, ServiceError) as failure:
                pause = _jitter(attempt)
                unaccepted += isinstance(failure, ServiceError) and failure.unaccepted
                if (
                    attempt == ATTEMPTS
                    or unaccepted > 1
                    or not _retry_can_help(failure, idempotent)
                    or pause >= deadline.left()
                ):
                    raise
            time.sleep(pause)
            attempt += 1

    def _attempt(self, path: str, headers: Mapping[str, str], body: bytes, timeout: float) -> Reply:
        request = signed_post(
            self._endpoint,
            path,
            tuple(headers.items()),
            body,
            _credentials(),
            self._region,
            self._name,
            int(time.time()),
        )
        connection = self._connection()
        response = connection.exchange(request, min(timeout, _time_left()))
        document = _document(response)
        if not response.last:
            self._kept.append(connection)
        if response.status >= 300:
            raise _error(response, document)
        return Reply(response.headers, document)

    def _connection(self) -> Connection:
        """Take a kept connection, so that no other thread uses it meanwhile, or open a new one."""
        with suppress(IndexError):  # none is kept, or another thread has just taken the last one
            while True:
                connection = self._kept.pop()
                if connection.alive():
                    return connection
                connection.close()
        return self._connect() if self._trust is None else self._trust.connect(self._connect)

    def _connect(self, context: "SSLContext | None" = None) -> Connection:
        return Connection(self._endpoint, context, min(CONNECT_TIMEOUT, _time_left()))


def _trust() -> "Trust":
    from .trust import trust  # it loads `ssl`

    return trust()


def _credentials() -> Credentials:
    """Return the credentials that Lambda has set. They are read for every attempt, since they are renewed."""
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        raise LookupError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set; Lambda sets them")
    return Credentials(key, secret, os.environ.get("AWS_SESSION_TOKEN", ""))


def _time_left() -> float:
    left = deadline.left()
    if left <= 0:
        raise Unsent("the invocation has no time left")
    return left


def _retry_can_help(failure: NoResponse | ServiceError, idempotent: bool) -> bool:
    """Return whether a retry can help and is allowed."""
    if isinstance(failure, ServiceError):
        return failure.throttled or failure.unaccepted or (failure.transient and idempotent)
    return isinstance(failure, Unsent) or idempotent


def _jitter(attempt: int) -> float:
    import random  # 1 ms, and rarely needed

    return random.uniform(0, FIRST_PAUSE * 2 ** (attempt - 1))  # noqa: S311 (not for security)


def _document(response: Response) -> Any:
    checksum = response.headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(zlib.crc32(response.body)):
        raise NoResponse("corrupt response: the checksum differs")
    try:
        return json.loads(response.body)
    except ValueError:
        if response.status >= 300:  # an intermediary's response: the status is enough
            return None
        raise NoResponse("corrupt response: not JSON") from None


def _error(response: Response, document: Any) -> ServiceError:
    fields: Mapping[str, Any] = cast("Mapping[str, Any]", document) if isinstance(document, Mapping) else {}
    # "com.amazonaws.dynamodb.v20120810#ThrottlingException", or "TooManyRequestsException:http://…"
    code = str(response.headers.get("x-amzn-errortype") or fields.get("__type") or "").partition(":")[0]
    message = fields.get("message") or fields.get("Message") or "no message"
    return ServiceError(response.status, code.rpartition("#")[2], str(message), fields.get("Item"))
