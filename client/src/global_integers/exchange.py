"""One attempt: send a request to a region and read the response, within so many seconds."""

import logging
import time
from contextlib import suppress
from typing import Any, TypeVar

import anyio
import httpx

from .address import Address
from .answers import Block, Failure, Kind
from .calls import Call
from .deadline import TimeLeft
from .events import Event, Requested
from .options import Options
from .signing import CannotSign, signatures

LOOPBACK: dict[str, None] = {"all://127.0.0.1": None, "all://localhost": None, "all://[::1]": None}
"""Hosts for which no proxy is used, whatever the environment says."""

LIMITS = httpx.Limits(max_connections=None, max_keepalive_connections=100, keepalive_expiry=60.0)

MAX_RESPONSE = 1_000_000
"""Bytes. This API sends no larger responses to a client."""

REMEMBERED = 64
"""Blocks of a counter of which the first integer is remembered, for each region."""

T = TypeVar("T")
log = logging.getLogger("global_integers")


class Exchange:
    """Sends requests, with the URLs, signatures and observer that are the same for every attempt."""

    def __init__(self, options: Options) -> None:
        """Read the options.

        Raises:
            CannotSign: see `signatures`.
        """
        self.urls = options.urls
        urls = options.urls
        self.auths = urls.signatures if isinstance(urls, Address) else signatures(urls, options.sign)
        self._observer = options.observer
        self._recent: dict[tuple[str, str], dict[int, object]] = {}
        """Region and path → the first integers of the last blocks."""

    def request(
        self, client: httpx.Client | httpx.AsyncClient, region: str, call: Call[Any], seconds: float
    ) -> httpx.Request:
        """Return the HTTP request of one attempt."""
        return client.build_request(
            call.method,
            call.url(self.urls[region]),
            headers=dict(call.headers),
            extensions={"timeout": TimeLeft(seconds)},
        )

    def tell(self, event: Event) -> None:
        """Tell the observer. An error that it raises is logged; the call goes on."""
        if self._observer is not None:
            try:
                self._observer(event)
            except Exception:
                log.exception("the observer failed")

    def send(self, client: httpx.Client, region: str, call: Call[T], seconds: float) -> T | Failure:
        """Send the request. Return the region's answer, or why there is none."""
        began = time.monotonic()
        request = self.request(client, region, call, seconds)
        body = Body(began, seconds)
        answer: T | Failure
        try:
            response = client.send(request, auth=self.auths[region], stream=True, follow_redirects=False)
            try:
                for chunk in response.iter_bytes():
                    body.add(chunk)
            finally:
                response.close()
            answer = self._new(region, call, call.answer(region, body.response(response)))
        except CannotSign:
            raise  # no region's failure
        except Exception as error:  # whatever a server sends, it is this region's failure, and the next one is asked
            answer = _failure(error, seconds)
        self._note(region, call, began, answer)
        return answer

    async def send_async(self, client: httpx.AsyncClient, region: str, call: Call[T], seconds: float) -> T | Failure:
        """Send the request. Return the region's answer, or why there is none."""
        began = time.monotonic()
        request = self.request(client, region, call, seconds)
        body = Body(began, seconds)
        answer: T | Failure
        try:
            with anyio.fail_after(seconds):
                response = await client.send(request, auth=self.auths[region], stream=True, follow_redirects=False)
                try:
                    async for chunk in response.aiter_bytes():
                        body.add(chunk)
                finally:
                    await response.aclose()
            answer = self._new(region, call, call.answer(region, body.response(response)))
        except CannotSign:
            raise  # no region's failure
        except Exception as error:  # whatever a server sends, it is this region's failure, and the next one is asked
            answer = _failure(error, seconds)
        self._note(region, call, began, answer)
        return answer

    def _new(self, region: str, call: Call[T], answer: T | Failure) -> T | Failure:
        """Return the answer, or a failure if it has integers that the region has returned before, without a key.

        A cache may answer a POST, a proxy may deliver a response twice, and a table may have been restored.
        """
        if not isinstance(answer, Block) or call.keyed:
            return answer
        recent = self._recent.setdefault((region, call.path), {})
        mine = object()
        again = recent.setdefault(answer.first, mine) is not mine  # one step: threads may do this at the same time
        with suppress(RuntimeError, StopIteration):  # another thread removes one, too
            while len(recent) > REMEMBERED:
                recent.pop(next(iter(recent)), None)
        if again or answer.replayed:
            return Failure(Kind.TRANSIENT, f"the response has integers that were returned before: {answer.first} …")
        return answer

    def _note(self, region: str, call: Call[Any], began: float, answer: object) -> None:
        failure = answer.reason if isinstance(answer, Failure) else None
        self.tell(Requested(region, call.subject, time.monotonic() - began, failure))


class Body:
    """A response's body while it arrives."""

    def __init__(self, began: float, seconds: float) -> None:
        self._began = began
        self._seconds = seconds
        self._content = bytearray()

    def add(self, chunk: bytes) -> None:
        """Add what has arrived.

        Raises:
            httpx.ReadTimeout: the time is over.
            httpx.DecodingError: the response is too large to be this API's.
        """
        self._content += chunk
        if time.monotonic() - self._began > self._seconds:
            raise httpx.ReadTimeout("")
        if len(self._content) > MAX_RESPONSE:
            raise httpx.DecodingError(f"it has more than {MAX_RESPONSE:,} bytes")

    def response(self, streamed: httpx.Response) -> httpx.Response:
        """Return the response with its whole body."""
        dropped = (b"content-encoding", b"content-length", b"transfer-encoding")
        headers = [(name, value) for name, value in streamed.headers.raw if name.lower() not in dropped]
        return httpx.Response(
            streamed.status_code, headers=headers, content=bytes(self._content), request=streamed.request
        )


def _failure(error: Exception, seconds: float) -> Failure:
    """Return the failure of an attempt without a readable response."""
    if isinstance(error, (httpx.TimeoutException, TimeoutError)):
        return Failure(Kind.SILENT, f"no response within {seconds:.3g} s")
    reason = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    if isinstance(error, RuntimeError) and "closed" in reason:  # httpx: "the client has been closed"
        return Failure(Kind.TRANSIENT, "the client was closed meanwhile")
    if isinstance(error, httpx.TransportError) and not isinstance(error, httpx.DecodingError):
        return Failure(Kind.SILENT, reason)
    return Failure(Kind.TRANSIENT, f"the response is not this API's: {reason}")


def default_client() -> httpx.Client:
    """Return a client for threads. Proxies are those of the environment, except for this machine's own servers."""
    return httpx.Client(mounts=LOOPBACK, limits=LIMITS)


def default_async_client() -> httpx.AsyncClient:
    """Return a client for tasks."""
    return httpx.AsyncClient(mounts=LOOPBACK, limits=LIMITS)
