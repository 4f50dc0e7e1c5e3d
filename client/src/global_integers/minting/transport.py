"""One attempt: send a request to a region and read the response, before one deadline.

All that needs httpx is here. It is imported with the first request.

The deadline holds for name resolution, all addresses of a host, TLS, and every read. httpx has time-outs for each of
these steps, and starts them anew for each address and each read. A host with four addresses that don't answer would
cost four time-outs, and one that sends a byte now and then would never time out. Asyncio's tasks need none of this,
since they can be cancelled.
"""

import asyncio
import logging
import re
import socket
import sys
import time
from collections import defaultdict, deque
from collections.abc import Callable, Iterable
from contextlib import nullcontext, suppress
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import Any, TypeVar, cast

import httpcore
import httpx

from ..errors import Requested
from .api import ApiRequest, ApiResponse, Failure, FailureKind, MintedBlock
from .environment import check_environment
from .forks import here, loading, make_lock, streams
from .signing import CannotSign, Signature
from .threads import SLICE, is_nested, started


class Left(float):
    """The seconds that are left of an attempt, at least 0.001, and when it ends (by `time.monotonic`)."""

    ends: float

    def __new__(cls, ends: float) -> "Left":
        """Return what is left until then."""
        made = super().__new__(cls, max(ends - time.monotonic(), 0.001))
        made.ends = ends
        return made


class TimeLeft(dict[str, float]):
    """httpx's time-outs (to connect, for each read …). Each is what is left of one attempt."""

    def __init__(self, seconds: float) -> None:
        super().__init__()
        self.seconds = seconds
        """For the whole attempt."""
        self._ends = time.monotonic() + seconds

    def get(self, key: str, default: Any = None) -> Left:  # noqa: ARG002 (they are all the same)
        """Return the seconds that are left, whatever the key."""
        return Left(self._ends)


def keep_deadlines(client: httpx.Client) -> httpx.Client:
    """Let a client's connections keep the deadlines of attempts. Other transports than httpx's own stay as they are.

    httpx has no setting for it, so this looks into its transports. A test tries it with the versions that are pinned.
    """
    mounted: Iterable[object] = getattr(client, "_mounts", {}).values()
    for transport in (getattr(client, "_transport", None), *mounted):
        pool = getattr(transport, "_pool", None)
        backend = getattr(pool, "_network_backend", None)
        if isinstance(backend, httpcore.NetworkBackend) and not isinstance(backend, _Backend):
            setattr(pool, "_network_backend", _Backend(backend))  # noqa: B010 (a private attribute)
            setattr(pool, "_optional_thread_lock", make_lock())  # noqa: B010 (its own can be left locked)
    return client


class _Backend(httpcore.NetworkBackend):
    """Connects within what is left: each address of a host gets an even share of it."""

    def __init__(self, backend: httpcore.NetworkBackend) -> None:
        self._backend = backend

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        if not isinstance(timeout, Left):
            return self._backend.connect_tcp(host, port, timeout, local_address, socket_options)
        addresses = _addresses(host, port, timeout.ends)
        failed: Exception = httpcore.ConnectError(f"{host} has no address")
        for number, address in enumerate(addresses):
            share = _left(timeout, httpcore.ConnectTimeout) / (len(addresses) - number)
            try:
                return _Stream(self._backend.connect_tcp(address, port, share, local_address, socket_options))
            except (httpcore.ConnectError, httpcore.ConnectTimeout) as error:
                failed = error
        raise failed

    def sleep(self, seconds: float) -> None:
        self._backend.sleep(seconds)


class _Stream(httpcore.NetworkStream):
    """Reads and writes within what is left. It is closed when nobody uses it any more, and in a child of `os.fork`."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream
        self._owns = True
        streams.add(self)

    def __del__(self) -> None:
        if self._owns:
            self._stream.close()

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        stream = self._stream.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout))
        self._owns = False
        return _Stream(stream)

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(timeout: float | None, error: type[Exception]) -> Any:
    """Return the seconds of a step, or raise the error if none are left."""
    if not isinstance(timeout, Left):
        return timeout
    left = timeout.ends - time.monotonic()
    if left <= 0:
        raise error("the attempt's time is over")
    return left


def _addresses(host: str, port: int, ends: float) -> list[str]:
    """Return a host's addresses, each once. They are looked up in a thread, since that can't be interrupted."""
    with suppress(ValueError):
        return [str(ip_address(host))]
    found: SimpleQueue[list[str] | OSError] = SimpleQueue()

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.put(list(dict.fromkeys(str(info[4][0]) for info in infos)))
        except OSError as error:
            found.put(error)

    if started(look_up) is None:
        look_up()
    mark, addresses = here(), None
    while addresses is None:
        try:
            addresses = found.get(timeout=max(min(ends - time.monotonic(), SLICE), 0))
        except Empty:
            if not mark[0]:
                raise httpcore.ConnectError("the process was forked, and the thread isn't here") from None
            if time.monotonic() >= ends:
                raise httpcore.ConnectTimeout(f"the name {host} wasn't resolved in time") from None
    if isinstance(addresses, OSError):
        raise httpcore.ConnectError(str(addresses)) from addresses
    return addresses


LOOPBACK: dict[str, None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
"""Hosts for which no proxy is used, whatever the environment says."""

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=60.0)

MAX_RESPONSE = 1_000_000
"""Bytes. This API sends no larger responses to a client, and compresses none."""

ENDED = (
    "If that is the deployment on this machine, it may have ended. `.venv/bin/python -m local up` starts it again, at "
    "the same URLs"
)
"""The hint if nothing listens on a port of this machine."""

REMEMBERED = 64
"""Blocks of a counter that are remembered, for each region."""

REMEMBERED_COUNTERS = 1000
"""The largest number of counters whose blocks are remembered, for each region."""

ERRORS = (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, httpx.CookieConflict, OSError, RuntimeError, ValueError)
"""What httpx raises if a server sends something unusual, or can't be reached."""

T = TypeVar("T")
log = logging.getLogger("global_integers")


class _NotOurs(logging.Filter):
    """Drops what httpx logs at INFO of each request of this client, unless `global_integers` logs DEBUG.

    A service that logs at INFO would get a line for each integer. The level of httpx's logger is the service's own, for
    its other requests. So the stack tells whose request it is.
    """

    def filter(self, record: logging.LogRecord) -> bool:
        if record.levelno > logging.INFO or log.isEnabledFor(logging.DEBUG):
            return True
        frame = sys._getframe()
        while frame is not None and frame.f_code is not Transport._response.__code__:
            frame = frame.f_back
        return frame is None


logging.getLogger("httpx").addFilter(_NotOurs())


class Transport:
    """Sends requests, with the URLs, signatures and observer that are the same for every attempt."""

    def __init__(
        self,
        url: Callable[[str], str],
        signature: Callable[[str], Signature | None],
        tell: Callable[[Requested], None],
        make_http: Callable[[], Any] | None,
        *,
        awaits: bool,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Prepare. `awaits`: whether the HTTP client is one for tasks, whatever its class is."""
        self._url = url
        self._signature = signature
        self._tell = tell
        self._make_http = make_http
        self._awaits = awaits
        self._clock = clock
        self._lock = make_lock()
        self._http: Any = None
        self._recent: defaultdict[str, dict[str, deque[tuple[int, int]]]] = defaultdict(dict)
        """Region → counter → the first and last integers of the last blocks."""

    def client(self) -> Any:
        """Return an HTTP client. Proxies of the environment aren't used for this machine's servers.

        Raises:
            TypeError: `make_http` returns one for tasks to threads, or the other way round.
            ValueError: there is no `make_http`, and an environment variable is wrong. See `environment.py`.
        """
        needed, other = (httpx.AsyncClient, httpx.Client) if self._awaits else (httpx.Client, httpx.AsyncClient)
        if self._make_http is not None:
            made = self._make_http()
        else:
            check_environment()
            made = needed(mounts=LOOPBACK, limits=LIMITS)
        if isinstance(made, other):
            owner = "AsyncIntegers" if self._awaits else "Integers"
            raise TypeError(f"http returns an httpx.{other.__name__}; {owner} needs an httpx.{needed.__name__}")
        return made if self._awaits else keep_deadlines(made)

    async def send(self, region: str, request: ApiRequest[T], seconds: float) -> T | Failure:
        """Send the request. Return the region's answer, or why there is none.

        Raises:
            CannotSign: the credentials can't be had, which is no region's failure.
            BaseException: what a signal handler raises.
        """
        if self._awaits or not is_nested():
            with self._lock:
                if self._http is None:
                    with loading():  # httpx imports more with its first client
                        self._http = self.client()
                http = self._http
            return await self._attempt(http, region, request, seconds)
        http = self.client()
        answer = await self._attempt(http, region, request, seconds)
        http.close()  # not after an exception of a signal handler: it may have left locks of httpx behind
        return answer

    async def close(self) -> None:
        """Close all connections."""
        closed, self._http = self._http, None
        if closed is not None:
            await closed.aclose() if self._awaits else closed.close()

    async def _attempt(self, http: Any, region: str, request: ApiRequest[T], seconds: float) -> T | Failure:
        """Send the request by an HTTP client.

        After any error that isn't httpx's own, such as one that a signal handler raises, locks and connections of the
        HTTP client may be left as they should not be. It is used no more then: closing it could wait for ever.
        """
        began = self._clock()
        answer: T | Failure
        try:
            built = http.build_request(
                request.method,
                request.url(self._url(region)),
                headers={"Accept-Encoding": "identity", **request.headers},
                extensions={"timeout": TimeLeft(seconds)},
            )
            signature = self._signature(region)
            async with asyncio.timeout(seconds) if self._awaits else nullcontext():
                response = await self._response(region, http, built, signature, began + seconds)
            answer = self._new(region, request, request.answer(response))
        except CannotSign:
            raise
        except BaseException as error:
            if not isinstance(error, (httpx.HTTPError, asyncio.CancelledError)) and not self._is_timeout(error):
                self._drop(http)
            if not self._is_of_region(error):
                raise
            answer = _failure(error, seconds, _through(http, self._url(region)))
        failure = answer.reason if isinstance(answer, Failure) else None
        self._tell(Requested(region, request.subject, self._clock() - began, failure))
        return answer

    def _drop(self, http: Any) -> None:
        if self._http is http:
            self._http = None

    async def _response(
        self, region: str, http: Any, request: httpx.Request, signature: Signature | None, ends: float
    ) -> ApiResponse:
        if signature is not None and self._awaits and signature.may_wait():
            await asyncio.to_thread(signature.sign, request)
        elif signature is not None:
            signature.sign(request)
        auth = httpx.USE_CLIENT_DEFAULT if signature is None else None  # what is signed is authorized in no other way
        content = bytearray()
        sent = http.send(request, auth=auth, stream=True, follow_redirects=False)
        streamed: httpx.Response
        streamed = await sent if self._awaits else sent
        try:
            self._check(streamed, content, ends)
            if self._awaits:
                async for chunk in streamed.aiter_bytes():
                    content += chunk
                    self._check(streamed, content, ends)
            else:
                for chunk in streamed.iter_bytes():
                    content += chunk
                    self._check(streamed, content, ends)
        except (httpx.HTTPError, asyncio.CancelledError):
            await self._close(streamed)
            raise
        await self._close(streamed)  # after any other error, that could wait for ever
        signed, phrase = "authorization" in streamed.request.headers, streamed.reason_phrase
        return ApiResponse(region, streamed.status_code, streamed.headers, bytes(content), phrase, signed)

    async def _close(self, streamed: httpx.Response) -> None:
        if self._awaits:
            await streamed.aclose()
        else:
            streamed.close()

    def _is_timeout(self, error: BaseException) -> bool:
        """Return whether it is asyncio's. In a thread, only a signal handler raises this error."""
        return self._awaits and isinstance(error, TimeoutError)

    def _is_of_region(self, error: BaseException) -> bool:
        """Return whether the server or the way to it may be the reason, and not who interrupts the call."""
        return self._is_timeout(error) or (isinstance(error, ERRORS) and not isinstance(error, TimeoutError))

    def _check(self, streamed: httpx.Response, content: bytearray, ends: float) -> None:
        """Raise an error if the time is over, or what has arrived of a response's body can't be this API's."""
        encoding = streamed.headers.get("content-encoding", "identity")
        if encoding.strip().lower() not in ("", "identity"):  # that wasn't asked for, and could become very large
            raise httpx.DecodingError(f"it is compressed: {encoding[:40]}")
        if content and self._clock() > ends:
            raise httpx.ReadTimeout("")
        if len(content) > MAX_RESPONSE:
            raise httpx.DecodingError(f"it has more than {MAX_RESPONSE:,} bytes")

    def _new(self, region: str, request: ApiRequest[T], answer: T | Failure) -> T | Failure:
        """Return the answer, or a failure if it has integers that the region has returned before, without a key.

        A cache may answer a POST, a proxy may deliver a response twice, and a table may have been restored.
        """
        if not isinstance(answer, MintedBlock) or request.key:
            return answer
        with self._lock:
            counters = self._recent[region]
            recent = counters.get(answer.counter)
            if recent is None:
                recent = counters[answer.counter] = deque(maxlen=REMEMBERED)
                if len(counters) > REMEMBERED_COUNTERS:
                    del counters[next(iter(counters))]  # the oldest
            again = any(answer.first <= last and first <= answer.last for first, last in recent)
            recent.append((answer.first, answer.last))
        if again or answer.replayed:
            why = f"the response has integers that were returned before: {answer.first} …"
            return Failure(FailureKind.TRANSIENT, why)
        return answer


def _through(http: Any, url: str) -> str:
    """Return, for a message, through which proxy an HTTP client sends to a URL, without its password; "": none.

    httpx doesn't say it, so this looks into its transports, as `keep_deadlines` does.
    """
    choose: Any = getattr(http, "_transport_for_url", None)
    with suppress(httpx.InvalidURL):
        target = httpx.URL(url)
        transport = choose(target) if choose is not None else None
        proxy: object = getattr(getattr(transport, "_pool", None), "_proxy_url", None)
        if isinstance(proxy, httpcore.URL):
            host, port = proxy.host.decode("ascii"), "" if proxy.port is None else f":{proxy.port}"
            host = f"[{host}]" if ":" in host else host
            return f" ({_host(target)} through the proxy {proxy.scheme.decode('ascii')}://{host}{port})"
    return ""


def _failure(error: BaseException, seconds: float, through: str) -> Failure:
    """Return the failure of an attempt without a readable response. `through` names the proxy."""
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return Failure(FailureKind.SILENT, f"no response within {seconds:.3g} s{through}")
    if isinstance(error, httpx.ConnectError):
        return _no_connection(error, through)
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, RuntimeError) and "closed" in reason:  # httpx: "the client has been closed"
        return Failure(FailureKind.TRANSIENT, "the client was closed meanwhile")
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.DecodingError):
        return Failure(FailureKind.SILENT, f"{reason}{through}")
    return Failure(FailureKind.TRANSIENT, f"the response is not this API's: {reason}")


def _no_connection(error: httpx.ConnectError, through: str) -> Failure:
    """Return the failure of a connection that is refused, or whose host has no address, in the system's own words."""
    url, cause = error.request.url, error.__context__
    while cause is not None and not isinstance(cause, ConnectionRefusedError):
        several = isinstance(cause, BaseExceptionGroup)  # of asyncio, for a host with several addresses
        cause = cast("Any", cause).exceptions[-1] if several else cause.__cause__ or cause.__context__
    said, hint = "connection refused", ENDED if f"all://{url.host}" in LOOPBACK and not through else ""
    if "WRONG_VERSION_NUMBER" in str(error):
        said, hint = "the server doesn't speak TLS; is http:// meant?", ""
    elif cause is None:
        said, hint = re.sub(r"^\[Errno -?\d+\] ", "", str(error)) or "no connection", ""
    return Failure(FailureKind.SILENT, f"{said}{through or f' ({_host(url)})'}", hint=hint)


def _host(url: httpx.URL) -> str:
    return url.netloc.decode("ascii")
