"""Leases: a warm function mints a block and serves it from memory, so that a busy counter needs few writes.

The size of the block follows demand. It doubles, up to the setting, while blocks are used up within a second;
otherwise it halves. So a cold function takes one integer, and an idle counter has few gaps. When a function ends,
the rest of its block is lost. This leaves a gap but never a duplicate: one write minted the whole block, and no
later layout mints these integers again.

A table that was restored to an earlier state mints the same integers again. So once it is seen to have gone
backwards, no lease taken before is used any more.

Nothing is leased before the first request, because a snapshot of an initialised function (SnapStart) may be
started many times.
"""

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

from .model import Block, CeilingReached
from .table import CounterTable

BUSY_WITHIN = 1.0
"""Seconds. A block that is used up in less time was too small."""

LIFETIME = 10.0
"""Seconds for which a block is used. So integers that were leased before a loss, or before a change of
a floor or a layout, may be handed out for this long after it."""

MAX_COUNTERS = 1000
"""The largest number of leases that a function keeps. Beyond it, the oldest lease is dropped."""


class LeasedBlock(NamedTuple):
    """The rest of a block, when it was taken, and how often the table had been found to have gone backwards before."""

    rest: Iterator[int]
    stride: int
    size: int
    taken: float
    findings: int


class Leases:
    """One function's leases on a table."""

    def __init__(self, table: CounterTable, max_size: int, clock: Callable[[], float] = time.time) -> None:
        """Start without a lease. `max_size` is up to 100,000. The clock also runs while the function is frozen."""
        self._table = table
        self._max_size = max_size
        self._clock = clock
        self._leases: dict[str, LeasedBlock] = {}

    def mint(self, counter: str) -> Block:
        """Mint the counter's next integer, from the lease or with a write. Errors are those of `CounterTable.mint`."""
        now, findings = self._clock(), self._table.seen.findings
        lease = self._leases.get(counter)
        if lease is not None and 0 <= now - lease.taken < LIFETIME and lease.findings == findings:
            integer = next(lease.rest, None)  # atomic, so two threads never get the same integer
            if integer is not None:
                return Block(integer, lease.stride, 1)
        block = self._take(counter, self._size(lease, now))
        self._leases.pop(counter, None)
        self._leases[counter] = LeasedBlock(
            iter(block.integers()[1:]), block.stride, block.count, self._clock(), findings
        )
        if len(self._leases) > MAX_COUNTERS:
            del self._leases[next(iter(self._leases))]
        return Block(block.first, block.stride, 1)

    def _size(self, last: LeasedBlock | None, now: float) -> int:
        if last is None:
            return 1
        if 0 <= now - last.taken < BUSY_WITHIN:
            return min(2 * last.size, self._max_size)
        return max(last.size // 2, 1)

    def _take(self, counter: str, size: int) -> Block:
        if size > 1:
            try:
                return self._table.mint_block(counter, size)
            except CeilingReached:
                pass  # fewer are left, but perhaps at least one
        return self._table.mint(counter)
