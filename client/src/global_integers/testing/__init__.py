"""A stack in memory, for the tests of applications: no server, no network, no waiting.

    def test_an_order_gets_a_number(integers_stack):
        integers = integers_stack.integers()
        assert integers.next() == 1
        integers_stack.regions[0].fail()
        assert integers.next() == 2

With the client, pytest gets the fixture `integers_stack`. The clients are the real ones, with their failover, leases
and errors. Only the regions, the transport and the clock are replaced. The project's tests compare it with a deployment
on one machine, so that an application finds here what it would find there.

It has no domain (`Integers("https://integers.example.com/")`), nobody has to sign, no caller is limited to some
counters, and the regions stay the same.

A stack is of one process. In a forked one, its clients raise `Forked`, and so do its methods. Processes that are
started anew, such as those of pytest-xdist or of multiprocessing's "spawn", have stacks of their own: each begins at 1.
"""

import logging
import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from ..async_integers import AsyncIntegers
from ..integers import Integers
from ..minting.api import checked_counter
from ..minting.tasks import Tasks
from ..minting.threads import Call, Threads, run
from .clock import StoppedClock
from .region import AWS_REGION, RESERVED, Counters, Fault, Forked, Region, reserved

if TYPE_CHECKING:
    from typing import Self, Unpack

    import httpx

    from ..minting.options import ClientSettings

__all__ = ["Fault", "Forked", "Region", "Stack"]

T = TypeVar("T")
log = logging.getLogger("global_integers")


class Stack:
    """Regions in memory, and clients of them. No integer of a counter is ever minted twice.

    Its clock stands still: only callers' waits and `tick` let time pass, at once. What goes on in the background of an
    `Integers`, such as health checks, is over when its call returns. So runs of a test in one thread are the same. Only
    leases, their sizes and `lease_seconds`, go by the wall clock.

    A stack is a context manager, which closes its clients for threads. Those for tasks are closed by their own
    `async with`. The fixture `integers_stack` does the first.

    Attributes:
        regions: in the order of the layout. The first one is the nearest.
    """

    def __init__(
        self,
        regions: Sequence[str] = ("us-east-1", "eu-west-1", "ap-southeast-2"),
        *,
        counters: Sequence[str] = ("integers", "orders"),
        max_counters: int = 0,
    ) -> None:
        """Begin with nothing minted.

        Args:
            regions: their AWS names, 1 to 64. Only their form is checked.
            counters: their names; the first one is the default counter.
            max_counters: callers may create counters while there are fewer; 0: they may not (`openCounters` is off).

        Raises:
            ValueError: one of these is wrong.
        """
        if isinstance(regions, str) or not 1 <= len(set(regions)) == len(regions) <= 64:
            raise ValueError(f"regions {regions!r} is not a list of 1 to 64 different regions")
        for region in regions:
            if not isinstance(region, str) or not AWS_REGION.fullmatch(region):  # pyright: ignore[reportUnnecessaryIsInstance]
                raise ValueError(f"{region!r} is not the name of an AWS region, such as eu-west-1")
        if isinstance(counters, str) or not 1 <= len(set(counters)) == len(counters):
            raise ValueError(f"counters {counters!r} is not a list of different counters; there must be one")
        for counter in counters:
            if checked_counter(counter) in RESERVED:
                raise ValueError(f"counters: {reserved(counter)}; take it out of the list")
        if type(max_counters) is not int or max_counters < 0:
            raise ValueError(f"max_counters {max_counters!r} is not an integer from 0 on")
        self._clock = StoppedClock()
        self._shared = Counters(len(regions), counters, max_counters, self._clock)
        self.regions = [Region(name, offset, self._shared) for offset, name in enumerate(regions, 1)]
        self._opened: list[Integers] = []

    @property
    def urls(self) -> dict[str, str]:
        """The regions' URLs by name."""
        return {region.name: region.url for region in self.regions}

    def integers(self, **options: "Unpack[ClientSettings[httpx.Client]]") -> Integers:
        """Return a client for threads. The options are those of `Integers`; `http` can't be given.

        Raises:
            ValueError: an option is wrong.
        """
        made = _Integers(self._clock, self.urls, **self._with_transport(options, asynchronous=False))
        self._opened.append(made)
        return made

    def async_integers(self, **options: "Unpack[ClientSettings[httpx.AsyncClient]]") -> AsyncIntegers:
        """Return a client for asyncio's tasks. The options are those of `AsyncIntegers`; `http` can't be given.

        Raises:
            ValueError: an option is wrong.
        """
        return _AsyncIntegers(self._clock, self.urls, **self._with_transport(options, asynchronous=True))

    def tick(self, seconds: float) -> None:
        """Let so many seconds pass, 0 or more: pauses end, health is checked again, keys expire as by default.

        Raises:
            ValueError: the seconds aren't a finite number from 0 on.
            Forked: the stack is another process's.
        """
        if not (seconds >= 0 and math.isfinite(seconds)):
            raise ValueError(f"seconds {seconds!r} is not a finite number from 0 on")
        self._shared.check_process()
        self._clock.tick(seconds)

    def jump(self) -> None:
        """Leave a gap in every counter, as a change of regions may: all that is minted next lies above the windows.

        Each region has a million integers of an epoch, so three regions go on with 3,000,001, 3,000,002 and 3,000,003.
        A deployment skips less: about a hundred integers a region, or its window if it was unreachable then.
        What clients have leased is still handed out.

        Raises:
            Forked: the stack is another process's.
        """
        self._shared.check_process()
        with self._shared.lock:
            for counter in self._shared.counters:
                self._shared.begin_epoch(counter)

    def delete(self, counter: str) -> None:
        """Delete a counter. Its requests get 404, but those with a repeated key.

        What clients have leased is still handed out.
        If it is created again, it goes on above all that may have been minted of it, as after a `jump`.

        Raises:
            ValueError: there is no such counter, or it is the default counter.
            Forked: the stack is another process's.
        """
        self._shared.check_process()
        with self._shared.lock:
            if counter not in self._shared.counters:
                raise ValueError(f"there is no counter {counter!r}")
            if counter == self._shared.counters[0]:
                raise ValueError(f"{counter!r} is the default counter, which can't be deleted")
            self._shared.counters.remove(counter)
            self._shared.begin_epoch(counter)

    def close(self) -> None:
        """Close all clients for threads."""
        while self._opened:
            self._opened.pop().close()

    def __enter__(self) -> "Self":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _with_transport(self, options: Any, *, asynchronous: bool) -> Any:
        if options.get("http") is not None:
            raise ValueError("http can't be given: the stack's clients have one that reaches its regions only")
        by_host = {f"{region.name}.integers.test": region for region in self.regions}

        def make() -> Any:
            import httpx

            transport = httpx.MockTransport(lambda request: by_host[request.url.host].answer(request))
            return (httpx.AsyncClient if asynchronous else httpx.Client)(transport=transport, trust_env=False)

        return {**options, "http": make}


class _Threads(Threads):
    """Threads that wait by the stack's clock, and do at once what otherwise goes on in the background."""

    def __init__(self, clock: StoppedClock) -> None:
        super().__init__()
        self._clock = clock

    async def sleep(self, seconds: float) -> None:
        self._clock.wait(seconds)

    def start(self, call: Call[object]) -> bool:
        with self._clock.meanwhile():
            try:
                run(call())
            except Exception as error:
                log.warning("work in the background failed: %s", error)
        return True

    async def run_all(self, calls: Sequence[Call[T]], seconds: float) -> list[T | None]:  # noqa: ARG002 (none pass)
        results: list[T | None] = []
        for call in calls:
            with self._clock.meanwhile():
                results.append(await call())
        return results


class _Tasks(Tasks):
    """Tasks that wait by the stack's clock."""

    def __init__(self, clock: StoppedClock) -> None:
        super().__init__()
        self._clock = clock
        self.sleep: Callable[[float], Any] = self._sleep  # pyright: ignore[reportIncompatibleMethodOverride]

    async def _sleep(self, seconds: float) -> None:
        import asyncio

        self._clock.wait(seconds)
        await asyncio.sleep(0)


class _Integers(Integers):
    def __init__(self, clock: StoppedClock, urls: dict[str, str], **options: Any) -> None:
        self._clock, self._io = clock, partial(_Threads, clock)
        super().__init__(urls, **options)
        self.client.last.regions.spread = max  # no jitter: the order of regions that failed is always the same


class _AsyncIntegers(AsyncIntegers):
    def __init__(self, clock: StoppedClock, urls: dict[str, str], **options: Any) -> None:
        self._clock, self._io = clock, partial(_Tasks, clock)
        super().__init__(urls, **options)
        self.client.last.regions.spread = max  # no jitter: the order of regions that failed is always the same


for _client in (_Integers, _AsyncIntegers):  # as they are shown
    _client.__name__ = _client.__name__.removeprefix("_")
