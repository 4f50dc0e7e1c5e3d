"""One counter, for threads."""

import threading
from collections.abc import Iterator
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
    from .integers import Integers


class Counter:
    """A counter. `next` and `take` may be called from any thread; the iterator never ends."""

    def __init__(self, integers: "Integers", name: str) -> None:
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
        self._state = threading.Lock()
        self._fetching = threading.Lock()

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
            integers, begins, ends = self._stock.lease
            if begins <= time() < ends:
                for integer in integers:
                    return integer
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
        deadline = monotonic() + self._options.timeout
        if key is not None:
            return list(self._mint_keyed(count, key).integers())
        with self._state:
            taken = self._stock.take_many(count)
        while len(taken) < count:
            taken.extend(self._mint(min(count - len(taken), MAX_BLOCK), deadline).integers())
        return taken

    def __iter__(self) -> Iterator[int]:
        """Return an iterator over the next integers, without end."""
        return self

    def __next__(self) -> int:
        """Return the next integer."""
        return self.next()

    def _next(self) -> int:
        """Return an integer of the next block."""
        deadline = monotonic() + self._options.timeout
        if self._options.lease == 1:
            return self._mint(1, deadline).first
        while True:
            with self._state:
                stock = self._stock
                integer = stock.take()
                low = stock.is_low()
            if integer:
                if low:
                    self._integers.background(self._prefetch)
                return integer
            fetching = self._fetching
            if not fetching.acquire(timeout=max(deadline - monotonic(), 0)):
                raise DeadlineExceeded(
                    f"{self.name or 'the default counter'}: no block was fetched within {self._options.timeout:.3g} s",
                    {},
                )
            try:
                with self._state:
                    integer = stock.take()  # another thread may have fetched a block meanwhile
                    size = stock.next_size()
                integer = integer or self._fetch(stock, size, deadline)
            finally:
                fetching.release()
            if integer and stock is self._stock:  # else the lease was dropped meanwhile, by a fork or a close
                return integer

    def _prefetch(self) -> None:
        """Fetch the next block while the present one is in use."""
        stock, fetching = self._stock, self._fetching
        if not fetching.acquire(blocking=False):
            return  # another thread is fetching it
        try:
            with self._state:
                low, size = stock.is_low(), stock.next_size()
            if low:
                self._fetch(stock, size, monotonic() + self._options.timeout, keep_first=True)
        finally:
            fetching.release()

    def _fetch(self, stock: Stock, size: int, deadline: float, *, keep_first: bool = False) -> int:
        """Fetch a block into the stock. Return its first integer, which isn't in the stock unless `keep_first`."""
        block = self._mint(size, deadline)
        with self._state:
            if stock is self._stock:
                stock.add(block, keep_first=keep_first)
        self._integers.tell(Leased(self.name, block.region, block.count))
        return block.first

    def _mint(self, count: int, deadline: float) -> Block:
        return self._integers.call(calls.mint(self.name, count), deadline)

    def _mint_keyed(self, count: int, key: str) -> Block:
        call = calls.mint(self.name, count, key)
        order = order_of(key, self._options.urls)[: None if self._options.key_failover else 1]
        return self._integers.call(call, monotonic() + self._options.timeout, order)
