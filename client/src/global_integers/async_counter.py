"""One counter, for asyncio's tasks."""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic, time
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

import anyio

from . import calls
from .answers import Block
from .any_counter import AnyCounter
from .events import Leased
from .names import MAX_BLOCK, checked_size
from .stock import Lease, Stock

if TYPE_CHECKING:
    from .async_integers import AsyncIntegers


class Waiting:
    """A task that waits for a block."""

    def __init__(self) -> None:
        self.share: Lease | None = None
        self._woken = asyncio.Event()

    def wake(self) -> None:
        """End its waiting."""
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """Wait until it is woken, up to so many seconds. Return whether it was."""
        with anyio.move_on_after(max(seconds, 0)):
            await self._woken.wait()
        return self._woken.is_set()


class AsyncCounter(AnyCounter):
    """A counter. `next` and `take` may be called by any task of one event loop; the iterator never ends."""

    def __init__(self, integers: "AsyncIntegers", name: str) -> None:
        """Use the counter `name`, "" for the default one, through a client."""
        self._integers = integers
        super().__init__(name, integers.options)

    def forget(self) -> None:
        """Start anew. For a forked process, whose parent has the same leases, and for another event loop."""
        super().forget()
        self._shares: WeakKeyDictionary[asyncio.Task[Any], Lease] = WeakKeyDictionary()
        """Task → its share of the last block that it waited for."""

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
        """Return the next integer of the stock, or of a block that is fetched for it; 0: try again."""
        stock, shares, me, waiting = self._stock, self._shares, _task(), Waiting()
        share = shares.get(me)
        integer = stock.take(share) or stock.take(share := stock.unused())
        if integer:
            if stock.is_low():
                self._integers.background(self._prefetch)
        else:
            size = stock.claim(me, waiting)
            share = await (self._fetch(stock, me, size, deadline) if size else self._wait(stock, waiting, deadline))
            integer = stock.take(share) if share is not None else 0
        if share is not None:
            shares[me] = share
        return integer if stock is self._stock else 0

    async def _wait(self, stock: Stock, waiting: Waiting, deadline: float) -> Lease | None:
        """Return this task's share of a block that another one fetches; None: try again."""
        try:
            if not await waiting.wait(deadline - monotonic()):
                raise self._no_block()
        finally:
            stock.leave(waiting)
        return waiting.share

    async def _prefetch(self) -> None:
        """Fetch the next block while the present one is in use."""
        stock, me = self._stock, _task()
        if stock.is_low():
            await self._fetch(stock, me, stock.begun(me, own=0), monotonic() + self._options.timeout, own=0)

    async def _fetch(
        self, stock: Stock, me: asyncio.Task[Any], size: int, deadline: float, *, own: int = 1
    ) -> Lease | None:
        """Fetch a block into the stock. Return this task's share of it."""
        try:
            block = await self._mint(size, deadline)
        except BaseException:
            stock.ended(me, size, None, own=own)
            raise
        share = stock.ended(me, size, block, own=own)
        self._integers.tell(Leased(self.name, block.region, block.count))
        return share

    async def _mint(self, count: int, deadline: float) -> Block:
        return await self._integers.call(calls.mint(self.name, count), deadline)


def _task() -> asyncio.Task[Any]:
    return cast("asyncio.Task[Any]", asyncio.current_task())
