"""One counter, for threads."""

import threading
from collections.abc import Iterator
from time import monotonic, time
from typing import TYPE_CHECKING

from . import calls
from .answers import Block
from .any_counter import AnyCounter
from .events import Leased
from .forks import here
from .names import MAX_BLOCK, checked_size
from .stock import Lease, Stock

if TYPE_CHECKING:
    from .integers import Integers


class Waiting:
    """A thread that waits for a block."""

    def __init__(self) -> None:
        self.share: Lease | None = None
        self.woken = False
        self._lock = threading.Lock()
        self._lock.acquire()

    def wake(self) -> None:
        """End its waiting. Called once."""
        self.woken = True
        self._lock.release()

    def wait(self, seconds: float) -> None:
        """Wait until it is woken, up to so many seconds."""
        self._lock.acquire(timeout=max(seconds, 0))


class Counter(AnyCounter):
    """A counter. `next` and `take` may be called from any thread; the iterator never ends."""

    def __init__(self, integers: "Integers", name: str) -> None:
        """Use the counter `name`, "" for the default one, through a client."""
        self._integers = integers
        super().__init__(name, integers.options)

    def forget(self) -> None:
        """Start anew. For a forked process: its parent has the same leases, and other threads had the locks."""
        super().forget()
        self._state = threading.RLock()
        self._mine = threading.local()
        """A thread's `share` of the last block that it waited for."""

    def drop(self) -> None:
        """Drop what is leased: a gap."""
        with self._state:
            self._stock.drop()

    def next(self, *, key: str | None = None) -> int:
        """Return the next integer: from a lease, or minted by the nearest healthy region.

        Args:
            key: an idempotency key. The same key returns the same integer, in any process, for 24 hours
                (`idempotencyHours`). One region keeps the key: see `Integers`.

        Raises:
            UnknownCounter: no region has the counter.
            Refused: the request isn't allowed, or the key was used for another request.
            Unavailable: all regions failed, or the key's region did.
            ValueError: the key is not 1 to 255 visible ASCII characters.
        """
        if key is None:
            integers, begins, ends, mark = self._stock.lease
            if begins <= time() < ends:
                for integer in integers:
                    if mark[0]:  # else this is a forked child, and its parent has this integer
                        return integer
                    break
            return self._next()
        return self.take(1, key=key)[0]

    def take(self, count: int, *, key: str | None = None) -> list[int]:
        """Return `count` integers, in as few requests as possible.

        Each request's integers are one stride apart. If a request fails, the integers of those before it are
        lost.

        Args:
            count: 0 or more; with a key, 1 to 100,000.
            key: as with `next`.

        Raises:
            UnknownCounter, Refused, Unavailable, ValueError: as with `next`.
        """
        checked_size(count)
        deadline = monotonic() + self._options.timeout
        while True:
            mark = here()
            taken = self._take(count, key, deadline)
            if mark[0]:
                return taken

    def __iter__(self) -> Iterator[int]:
        """Return an iterator over the next integers, without end."""
        return self

    def __next__(self) -> int:
        """Return the next integer."""
        return self.next()

    def _take(self, count: int, key: str | None, deadline: float) -> list[int]:
        if key is not None:
            self._integers.locate(deadline)
            call, order = self._keyed(count, key)
            return list(self._integers.call(call, deadline, order).integers())
        with self._state:
            taken = self._stock.take_many(count)
        while len(taken) < count:
            taken.extend(self._mint(min(count - len(taken), MAX_BLOCK), deadline).integers())
        return taken

    def _next(self) -> int:
        """Return an integer of the next block, or of a request of its own."""
        deadline = monotonic() + self._options.timeout
        while True:
            mark = here()
            integer = self._mint(1, deadline).first if self._options.lease == 1 else self._next_leased(deadline)
            if integer and mark[0]:
                return integer

    def _next_leased(self, deadline: float) -> int:
        """Return the next integer of the stock, or of a block that is fetched for it; 0: try again."""
        stock, waiting, me = self._stock, Waiting(), threading.get_ident()
        share: Lease | None = getattr(self._mine, "share", None)
        size = 0
        with self._state:
            integer = stock.take(share) or stock.take(share := stock.unused())
            if integer:
                low = stock.is_low()
            else:
                low, size = False, stock.claim(me, waiting)
        if integer:
            if low:
                self._integers.background(self._prefetch)
        else:
            share = self._fetch(stock, me, size, deadline) if size else self._wait(stock, waiting, deadline)
            with self._state:
                integer = stock.take(share) if share is not None else 0
        self._mine.share = share
        return integer if stock is self._stock else 0

    def _wait(self, stock: Stock, waiting: Waiting, deadline: float) -> Lease | None:
        """Return this thread's share of a block that another one fetches; None: try again."""
        try:
            waiting.wait(deadline - monotonic())
        finally:
            with self._state:
                stock.leave(waiting)
        if not waiting.woken:
            raise self._no_block()
        return waiting.share

    def _prefetch(self) -> None:
        """Fetch the next block while the present one is in use."""
        stock, me = self._stock, threading.get_ident()
        with self._state:
            size = stock.begun(me, own=0) if stock.is_low() else 0
        if size:
            self._fetch(stock, me, size, monotonic() + self._options.timeout, own=0)

    def _fetch(self, stock: Stock, me: int, size: int, deadline: float, *, own: int = 1) -> Lease | None:
        """Fetch a block into the stock. Return this thread's share of it."""
        try:
            block = self._mint(size, deadline)
        except BaseException:
            with self._state:
                stock.ended(me, size, None, own=own)
            raise
        with self._state:
            share = stock.ended(me, size, block, own=own)
        self._integers.tell(Leased(self.name, block.region, block.count))
        return share

    def _mint(self, count: int, deadline: float) -> Block:
        return self._integers.call(calls.mint(self.name, count), deadline)
