"""A signed JSON call to an AWS service: credentials, checksum, retries, and the time that the invocation has left."""

import json
import math
import os
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, cast

from .connection import Connection, NoResponse, Response, connect, trust
from .signed_request import Credentials, endpoint_of, signed

if TYPE_CHECKING:
    from .meaning import Meaning

TIMEOUT = 1.0
"""Seconds for a call to DynamoDB. It takes a few milliseconds; after a second it is probably lost, and a retry is
quicker than waiting."""

CONNECT_TIMEOUT = 1.0
ATTEMPTS = 3
FIRST_PAUSE = 0.05
"""Seconds, doubled with each attempt. The actual pause is a random part of it (full jitter)."""

KEPT = 12
"""How many idle connections to a region are kept open. The coordinator may have 1,024 files open (Lambda guide, "Lambda
quotas"): these, of 34 regions, and one for each thread (`coordinate/handler.py`). A minting function needs one."""

RESERVE = 0.2
"""Seconds of an invocation that are reserved for sending the response."""

_ends = math.inf


def set_deadline(context: Any) -> None:
    """Take the time when the invocation ends from Lambda's context. After it, the caller gets no response at all."""
    global _ends
    remaining: Callable[[], int] | None = getattr(context, "get_remaining_time_in_millis", None)
    _ends = math.inf if remaining is None else time.monotonic() + remaining() / 1000 - RESERVE


def time_left() -> float:
    """Return the seconds left: infinite without a deadline, negative after it."""
    return _ends - time.monotonic()


class ServiceError(Exception):
    """The service refused the call or failed.

    `item` is the item that failed a condition, if it was requested. `reasons` are those of a cancelled transaction, and
    `attempts` were made.
    """

    attempts = 1
    operation = ""
    """What was called, if that has a name."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        item: Mapping[str, Any] | None = None,
        reasons: Sequence[str] = (),
    ) -> None:
        super().__init__(status, code, message)
        self.status = status
        self.code = code
        self.message = message
        self.item = item
        self.reasons = reasons

    def __str__(self) -> str:
        called = f"{self.operation}: " if self.operation else ""
        return f"{called}{self.code or 'error'} ({self.status}): {self.message}"

    @property
    def meaning(self) -> "Meaning":
        """What it means."""
        from .meaning import meaning  # rarely needed

        return meaning(self.status, self.code, self.message, self.reasons)

    @property
    def unaccepted(self) -> bool:
        """Whether the role or the signature was not accepted. Signed anew, the call may be."""
        return self.meaning == "unaccepted"

    @property
    def transient(self) -> bool:
        """Whether the error is transient. The call may have been carried out unless it was throttled."""
        return self.meaning in ("conflict", "throttled", "unreachable")


class Service:
    """One service in one region, by default the function's own.

    Threads may share it: each uses a connection of its own, of which at most `KEPT` stay open between calls.

    It is created while Lambda initialises the function, and loads `ssl` and Amazon's root certificates: about 8 ms of
    the whole processor that Lambda gives at that time (Python 3.11). It opens no connection yet.
    """

    def __init__(self, name: str, region: str | None = None) -> None:
        self._name = name
        self.region = region or os.environ["AWS_REGION"]
        self._endpoint = endpoint_of(name, self.region, os.environ)
        self._idle: list[Connection] = []
        if self._endpoint.secure:
            trust()

    def close(self) -> None:
        """Close the connections that are kept open."""
        while self._idle:
            self._idle.pop().close()

    def request(
        self,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes,
        *,
        timeout: float,
        connect_timeout: float | None = None,
        attempts: int | None = None,
    ) -> tuple[Any, Mapping[str, str]]:
        """Send `body`, and return the response's JSON and headers. An empty 202 is None.

        There are at most `attempts` of `timeout` seconds, by default three, within the time that the invocation has
        left; `connect_timeout`, by default `CONNECT_TIMEOUT`, is that of a new connection. Each attempt is signed with
        its own time. If the signer isn't accepted, one more attempt is made. A call whose response was lost is retried
        although it may have been carried out.

        Raises:
            NoResponse: the last attempt got no valid response.
            ServiceError: in the last attempt, the service refused the call or failed.
        """
        attempt, unaccepted = 1, 0
        while True:
            try:
                return self._attempt(method, path, headers, body, timeout, connect_timeout or CONNECT_TIMEOUT)
            except (NoResponse, ServiceError) as failure:
                failure.attempts = attempt
                import random  # 1 ms, and rarely needed

                pause = random.uniform(0, FIRST_PAUSE * 2 ** (attempt - 1))  # noqa: S311 (not for security)
                unaccepted += failure.unaccepted
                if (
                    attempt == (attempts or ATTEMPTS)
                    or unaccepted > 1
                    or not (failure.transient or failure.unaccepted)
                    or pause >= time_left()
                ):
                    raise
            time.sleep(pause)
            attempt += 1

    def _attempt(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes, timeout: float, connect_timeout: float
    ) -> tuple[Any, Mapping[str, str]]:
        sent, second, key = tuple(headers.items()), int(time.time()), credentials()
        request = signed(method, self._endpoint, path, sent, body, key, self.region, self._name, second)
        connection = self._connection(connect_timeout)
        response = connection.exchange(request, at_most(timeout))
        document = _document(response)
        if not response.last and len(self._idle) < KEPT:
            self._idle.append(connection)
        if response.status >= 300:
            raise _error(response, document)
        return document, response.headers

    def _connection(self, timeout: float) -> Connection:
        """Take a kept connection, so that no other thread uses it meanwhile, or open a new one."""
        with suppress(IndexError):  # none is kept, or another thread has just taken the last one
            while True:
                connection = self._idle.pop()
                if connection.alive():
                    return connection
                connection.close()
        return connect(self._endpoint, lambda: at_most(timeout))


class DynamoDB(Service):
    """One region's DynamoDB, by default the function's own: its JSON protocol.

    `timeout` and `connect_timeout` are in seconds, by default `TIMEOUT` and `CONNECT_TIMEOUT`.
    """

    def __init__(
        self,
        region: str | None = None,
        *,
        timeout: float | None = None,
        connect_timeout: float | None = None,
    ) -> None:
        super().__init__("dynamodb", region)
        self._timeout = timeout
        self._connect_timeout = connect_timeout

    def call(self, operation: str, request: Mapping[str, Any] | bytes) -> dict[str, Any]:
        """Call an operation and return its reply in DynamoDB's own JSON, for example `{"N": "7"}`.

        A mint that is carried out twice mints another integer, which leaves a gap but never a duplicate.

        Raises:
            NoResponse: the last attempt got no valid response.
            ServiceError: DynamoDB refused the call or failed.
        """
        headers = {"Content-Type": "application/x-amz-json-1.0", "X-Amz-Target": f"DynamoDB_20120810.{operation}"}
        body = request if isinstance(request, bytes) else json.dumps(request).encode()
        try:
            reply, _ = self.request(
                "POST",
                "/",
                headers,
                body,
                timeout=self._timeout or TIMEOUT,
                connect_timeout=self._connect_timeout,
            )
        except ServiceError as error:
            error.operation = operation
            raise
        return json_object(reply)  # otherwise an item would seem to be missing


def json_object(reply: Any) -> dict[str, Any]:
    """Return a reply, or raise `NoResponse` if it is no JSON object: the service has only such ones."""
    if not isinstance(reply, dict):
        raise NoResponse("invalid response: no JSON object")
    return cast("dict[str, Any]", reply)


def credentials() -> Credentials:
    """Return the credentials that Lambda has set. They are read for every attempt, since they are renewed."""
    key, secret = os.environ.get("AWS_ACCESS_KEY_ID"), os.environ.get("AWS_SECRET_ACCESS_KEY")
    if not key or not secret:
        raise LookupError("AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY are not both set; Lambda sets them")
    return Credentials(key, secret, os.environ.get("AWS_SESSION_TOKEN", ""))


def at_most(timeout: float) -> float:
    """Return the seconds that an attempt may take: those that are left, if they are fewer.

    Raises:
        NoResponse: none are left.
    """
    left = time_left()
    if left <= 0:
        raise NoResponse("the invocation has no time left")
    return min(timeout, left)


def _document(response: Response) -> Any:
    checksum = response.headers.get("x-amz-crc32")
    if checksum is not None and checksum != str(zlib.crc32(response.body)):
        raise NoResponse("corrupt response: the checksum differs")
    if response.status == 202 and not response.body:  # an invocation that nobody waits for (Lambda API, "Invoke")
        return None
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
    listed: Any = fields.get("CancellationReasons")
    found = cast("list[Any]", listed) if isinstance(listed, list) else []
    reasons = [str(cast("Mapping[str, Any]", why).get("Code") or "") for why in found if isinstance(why, Mapping)]
    return ServiceError(response.status, code.rpartition("#")[2], str(message), fields.get("Item"), reasons)
