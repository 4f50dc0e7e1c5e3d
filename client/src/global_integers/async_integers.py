"""The client for asyncio's tasks."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from threading import get_ident
from time import time
from typing import TYPE_CHECKING

from .minting import AnyCounter, AnyIntegers, State
from .minting.api import Owner
from .minting.failover import Health
from .minting.lease_buffer import first_of
from .minting.options import ClientSettings, urls_from_environment
from .minting.tasks import Tasks

if TYPE_CHECKING:
    from typing import Self, Unpack

    import httpx


class AsyncCounter(AnyCounter):
    """A counter. `next` and `take` may be called by any task of any event loop; the iterator never ends."""

    async def next(self, *, key: str | None = None, key_failover: bool = False) -> int:
        """Return the next integer. See `Counter.next`."""
        if key is None and not key_failover:
            buffer = self._buffer
            if buffer.thread != get_ident():  # it is of another event loop
                return await self._next()
            integers, begins, ends, mark = buffer.lease
            if begins <= time() < ends:
                for integer in integers:
                    if mark[0]:  # else this is a forked child, and its parent has this integer
                        return integer
                    break
            share = buffer.shares.get(id(asyncio.current_task()))
            return (share and first_of(share, time())) or await self._next()
        return (await self.take(1, key=key, key_failover=key_failover))[0]

    async def take(self, count: int, *, key: str | None = None, key_failover: bool = False) -> list[int]:
        """Return `count` integers, in as few requests as possible. See `Counter.take`."""
        return await self._taken(count, key, key_failover)

    def __aiter__(self) -> AsyncIterator[int]:
        return self

    async def __anext__(self) -> int:
        return await self.next()


class AsyncIntegers(AsyncCounter, AnyIntegers[AsyncCounter, "httpx.AsyncClient"]):
    """`Integers` with `await`, for asyncio's tasks. Each event loop has connections and leases of its own."""

    _counter = AsyncCounter
    _io = Tasks

    def __init__(self, urls: Mapping[str, str] | str, **options: "Unpack[ClientSettings[httpx.AsyncClient]]") -> None:
        """Prepare. See `Integers`."""
        super().__init__(urls, **options)

    @classmethod
    def from_env(cls, **options: "Unpack[ClientSettings[httpx.AsyncClient]]") -> "Self":
        """Return a client for the URLs in the environment. See `Integers.from_env`."""
        return cls(urls_from_environment(), **options)

    async def create(self, counter: str, *, timeout: float = 60.0) -> bool:
        """Create a counter in every region. See `Integers.create`."""
        return await self.client.create(counter, timeout)

    async def owner(self, integer: int, counter: str | None = None) -> Owner:
        """Return the region that mints an integer. See `Integers.owner`."""
        return await self.client.owner(integer, counter)

    async def health(self) -> dict[str, Health]:
        """Return whether each region can mint now. All are asked at the same time."""
        return await self.client.with_state(State.health)

    async def aclose(self) -> None:
        """Close this event loop's connections. What it has leased is dropped: a gap. The client may be used again."""
        await self.client.close()

    async def __aenter__(self) -> "Self":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
