"""What a client's calls need of asyncio's tasks: they wait, send, and work in the background. See `threads.py`."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Sequence
from contextlib import suppress
from typing import Any, TypeVar

from .forks import Stale

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
    loop = staticmethod(asyncio.get_running_loop)

    def __init__(self) -> None:
        self.background: set[asyncio.Task[None]] = set()

    def caller(self) -> int:
        """Return this task's number, which a later task may get again."""
        return id(asyncio.current_task())

    def end(self) -> None:
        """End what goes on in the background."""
        for task in list(self.background):
            task.cancel()

    def start(self, call: Call[object]) -> bool:
        """Carry out a call in the background. Return True: that is always possible."""

        async def work() -> None:
            try:
                await call()
            except Stale:
                log.debug("work in the background ended, since the client was closed")
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
