"""What a client's calls need of asyncio's tasks: they wait, send, and work in the background. See `threads.py`."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeVar

from .api import ApiRequest, Failure

if TYPE_CHECKING:
    from .transport import Transport

T = TypeVar("T")
Call = Callable[[], Coroutine[Any, Any, T]]
log = logging.getLogger("global_integers")


class TaskSignal:
    """A signal that a task waits for."""

    def __init__(self) -> None:
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """Let the task go on."""
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Return whether the signal was given."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await self._woken.wait()
        return self._woken.is_set()


class Tasks:
    """The tasks of one event loop, which share a client."""

    awaits = True
    make_signal = TaskSignal
    sleep = staticmethod(asyncio.sleep)

    def __init__(self) -> None:
        self.generation = 0
        """How often the client was closed."""
        self.forget()

    def forget(self) -> None:
        """Start anew, without the connections, which belong to another process or event loop."""
        self.background: set[asyncio.Task[None]] = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: Any = None

    def is_elsewhere(self) -> bool:
        """Return whether this is another event loop than the last time."""
        before, self._loop = self._loop, asyncio.get_running_loop()
        return before not in (None, self._loop)

    def caller(self) -> int:
        """Return this task's number, which a later task may get again."""
        return id(asyncio.current_task())

    async def send(self, transport: "Transport", region: str, request: ApiRequest[T], seconds: float) -> T | Failure:
        """Return a region's answer."""
        self._http = self._http or transport.client()
        return await transport.send(self._http, region, request, seconds, self._drop)

    def _drop(self, http: Any) -> None:
        """Use this HTTP client no more. Closing it could wait for ever."""
        if self._http is http:
            self._http = None

    async def close(self) -> None:
        """Close all connections, and end what goes on in the background."""
        self.generation += 1
        for task in list(self.background):
            task.cancel()
        closed, self._http = self._http, None
        if closed is not None:
            await closed.aclose()

    def start(self, call: Call[object]) -> bool:
        """Carry out a call in the background. Return True: that is always possible."""

        async def work() -> None:
            try:
                await call()
            except ValueError as error:  # such as a wrong environment: the caller's own call raises it, too
                log.debug("work in the background failed: %s", error)
            except Exception as error:
                log.warning("work in the background failed: %s", error)

        task = asyncio.create_task(work())
        self.background.add(task)
        task.add_done_callback(self.background.discard)
        return True

    async def run_all(self, calls: Sequence[Call[T]], seconds: float) -> list[T | None]:  # noqa: ARG002 (for threads)
        """Carry out calls at the same time, and return their results. Tasks wait for no lock, only for attempts."""
        return [*await asyncio.gather(*(call() for call in calls))]
