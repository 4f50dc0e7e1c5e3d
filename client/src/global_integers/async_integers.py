"""The client for asyncio's tasks."""

import asyncio
import logging
import time
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import suppress
from types import TracebackType
from typing import Any, TypeVar

import httpx

from . import calls
from .address import addressed
from .answers import Owner
from .async_counter import AsyncCounter
from .attempts import Ask, Steps
from .calls import Call
from .client import Client
from .errors import FailedEverywhere, UnknownCounter, UnknownOwner
from .events import Observer
from .exchange import default_async_client
from .forks import Mark, forget_in_children, here
from .health import INTERRUPTED, Health
from .options import Options, urls_from_environment

T = TypeVar("T")
log = logging.getLogger("global_integers")


class AsyncIntegers(Client[AsyncCounter], AsyncCounter):
    """`Integers` with `await`, for the tasks of one event loop."""

    def __init__(
        self,
        urls: Mapping[str, str] | str,
        *,
        counter: str = "",
        lease: int = 1,
        lease_seconds: float = 60.0,
        timeout: float = 10.0,
        attempt_timeout: float = 3.0,
        prefer: str | None = None,
        key_failover: bool = False,
        sign: bool | None = None,
        observer: Observer | None = None,
        http: Callable[[], httpx.AsyncClient] | None = None,
    ) -> None:
        """Prepare. The arguments are those of `Integers`, but `http` returns an `httpx.AsyncClient`.

        Raises:
            ValueError: one of them is wrong.
            CannotSign: see `Integers`.
        """
        urls = addressed(urls, sign)
        options = Options(
            urls, counter, lease, lease_seconds, timeout, attempt_timeout, prefer, key_failover, sign, observer
        )
        self.set_up(options, lambda name: AsyncCounter(self, name))
        self._make_http = http or default_async_client
        self._tasks: set[asyncio.Task[Any]] = set()
        AsyncCounter.__init__(self, self, counter)
        forget_in_children(self)

    @classmethod
    def from_env(cls, **options: Any) -> "AsyncIntegers":
        """Return a client for the URLs in the environment. See `Integers.from_env`."""
        return cls(urls_from_environment(), **options)

    async def create(self, counter: str, *, timeout: float = 60.0) -> bool:
        """Create a counter in every region. See `Integers.create`."""
        return await self.call(calls.create(counter), time.monotonic() + timeout, each=timeout / 2)

    async def owner(self, integer: int, counter: str | None = None) -> Owner:
        """Return the region that mints an integer. See `Integers.owner`."""
        name = counter or await self._name_of_default()
        deadline = time.monotonic() + self.options.timeout
        call = calls.owner(name, integer)
        found, ask = await self.call(call, deadline, nowhere=UnknownOwner)
        if ask is not None and ask in self.options.urls:
            with suppress(FailedEverywhere):  # then who owns it is known, but not whether it was minted
                found, _ = await self.call(call, deadline, [ask], nowhere=UnknownOwner)
        return found

    async def health(self) -> dict[str, Health]:
        """Return whether each region can mint now. All are asked at the same time."""
        await self.locate(time.monotonic() + self.options.timeout)
        names = list(self.options.urls)
        return dict(zip(names, await asyncio.gather(*map(self.check, names)), strict=True))

    async def aclose(self) -> None:
        """Close all connections. What is leased is dropped, which leaves a gap. The client may be used again."""
        self.prepare()
        for task in list(self._tasks):
            task.cancel()
        for counter in (self, *self._counters.values()):
            AsyncCounter.forget(counter)
        closed, self._http = self._http, None
        if closed is not None:
            await closed.aclose()

    async def __aenter__(self) -> "AsyncIntegers":
        """Return this client."""
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Close it."""
        await self.aclose()

    def forget(self) -> None:
        """Start anew, without anything that a forked child must not share with its parent."""
        super().forget()
        for counter in self._counters.values():
            counter.forget()
        self.regions.forget()
        self._tasks = set()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._http: httpx.AsyncClient | None = None  # closed by the parent, which has the same connections

    def prepare(self) -> Mark:
        """Start anew in a forked process, and in another event loop, which can't use the connections.

        Returns:
            This process's mark.
        """
        mark = here()
        loop = asyncio.get_running_loop()
        if self._loop is not loop:
            if self._loop is not None:
                self.forget()
            self._loop = loop
        return mark

    def _connected(self) -> httpx.AsyncClient:
        """Return the HTTP client, which is made when it is first needed."""
        self.prepare()
        self._http = self._http or self._make_http()
        return self._http

    async def call(
        self,
        call: Call[T],
        deadline: float,
        order: Sequence[str] | None = None,
        *,
        each: float | None = None,
        nowhere: type[FailedEverywhere] = UnknownCounter,
    ) -> T:
        """Send a request to one region after the other until one answers. See `Integers.call`."""
        self.prepare()
        if order is None:
            await self.locate(deadline)
            await self._measure(deadline)
        return await self._carry_out(self._steps(call, deadline, order, each, nowhere))

    async def locate(self, deadline: float) -> None:
        """Read which regions are behind the address, if the client has one and doesn't know them."""
        if reading := self._reading(deadline):
            await self._carry_out(reading)
        elif again := self._reading_again():
            self.background(lambda: self._carry_out(again))

    async def check(self, region: str) -> Health:
        """Ask one region whether it can mint, and remember how long it took."""
        began = time.monotonic()
        answer: object = INTERRUPTED
        try:
            http = self._connected()
            answer = await self._exchange.send_async(http, region, calls.health(), self.options.attempt_timeout)
        finally:
            health = self._checked(region, answer, began)
        return health

    def background(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        """Run `work` in a task of its own. Errors are logged."""
        task = asyncio.create_task(self._logged(work))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, steps: Steps[T]) -> T:
        answer: Any = None
        while True:
            try:
                step = steps.send(answer)
            except StopIteration as done:
                return done.value
            if isinstance(step, Ask):
                answer = await self._exchange.send_async(self._connected(), step.region, step.call, step.seconds)
            else:
                await asyncio.sleep(step.seconds)
                answer = None

    async def _measure(self, deadline: float) -> None:
        """Start the health checks that are due, in the background. The first call waits for one of them."""
        for region in self._to_check():
            self.background(lambda region=region: self.check(region))
        ends = min(time.monotonic() + self.options.attempt_timeout, deadline)
        while self.regions.is_new and time.monotonic() < ends:
            await asyncio.sleep(0.005)
        self.regions.wait_for_first(0)

    async def _name_of_default(self) -> str:
        if self._default_name is None:
            status = await self.call(calls.document("-/status"), time.monotonic() + self.options.timeout)
            self._default_name = str(status.get("counter"))
        return self._default_name

    async def _logged(self, work: Callable[[], Coroutine[Any, Any, object]]) -> None:
        try:
            await work()
        except Exception as error:
            log.warning("work in the background failed: %s", error)
