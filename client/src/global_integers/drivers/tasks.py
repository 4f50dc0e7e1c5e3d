"""Carries out a client's steps in tasks of asyncio."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from ..client import C, Client
from ..options import Options
from ..protocol.api import ApiRequest, Failure
from ..protocol.forks import Mark, here
from ..protocol.steps import Await, RunAll, Send, Sleep, Start, Step, Steps

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")
log = logging.getLogger("global_integers")


class TaskSignal:
    """A signal that a task waits for."""

    def __init__(self) -> None:
        self._given = asyncio.Event()

    def wake(self) -> None:
        """Let the task go on."""
        self._given.set()

    async def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Return whether the signal was given."""
        with suppress(TimeoutError):
            async with asyncio.timeout(max(seconds, 0)):
                await self._given.wait()
        return self._given.is_set()


class Tasks(Client[C], Generic[C]):
    """A client that all tasks of one event loop share."""

    def __init__(
        self, options: Options, make_counter: Callable[[str], C], make_http: "Callable[[], httpx.AsyncClient] | None"
    ) -> None:
        """Prepare. `make_http` returns an HTTP client, by default one of the transport's."""
        self._make_http = make_http
        self._http: httpx.AsyncClient | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._background: set[asyncio.Task[None]] = set()
        self._generation = 0
        """How often it was closed."""
        super().__init__(options, make_counter)

    def mark(self) -> Mark:
        """Return this process's mark. In a forked process, and in another event loop, the client starts anew."""
        mark = here()
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                self.forget()
            self._loop = loop
        return mark

    def caller(self) -> object:
        """Return this task."""
        return asyncio.current_task()

    def signal(self) -> TaskSignal:
        """Return a signal that this task can wait for."""
        return TaskSignal()

    def forget(self) -> None:
        """Start anew, without the connections, which belong to another process or event loop."""
        self._background = set()
        self._loop = None
        self._http = None
        super().forget()

    async def close(self) -> None:
        """Close all connections, end what goes on in the background, and drop all leases."""
        self.mark()
        self._generation += 1
        for task in list(self._background):
            task.cancel()
        self.regions.uncheck()
        self.drop()
        closed, self._http = self._http, None
        if closed is not None:
            await closed.aclose()

    async def run(self, steps: Steps[T]) -> T:
        """Carry out steps, and return their result."""
        self.mark()
        answer: object = None
        error: BaseException | None = None
        try:
            while True:
                step = steps.send(answer) if error is None else steps.throw(error)
                try:
                    answer, error = await self._take(step), None
                except BaseException as raised:
                    error = raised  # the steps may have something to clean up
        except StopIteration as done:
            return done.value
        finally:
            error = None  # its traceback has this frame
            steps.close()

    async def _take(self, step: Step) -> object:
        match step:
            case Send(region, request, seconds):
                return await self._send(region, request, seconds)
            case Await(signal, seconds):
                return await signal.wait(seconds)
            case Sleep(seconds):
                return await asyncio.sleep(seconds)
            case Start(steps):
                task = asyncio.create_task(self._logged(steps))
                self._background.add(task)
                task.add_done_callback(self._background.discard)
                return True
            case RunAll(several):
                return await asyncio.gather(*map(self.run, several))

    async def _send(self, region: str, request: ApiRequest[Any], seconds: float) -> object:
        """Return a region's answer. If the client was closed meanwhile, that is no failure of the region: ask again."""
        while True:
            generation = self._generation
            answer = await self.transport.send_async(self._connected(), region, request, seconds)
            if not isinstance(answer, Failure) or generation == self._generation:
                return answer

    def _connected(self) -> "httpx.AsyncClient":
        """Return the HTTP client, which is made when it is first needed."""
        self.mark()
        self._http = self._http or self.transport.async_client(self._make_http)
        return self._http

    async def _logged(self, steps: Steps[Any]) -> None:
        try:
            await self.run(steps)
        except Exception as error:
            log.warning("work in the background failed: %s", error)
