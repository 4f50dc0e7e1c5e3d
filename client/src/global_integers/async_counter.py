"""One counter, for asyncio's tasks."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic, time
from typing import TYPE_CHECKING

import anyio

from . import calls
from .answers import Block
from .any_counter import AnyCounter
from .events import Leased
from .names import MAX_BLOCK, checked_size
from .stock import Stock

if TYPE_CHECKING:
    from .async_integers import AsyncIntegers


class AsyncCounter(AnyCounter):
    """A counter. `next` and `take` may be called by any task of one event loop; the iterator never ends."""

    def __init__(self, integers: "AsyncIntegers", name: str) -> None:
        """Use the counter `name`, "" for the default one, through a client."""
        self._integers = integers
        super().__init__(name, integers.options)

    def forget(self) -> None:
        """Start anew. For a forked process, whose parent has the same leases, and for another event loop."""
        super().forget()
        self._fetching = asyncio.Lock()

    async def next(self, *, key: str | None = None) -> int:
        """Return the next integer. See `Counter.next`."""
        if key is None:
            integers, begins, ends, mark = self._stock.lease
            if begins <= time() < ends:
                for integer in integers:
                    if mark[0]:  # else this is a forked child, and its parent has this integer
                        return integer
                    break
            return await self._next()
        return (await self.take(1, key=key))[0]

    async def take(self, count: int, *, key: str | None = None) -> list[int]:
        """Return `count` integers, in as few requests as possible. See `Counter.take`."""
        checked_size(count)
        deadline = monotonic() + self._options.timeout
        while True:
            mark = self._integers.prepare()
            taken = await self._take(count, key, deadline)
            if mark[0]:
                return taken

    def __aiter__(self) -> AsyncIterator[int]:
        """Return an iterator over the next integers, without end."""
        return self

    async def __anext__(self) -> int:
        """Return the next integer."""
        return await self.next()

    async def _take(self, count: int, key: str | None, deadline: float) -> list[int]:
        if key is not None:
            await self._integers.locate(deadline)
            call, order = self._keyed(count, key)
            return list((await self._integers.call(call, deadline, order)).integers())
        taken = self._stock.take_many(count)
        while len(taken) < count:
            taken.extend((await self._mint(min(count - len(taken), MAX_BLOCK), deadline)).integers())
        return taken

    async def _next(self) -> int:
        """Return an integer of the next block, or of a request of its own."""
        deadline = monotonic() + self._options.timeout
        while True:
            mark = self._integers.prepare()
            if self._options.lease == 1:
                integer = (await self._mint(1, deadline)).first
            else:
                integer = await self._next_leased(deadline)
            if integer and mark[0]:
                return integer

    async def _next_leased(self, deadline: float) -> int:
        """Return the next integer of the stock, or of a block that is fetched for it; 0 if it was dropped meanwhile."""
        stock, fetching = self._stock, self._fetching
        if integer := stock.take():
            if stock.is_low():
                self._integers.background(self._prefetch)
            return integer
        try:
            with anyio.fail_after(max(deadline - monotonic(), 0)):
                await fetching.acquire()
        except TimeoutError:
            raise self._no_block() from None
        try:
            integer = stock.take() or await self._fetch(stock, deadline)
        finally:
            fetching.release()
        return integer if stock is self._stock else 0

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
        stock.add(block, keep_first=keep_first)
        self._integers.tell(Leased(self.name, block.region, block.count))
        return block.first

    async def _mint(self, count: int, deadline: float) -> Block:
        return await self._integers.call(calls.mint(self.name, count), deadline)
