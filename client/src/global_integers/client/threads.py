"""What a client's calls need of threads: they wait, send, and work in the background.

A call is a coroutine, for tasks' sake. In a thread it is never suspended: all that it awaits is done by the thread at
once, and `run` returns its result.
"""

import logging
import threading
import time
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from .api import ApiRequest, Failure
from .forks import here, loading

if TYPE_CHECKING:
    from .transport import Transport

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]
log = logging.getLogger("global_integers")

SLICE = 0.5
"""A waiting thread looks this often, in seconds, whether a signal handler has forked its process."""


class Closed(Exception):
    """The client was closed after this work in the background had begun."""


def run(call: Coroutine[Any, Any, T]) -> T:
    """Carry out a call in this thread, and return its result."""
    try:
        call.send(None)
    except StopIteration as done:
        return done.value
    raise RuntimeError("a thread's call was suspended")


class ThreadSignal:
    """A signal that a thread waits for. Only one thread at a time may give it."""

    def __init__(self) -> None:
        self._woken = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """Let the thread go on."""
        self._woken = True
        with suppress(RuntimeError):  # it goes on already
            self._lock.release()

    async def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Return whether the signal was given, or can't come: this is a forked child."""
        mark, ends = here(), time.monotonic() + seconds
        while not self._woken and mark[0] and (left := ends - time.monotonic()) > 0:
            self._lock.acquire(timeout=min(left, SLICE))
        return self._woken or not mark[0]


class Threads:
    """The threads of a process, which share a client."""

    awaits = False
    make_signal = ThreadSignal

    def __init__(self) -> None:
        self.generation = 0
        """How often the client was closed."""
        self.forget()

    def forget(self) -> None:
        """Start anew, without anything that a forked child must not share with its parent."""
        self._connecting = threading.RLock()
        self._http: Any = None  # closed by the parent, which has the same connections
        self._mine = threading.local()
        """Whether a thread is `sending`, and the `generation` in which a thread in the background began."""

    def is_elsewhere(self) -> bool:
        """Return False: threads have no event loop, so they never come from another one."""
        return False

    def caller(self) -> int:
        """Return this thread's number, which a later thread may get again."""
        return threading.get_ident()

    async def sleep(self, seconds: float) -> None:
        """Wait for some seconds."""
        time.sleep(seconds)

    async def send(self, transport: "Transport", region: str, request: ApiRequest[T], seconds: float) -> T | Failure:
        """Return a region's answer."""
        if getattr(self._mine, "sending", False):  # in a signal handler: its thread holds locks of the connections
            with transport.client() as http:
                return await transport.send(http, region, request, seconds)
        try:
            self._mine.sending = True
            return await transport.send(self._connected(transport), region, request, seconds)
        finally:
            self._mine.sending = False

    def _connected(self, transport: "Transport") -> Any:
        """Return the HTTP client, which is made when it is first needed."""
        if getattr(self._mine, "generation", self.generation) != self.generation:
            raise Closed
        with self._connecting:
            if self._http is None:
                with loading:  # httpx imports more with its first client
                    self._http = transport.client()
            return self._http

    async def close(self) -> None:
        """Close all connections, and let what goes on in the background end."""
        self.generation += 1
        closed, self._http = self._http, None
        if closed is not None:
            closed.close()

    def start(self, call: Call[object]) -> bool:
        """Carry out a call in the background. Return False if no thread can be started."""
        generation = self.generation

        def work() -> None:
            self._mine.generation = generation
            try:
                run(call())
            except Closed:
                log.debug("work in the background ended, since the client was closed")
            except Exception as error:
                log.warning("work in the background failed: %s", error)

        return _started(work) is not None

    async def run_all(self, calls: Sequence[Call[T]]) -> list[T]:
        """Carry out calls at the same time, and return their results."""
        results: dict[int, T] = {}
        errors: list[BaseException] = []

        def work(number: int) -> None:
            try:
                results[number] = run(calls[number]())
            except BaseException as error:
                errors.append(error)

        threads = [_started(work, number) or work(number) for number in range(len(calls))]
        for thread in filter(None, threads):
            thread.join()
        if errors:
            raise errors[0]
        return [results[number] for number in range(len(calls))]


def _started(work: Callable[..., None], *arguments: object) -> threading.Thread | None:
    """Start a thread, which doesn't keep the process alive."""
    thread = threading.Thread(target=work, args=arguments, name="global-integers", daemon=True)
    try:
        thread.start()
    except RuntimeError:  # the interpreter is ending, or the system has no thread left
        log.debug("no thread can be started")
        return None
    return thread
