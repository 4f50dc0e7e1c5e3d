"""One counter, for asyncio's tasks."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic, time
from typing import TYPE_CHECKING

from . import calls
from .answers import Block
from .errors import DeadlineExceeded
from .events import Leased
from .names import MAX_BLOCK
from .rendezvous import order_of
from .stock import Stock

if TYPE_CHECKING:
    from .async_integers import AsyncIntegers


class AsyncCounter:
    """A counter. `next` and `take` may be called by any task of one event loop; the iterator never ends."""

    def __init__(self, integers: "AsyncIntegers", name: str) -> None:
        """Use the counter `name`, "" for the default one, through a client."""
        self.name = name
        self._integers = integers
        self._options = integers.options
        self.forget()

    def forget(self) -> None:
        """Drop what is leased. A forked process needs this, since its parent hands out the same integers."""
        if hasattr(self, "_stock"):
            self._stock.drop()
        self._stock = Stock(self._options.lease, self._options.lease_seconds, time)
        self._fetching = asyncio.Lock()

    async def next(self, *, key: str | None = None) -> int:
        """Return the next integer. See `Counter.next`."""
        if key is None:
            integers, begins, ends = self._stock.lease
            if begins <= time() < ends:
                for integer in integers:
                    return integer
            return await self._next()
        return (await self.take(1, key=key))[0]

    async def take(self, count: int, *, key: str | None = None) -> list[int]:
        """Return `count` integers, in as few requests as possible. See `Counter.take`."""
        deadline = monotonic() + self._options.timeout
        if key is not None:
            call = calls.mint(self.name, count, key)
            order = order_of(key, self._options.urls)[: None if self._options.key_failover else 1]
            return list((await self._integers.call(call, deadline, order)).integers())
        taken = self._stock.take_many(count)
        while len(taken) < count:
            taken.extend((await self._mint(min(count - len(taken), MAX_BLOCK), deadline)).integers())
        return taken

    def __aiter__(self) -> AsyncIterator[int]:
        """Return an iterator over the next integers, without end."""
        return self

    async def __anext__(self) -> int:
        """Return the next integer."""
        return await self.next()

    async def _next(self) -> int:
        """Return an integer of the next block."""
        deadline = monotonic() + self._options.timeout
        if self._options.lease == 1:
            return (await self._mint(1, deadline)).first
        while True:
            stock, fetching = self._stock, self._fetching
            if integer := stock.take():
                if stock.is_low():
                    self._integers.background(self._prefetch)
                return integer
            try:
                await asyncio.wait_for(fetching.acquire(), max(deadline - monotonic(), 0))
            except (TimeoutError, asyncio.TimeoutError):  # noqa: UP041 (they differ in Python 3.10)
                raise DeadlineExceeded(
                    f"{self.name or 'the default counter'}: no block was fetched within {self._options.timeout:.3g} s",
                    {},
                ) from None
            try:
                integer = stock.take() or await self._fetch(stock, deadline)
            finally:
                fetching.release()
            if stock is self._stock:  # else the lease was dropped meanwhile, by a fork or a close
                return integer

    async def _prefetch(self) -> None:
        """Fetch the next block while the present one is in use."""
        stock, fetching = self._stock, self._fetching
        if fetching.locked():
            return  # another task is fetching it
        async with fetching:
            if stock.is_low():
                await self._fetch(stock, monotonic() + self._options.timeout, keep_first=True)

    async def _fetch(self, stock: Stock, deadline: float, *, keep_first: bool = False) -> int:
        """Fetch a block into the stock. Return its first integer, which isn't in the stock unless `keep_first`."""
        block = await self._mint(stock.next_size(), deadline)
        if stock is self._stock:
            stock.add(block, keep_first=keep_first)
        self._integers.tell(Leased(self.name, block.region, block.count))
        return block.first

    async def _mint(self, count: int, deadline: float) -> Block:
        return await self._integers.call(calls.mint(self.name, count), deadline)
