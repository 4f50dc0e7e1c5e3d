"""What a process has leased of one counter, and how much it leases next. No I/O.

Blocks are handed out integer by integer. The next block is fetched once a tenth of the present one is used (the
double buffer of Meituan's Leaf), so the caller doesn't wait at its end. The size of a block follows demand: it lasts
two seconds at the present rate, and is at most four times the block before. So an idle process fetches single
integers, and little is left over when a process ends.
"""

import sys
import sysconfig
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice
from operator import length_hint

from .answers import Block
from .forks import Mark, here

LASTS = 2.0
"""Seconds for which a block should last."""

GROWTH = 4
"""The largest size of a block, as a multiple of the block before."""

SPLIT = 10
"""A block of at least so many integers is split after a tenth. When the rest comes into use, the next is fetched."""

Lease = tuple[Iterator[int], float, float, Mark]
"""Integers, the clock times between which they may be handed out, and the mark of the process that may.

A tuple, so that all are replaced at once. The mark is looked at after an integer was taken.
"""


class Locked:
    """A thread-safe iterator. Without a global interpreter lock, the iterator of a `range` may repeat integers."""

    def __init__(self, integers: range) -> None:
        self._iterator = iter(integers)
        self._lock = threading.Lock()

    def __iter__(self) -> "Locked":
        return self

    def __next__(self) -> int:
        with self._lock:
            return next(self._iterator)

    def __length_hint__(self) -> int:
        """Return how many are left."""
        return length_hint(self._iterator)


FREE_THREADED = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
_iterate: Callable[[range], Iterator[int]] = Locked if FREE_THREADED or sys.implementation.name != "cpython" else iter


class Stock:
    """The leased blocks of one counter, the oldest first.

    Integers may be taken from `lease` by any thread at any time: one step of a range's iterator is atomic. The
    methods are for one thread at a time.
    """

    def __init__(self, most: int, lifetime: float, clock: Callable[[], float] = time.time) -> None:
        """Start with nothing.

        Args:
            most: the largest block, 1 to 100,000.
            lifetime: seconds after which what is left of a block is dropped.
            clock: returns seconds, and goes on while the machine sleeps. If it is set back, blocks may be dropped.
        """
        self.mark = here()
        self.lease = self._nothing()
        self._queue: deque[Lease] = deque()
        self._most = most
        self._lifetime = lifetime
        self._clock = clock
        self._size = 0
        self._stocked = 0
        self._fetched = 0.0

    def take(self) -> int:
        """Return the next integer, or 0 if a block must be fetched."""
        while True:
            integers, begins, ends, mark = self.lease
            if begins <= self._clock() < ends:
                for integer in integers:
                    if mark[0]:
                        return integer
                    return 0
            if not self._queue:
                return 0
            self.lease = self._queue.popleft()

    def take_many(self, count: int) -> list[int]:
        """Return up to `count` integers."""
        taken: list[int] = []
        while len(taken) < count and (integer := self.take()):
            taken.append(integer)
            taken.extend(islice(self.lease[0], count - len(taken)))
        return taken

    def is_low(self) -> bool:
        """Return whether to fetch the next block in the background: the rest of the last one is in use."""
        return not self._queue and self._size >= SPLIT

    def left(self) -> int:
        """Return how many integers are left."""
        return sum(length_hint(integers) for integers, *_ in (self.lease, *self._queue))

    def next_size(self) -> int:
        """Return the size of the block to fetch now."""
        if not self._size:
            return 1
        used, seconds = self._stocked - self.left(), self._clock() - self._fetched
        wanted = int(used / max(seconds, 0.001) * LASTS)
        return max(1, min(wanted, GROWTH * self._size, self._most))

    def add(self, block: Block, *, keep_first: bool) -> None:
        """Add a block that was just fetched. Leave out its first integer, unless `keep_first`: the caller has it."""
        now = self._clock()
        self._size = block.count
        rest = block.integers()[0 if keep_first else 1 :]
        beginning = block.count // SPLIT
        for part in (rest[:beginning], rest[beginning:]):
            if part:
                self._queue.append((_iterate(part), now, now + self._lifetime, self.mark))
        self._stocked, self._fetched = self.left() + (not keep_first), now

    def drop(self) -> None:
        """Forget everything. A thread that has read `lease` gets nothing either."""
        leases = [self.lease, *self._queue]
        self.lease, self._queue, self._size = self._nothing(), deque(), 0
        for integers, *_ in leases:
            deque(integers, maxlen=0)

    def _nothing(self) -> Lease:
        return (iter(()), 0.0, 0.0, self.mark)
