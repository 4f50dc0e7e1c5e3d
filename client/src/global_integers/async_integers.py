"""The client for asyncio's tasks."""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping
from time import time
from typing import TYPE_CHECKING

from .client import AnyCounter, Client
from .client.api import Owner
from .client.failover import Health
from .client.lease_buffer import first_of
from .client.options import ClientSettings, Options, urls_from_environment
from .client.tasks import Tasks
from .errors import Observer

if TYPE_CHECKING:
    from typing import Self, Unpack

    import httpx


class AsyncCounter(AnyCounter):
    """A counter. `next` and `take` may be called by any task of one event loop; the iterator never ends."""

    async def next(self, *, key: str | None = None) -> int:
        """Return the next integer. See `Counter.next`."""
        if key is None:
            integers, begins, ends, mark = self._buffer.lease
            if begins <= time() < ends:
                for integer in integers:
                    if mark[0]:  # else this is a forked child, and its parent has this integer
                        return integer
                    break
            share = self._buffer.shares.get(id(asyncio.current_task()))
            return (share and first_of(share, time())) or await self._next()
        return (await self.take(1, key=key))[0]

    async def take(self, count: int, *, key: str | None = None) -> list[int]:
        """Return `count` integers, in as few requests as possible. See `Counter.take`."""
        return await self._taken(count, key)

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        return await self.next()


class AsyncIntegers(AsyncCounter):
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
        http: "Callable[[], httpx.AsyncClient] | None" = None,
    ) -> None:
        """Prepare. The arguments are those of `Integers`, but `http` returns an `httpx.AsyncClient`.

        Raises:
            ValueError: one of them is wrong.
            CannotSign: see `Integers`.
        """
        options = Options(
            urls, counter, lease, lease_seconds, timeout, attempt_timeout, prefer, key_failover, sign, observer
        )
        super().__init__(Client(options, Tasks(http)), counter)
        self.client.counters[""] = self

    @classmethod
    def from_env(cls, **options: "Unpack[ClientSettings[httpx.AsyncClient]]") -> "Self":
        """Return a client for the URLs in the environment. See `Integers.from_env`."""
        return cls(urls_from_environment(), **options)

    def __getitem__(self, counter: str) -> AsyncCounter:
        """Return a counter. See `Integers`."""
        return self.client.counter(counter, AsyncCounter)

    async def create(self, counter: str, *, timeout: float = 60.0) -> bool:
        """Create a counter in every region. See `Integers.create`."""
        return await self.client.create(counter, timeout)

    async def owner(self, integer: int, counter: str | None = None) -> Owner:
        """Return the region that mints an integer. See `Integers.owner`."""
        return await self.client.owner(integer, counter)

    async def health(self) -> dict[str, Health]:
        """Return whether each region can mint now. All are asked at the same time."""
        return await self.client.health()

    async def aclose(self) -> None:
        """Close all connections. What is leased is dropped, which leaves a gap. The client may be used again."""
        await self.client.close()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
