"""Leases: a warm function mints a block and serves from memory, so that a busy counter needs few writes.

The size follows demand: it doubles, up to the setting, while blocks are used up within a second, and
halves when they are not. So a cold function takes one integer, and an idle counter stays dense. What a
function holds when it ends is lost: a gap, never a duplicate, since one write mints the block, and no
later layout hands its integers out again.

Nothing is leased before the first request: a snapshot of an initialised function (SnapStart) may be
started many times.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .table import Block, CeilingReached, CounterTable

BUSY_WITHIN = 1.0
"""Seconds. A block that is used up within them was too small."""

LIFETIME = 10.0
"""Seconds that a block is served from. After that no lease is older than a lost table, a floor or a new layout."""

MAX_COUNTERS = 1000
"""Counters of which a function keeps leases; the oldest lease is dropped."""


class Lease(NamedTuple):
    """What is left of a block, its size, and when it was taken (seconds of the clock)."""

    left: Iterator[int]
    stride: int
    size: int
    taken: float


class Leases:
    """One function's leases: `most` integers in a block, 1 to 1,000; 1 is no lease."""

    def __init__(self, table: CounterTable, most: int, clock: Callable[[], float] = time.time) -> None:
        """`clock` returns seconds; it must not stand still while the function is frozen."""
        self._table = table
        self._most = most
        self._clock = clock
        self._leases: dict[str, Lease] = {}

    def mint(self, counter: str) -> Block:
        """Mint the counter's next integer: from the lease, or by a write.

        Raises:
            UnknownCounter: the table has no such counter.
            CeilingReached: no integer is left.
            Unavailable: the table did not answer.
        """
        if self._most == 1:
            return self._table.mint(counter)
        now = self._clock()
        lease = self._leases.get(counter)
        if lease is not None and 0 <= now - lease.taken < LIFETIME:
            integer = next(lease.left, None)  # one step of the interpreter, so two threads never get the same
            if integer is not None:
                return Block(integer, lease.stride, 1)
        block = self._take(counter, self._size(lease, now))
        self._leases.pop(counter, None)
        self._leases[counter] = Lease(iter(block.integers()[1:]), block.stride, block.count, self._clock())
        if len(self._leases) > MAX_COUNTERS:
            del self._leases[next(iter(self._leases))]
        return Block(block.first, block.stride, 1)

    def _size(self, last: Lease | None, now: float) -> int:
        if last is None:
            return 1
        if 0 <= now - last.taken < BUSY_WITHIN:
            return min(2 * last.size, self._most)
        return max(last.size // 2, 1)

    def _take(self, counter: str, size: int) -> Block:
        if size > 1:
            try:
                return self._table.mint_block(counter, size)
            except CeilingReached:
                pass  # fewer are left, but perhaps one
        return self._table.mint(counter)
