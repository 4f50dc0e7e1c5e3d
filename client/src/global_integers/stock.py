"""What a process has leased of one counter, how much it leases next, and who waits for it. No I/O.

Blocks are handed out integer by integer. The next block is fetched once a tenth of the present one is used (the
double buffer of Meituan's Leaf), so the caller doesn't wait at its end. The size of a block follows demand: it lasts
two seconds at the present rate, and is at most four times the block before. So an idle process fetches single
integers, and little is left over when a process ends.

A caller that finds nothing waits for a block that is being fetched. If more callers wait than a block may have
integers, several are fetched at the same time: so leases are never slower than requests for single integers. A block is
shared out evenly among those who wait for it, the longest-waiting first: otherwise, the first thread that runs would
take all of it before another one does.
"""

import random
import sys
import sysconfig
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Hashable, Iterator
from itertools import islice
from operator import length_hint
from typing import Protocol

from .answers import Block
from .forks import Mark, here

LASTS = 2.0
"""Seconds for which a block should last."""

GROWTH = 4
"""The largest size of a block, as a multiple of the block before."""

SPLIT = 10
"""A block of at least so many integers is split after a tenth. When the rest comes into use, the next is fetched."""

UNUSED = 0.25
"""Seconds after which others may use a share that its caller doesn't use, such as that of a thread that ended."""

Lease = tuple[Iterator[int], float, float, Mark]
"""Integers, the clock times between which they may be handed out, and the mark of the process that may.

A tuple, so that all are replaced at once. The mark is looked at after an integer was taken.
"""


class Waiter(Protocol):
    """A caller that waits for a block."""

    share: Lease | None
    """Its part of the block. None: no integer comes, and it should try again."""

    def wake(self) -> None:
        """End its waiting."""
        ...


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
        self._shares: deque[Lease] = deque()
        """The shares of callers that have waited, the oldest first."""
        self._waiting: deque[Waiter] = deque()
        self._fetching: Counter[Hashable] = Counter()
        """Who fetches how many blocks."""
        self._coming = 0
        """The integers of these blocks, without those for who fetches them."""
        self._crowd = 0
        """How many have just been woken to try again."""
        self._size = 0
        self._stocked = 0
        self._fetched = 0.0

    def take(self, share: Lease | None = None) -> int:
        """Return the next integer, of the caller's share or else for everyone; 0 if there is none."""
        if share is not None and (integer := self._first_of(share)):
            return integer
        while not (integer := self._first_of(self.lease)) and self._queue:
            self.lease = self._queue.popleft()
        return integer

    def _first_of(self, lease: Lease) -> int:
        integers, begins, ends, mark = lease
        if begins <= self._clock() < ends:
            for integer in integers:
                return integer if mark[0] else 0
        return 0

    def take_many(self, count: int) -> list[int]:
        """Return up to `count` integers."""
        taken: list[int] = []
        while len(taken) < count and (integer := self.take()):
            taken.append(integer)
            taken.extend(islice(self.lease[0], count - len(taken)))
        return taken

    def is_low(self) -> bool:
        """Return whether to fetch the next block in the background: the rest of the last one is in use."""
        return not self._queue and not self._coming and self._size >= SPLIT

    def left(self) -> int:
        """Return how many integers are left."""
        return sum(length_hint(integers) for integers, *_ in (self.lease, *self._queue, *self._shares))

    def next_size(self) -> int:
        """Return the size of the block to fetch now."""
        if not self._size:
            return max(1, min(self._crowd, self._most))
        used, seconds = self._stocked - self.left(), self._clock() - self._fetched
        wanted = int(used / max(seconds, 0.001) * LASTS)
        return max(1, min(max(min(wanted, GROWTH * self._size), self._crowd), self._most))

    def unused(self) -> Lease | None:
        """Return the oldest share that its caller doesn't use, or None. It is another caller's from now on."""
        while self._shares:
            integers, begins, *_ = self._shares[0]
            if length_hint(integers):
                return self._shares.popleft() if self._clock() >= begins + UNUSED else None
            self._shares.popleft()
        return None

    def claim(self, who: Hashable, waiter: Waiter) -> int:
        """Let a caller wait, or return the size of the block that it must fetch (`ended` is called afterwards).

        Args:
            who: the thread or task. One that fetches already can't wait for itself, as a signal handler would.
            waiter: gets the share of who waits.
        """
        if who not in self._fetching:
            covered = self._coming > len(self._waiting)
            if covered or (self._fetching and self.next_size() < self._most):  # the next block may be large enough
                self._waiting.append(waiter)
                return 0
        return self.begun(who, own=1)

    def begun(self, who: Hashable, *, own: int) -> int:
        """Note that somebody fetches a block, of which so many integers (0 or 1) are its own. Return its size."""
        size = self.next_size()
        self._crowd = 0
        self._fetching[who] += 1
        self._coming += size - own
        return size

    def ended(self, who: Hashable, size: int, block: Block | None, *, own: int) -> Lease | None:
        """Share out a block that was fetched; None if that failed.

        Args:
            who: who has fetched it.
            size: what `claim` or `begun` returned.
            block: the block, which may be smaller.
            own: as for `begun`.

        Returns:
            The fetcher's share, if it has one.
        """
        self._coming -= size - own
        self._fetching -= Counter([who])
        share = self._shared_out(block, own) if block is not None else None
        if not self._fetching or self.next_size() == self._most:
            self._crowd = max(len(self._waiting) - self._coming, 0)
            for _ in range(self._crowd):  # no block that comes has an integer for the oldest: they try again
                self._waiting.popleft().wake()
        return share

    def leave(self, waiter: Waiter) -> None:
        """Let a caller wait no longer."""
        if waiter in self._waiting:
            self._waiting.remove(waiter)

    def add(self, block: Block) -> None:
        """Add a block that nobody waits for."""
        self.ended(None, self.begun(None, own=0), block, own=0)

    def _shared_out(self, block: Block, own: int) -> Lease | None:
        now = self._clock()
        waiting = [self._waiting.popleft() for _ in range(min(len(self._waiting), block.count - own))]
        callers = len(waiting) + own
        sizes = [1] * callers  # what nobody else waits for is for everyone
        if callers > 1:
            each, more = divmod(block.count, callers)
            lucky = random.sample(range(callers), more)  # in turn, the same threads would always get more
            sizes = [each + (caller in lucky) for caller in range(callers)]
        integers, shares = block.integers(), list[Lease]()
        for size in sizes:
            shares.append((_iterate(integers[:size]), now, now + self._lifetime, self.mark))
            integers = integers[size:]
        for waiter, share in zip(waiting, shares[own:], strict=True):
            waiter.share = share
            waiter.wake()
        self._shares += shares if callers > 1 else []
        beginning = len(integers) // SPLIT if block.count >= SPLIT else 0
        for part in (integers[:beginning], integers[beginning:]):
            if part:
                self._queue.append((_iterate(part), now, now + self._lifetime, self.mark))
        self._size = block.count
        self._stocked, self._fetched = self.left() + (callers == 1), now
        return shares[0] if own else None

    def drop(self) -> None:
        """Forget everything. A thread that has read `lease` gets nothing either."""
        leases = [self.lease, *self._queue, *self._shares]
        self.lease, self._queue, self._shares, self._size = self._nothing(), deque(), deque(), 0
        for integers, *_ in leases:
            deque(integers, maxlen=0)

    def _nothing(self) -> Lease:
        return (iter(()), 0.0, 0.0, self.mark)
