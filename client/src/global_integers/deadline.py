"""One deadline for an attempt: over name resolution, all addresses of a host, TLS, and every read.

httpx has time-outs for each of these steps, and starts them anew for each address and each read. A host with four
addresses that don't answer would cost four time-outs, and one that sends a byte now and then would never time out.
Asyncio's tasks need none of this, since they can be cancelled.
"""

import socket
import threading
import time
from collections.abc import Iterable
from ipaddress import ip_address
from queue import Empty, SimpleQueue
from typing import Any

import httpcore
import httpx


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
    """Reads and writes within what is left."""

    def __init__(self, stream: httpcore.NetworkStream) -> None:
        self._stream = stream

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, _left(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._stream.write(buffer, _left(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        self._stream.close()

    def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        return _Stream(self._stream.start_tls(ssl_context, server_hostname, _left(timeout, httpcore.ConnectTimeout)))

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(timeout: float | None, error: type[Exception]) -> Any:
    """Return the seconds of a step.

    Raises:
        error: none are left.
    """
    if isinstance(timeout, Left):
        left = timeout.ends - time.monotonic()
        if left <= 0:
            raise error("the attempt's time is over")
        return left
    return timeout


def _addresses(host: str, port: int, ends: float) -> list[str]:
    """Return a host's addresses, each once. They are looked up in a thread, since that can't be interrupted.

    Raises:
        httpcore.ConnectError: there are none.
        httpcore.ConnectTimeout: the resolver doesn't answer in time.
    """
    try:
        return [str(ip_address(host))]
    except ValueError:
        pass
    found: SimpleQueue[list[str] | OSError] = SimpleQueue()

    def look_up() -> None:
        try:
            infos = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            found.put(list(dict.fromkeys(str(info[4][0]) for info in infos)))
        except OSError as error:
            found.put(error)

    try:
        threading.Thread(target=look_up, name="global-integers", daemon=True).start()
    except RuntimeError:  # the interpreter is ending, or the system has no thread left
        look_up()
    try:
        addresses = found.get(timeout=max(ends - time.monotonic(), 0))
    except Empty:
        raise httpcore.ConnectTimeout(f"the name {host} wasn't resolved in time") from None
    if isinstance(addresses, OSError):
        raise httpcore.ConnectError(str(addresses)) from addresses
    return addresses
