"""What a process has leased of one counter, how much it leases next, and who waits for it. No I/O.

Blocks are handed out integer by integer. The next block is fetched once a tenth of the present one is used (the
double buffer of Meituan's Leaf), so callers seldom wait at its end. The size of a block follows demand: it lasts
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
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from operator import length_hint
from typing import Protocol
from weakref import WeakSet

from .api import MintedBlock
from .forks import Mark, here, make_lock

LASTS = 2.0
"""Seconds for which a block should last."""

GROWTH = 4
"""The largest size of a block, as a multiple of the block before."""

SPLIT = 10
"""A block of at least so many integers is split after a tenth. When the rest comes into use, the next is fetched."""

UNUSED = 0.25
"""Seconds after which a share that still has integers is open to other callers: its own thread may have ended."""


class Signal(Protocol):
    """What a call waits for, and another one gives."""

    def wake(self) -> None:
        """Let the call go on. Further calls have no effect."""
        ...

    async def wait(self, seconds: float) -> bool:
        """Wait up to so many seconds. Return whether the signal was given."""
        ...


Lease = tuple[Iterator[int], float, float, Mark]
"""Integers, the clock times between which they may be handed out, and the mark of the process that may.

A tuple, so that all are replaced at once. The mark is looked at after an integer was taken.
"""


def first_of(lease: Lease, now: float) -> int:
    """Take the next integer of a lease; 0: there is none, or this is a forked child, and its parent has it."""
    integers, begins, ends, mark = lease
    if begins <= now < ends:
        for integer in integers:
            return integer if mark[0] else 0
    return 0


@dataclass(eq=False)
class FetchTurn:
    """A call's turn to get the next integer: it gets one at once, fetches a block, or waits for one.

    Attributes:
        caller: the number of the thread or task.
        integer: what it got; 0: nothing.
        size: of the block that it must fetch; 0: none.
        waits: whether it must wait for its signal and then try again: what it gets a share of may be dropped meanwhile.
        own: how many integers of a block it wants for itself: 1, or 0 if it fetches ahead.
        alone: whether the buffer doesn't note it: it is of a signal handler that interrupted its thread in the buffer.
    """

    caller: int
    signal: Signal
    integer: int = 0
    size: int = 0
    waits: bool = False
    own: int = 1
    alone: bool = False


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


class LeaseBuffer:
    """The leased blocks of one counter, the oldest first. Its methods may be called from any thread.

    Integers may be taken from `lease` and `shares` at any time: one step of a range's iterator is atomic.

    Attributes:
        lease: integers for every caller.
        shares: integers for the callers that have waited for a block, the oldest share first.
    """

    def __init__(self, most: int, lifetime: float, clock: Callable[[], float] = time.time) -> None:
        """Start with nothing. The largest block is of `most`. What is left of one is dropped after `lifetime` seconds.

        The clock must go on while the machine sleeps. If it is set back, blocks may be dropped.
        """
        self.mark = here()
        self.thread = 0
        """Where it was last used. Tasks compare it: that takes a tenth of the time of asking for their event loop."""
        self.lease: Lease = (iter(()), 0.0, 0.0, self.mark)
        self.shares: dict[int, Lease] = {}
        self._queue: deque[Lease] = deque()
        self._largest = self._most = most
        self._lifetime = lifetime
        self._clock = clock
        self._lock = make_lock()  # a signal handler may come here while its thread is here
        self._waiting: deque[FetchTurn] = deque()
        self._fetching: WeakSet[FetchTurn] = WeakSet()
        """Weak: if a call is interrupted before `end`, its turn goes with it."""
        self._crowd = 0
        """How many have just been woken to try again."""
        self._size = 0
        self._left_then = 0
        self._fetched = 0.0

    def limit(self, most: int) -> None:
        """Fetch no larger blocks than `most`, which is what a request may ask for now."""
        self._most = min(self._largest, most)

    def begin(self, turn: FetchTurn) -> None:
        """Give a turn an integer, or a block to fetch (`size`), or let it wait. `end` must be called afterwards.

        A turn of a forked child gets nothing, and must try again with a buffer of its own.
        """
        if not self.mark[0]:  # in a forked child, the lock may be that of a thread which isn't there
            return
        if self._is_inside():
            turn.alone, turn.size = True, 1
            return
        with self._lock:
            turn.integer = self._take(turn.caller) or self._take_unused(turn.caller)
            if not turn.integer and self._must_fetch(turn):
                self._fetch(turn)
            elif not turn.integer:
                turn.waits = True
                self._waiting.append(turn)

    def begin_ahead(self, turn: FetchTurn) -> None:
        """Give a turn a block to fetch for others, if one is needed soon. `end` must be called afterwards."""
        with self._lock:
            turn.own = 0
            if self.is_low:
                self._fetch(turn)

    def add(self, block: MintedBlock, turn: FetchTurn) -> None:
        """Share out the block that a turn has fetched, which may be smaller than it should be."""
        if turn.alone or not self.mark[0]:
            turn.integer = block.first
            return
        with self._lock:
            self._share_out(block, turn)
            self._fetched_by(turn)

    def end(self, turn: FetchTurn) -> None:
        """Let a turn no longer wait or fetch, whatever has become of it."""
        if not turn.alone and self.mark[0]:
            with self._lock:
                if turn in self._waiting:
                    self._waiting.remove(turn)
                self._fetched_by(turn)

    def _fetched_by(self, turn: FetchTurn) -> None:
        if turn in self._fetching:
            self._fetching.discard(turn)
            if not self._fetching or self._next_size() == self._most:
                self._crowd = max(len(self._waiting) - self._coming(), 0)
                for _ in range(self._crowd):  # no block that comes has an integer for the oldest: they try again
                    self._waiting[0].signal.wake()
                    self._waiting.popleft()

    def take_many(self, count: int) -> list[int]:
        """Return up to `count` integers."""
        taken: list[int] = []
        if not self.mark[0] or self._is_inside():
            return taken
        with self._lock:
            while len(taken) < count and (integer := self._take()):
                taken.append(integer)
                taken.extend(islice(self.lease[0], count - len(taken)))
        return taken

    @property
    def is_low(self) -> bool:
        """Whether to fetch the next block in the background: the rest of the last one is in use."""
        return not self._queue and self._size >= SPLIT and not self._coming()

    @property
    def left(self) -> int:
        """How many integers are left."""
        return sum(length_hint(integers) for integers, *_ in self._all())

    def drop(self) -> None:
        """Forget everything. A thread that has read `lease` gets nothing either."""
        with self._lock:
            self._size = 0
            for integers, *_ in self._all():
                deque(integers, maxlen=0)

    def _is_inside(self) -> bool:
        """Return whether this thread is in here already: a signal handler has interrupted it."""
        return bool(getattr(self._lock, "_is_owned")())  # noqa: B009 (private, and what threading.Condition uses)

    def _all(self) -> list[Lease]:
        return [self.lease, *self._queue, *self.shares.values()]

    def _take(self, caller: int | None = None) -> int:
        """Return the next integer, of the caller's share or else for everyone; 0 if there is none."""
        share = self.shares.get(caller) if caller is not None else None
        if share is not None and (integer := first_of(share, self._clock())):
            return integer
        while not (integer := first_of(self.lease, self._clock())) and self._queue:
            self.lease = self._queue.popleft()
        return integer

    def _take_unused(self, caller: int) -> int:
        """Give the caller the oldest share that has integers left, if it is older than `UNUSED`. Return its next one.

        The share's own caller may be taking from it, and goes on without it.
        """
        now = self._clock()
        while self.shares:
            owner, (integers, begins, ends, mark) = next(iter(self.shares.items()))
            lasts = now < ends and length_hint(integers) > 0
            if lasts and now < begins + UNUSED:
                break
            del self.shares[owner]
            if lasts:
                self.shares[caller] = (integers, now, ends, mark)
                return self._take(caller)
        return 0

    def _must_fetch(self, turn: FetchTurn) -> bool:
        """Return whether a turn fetches a block of its own instead of waiting."""
        if any(other.caller == turn.caller for other in self._fetching):
            return True  # it can't wait for itself, as in a signal handler
        if self._coming() > len(self._waiting):
            return False
        return not self._fetching or self._next_size() == self._most  # else the next block may be large enough

    def _fetch(self, turn: FetchTurn) -> None:
        turn.size = self._next_size()
        self._crowd = 0
        self._fetching.add(turn)

    def _coming(self) -> int:
        """Return how many integers are being fetched, without those for who fetches them."""
        return sum(turn.size - turn.own for turn in self._fetching)

    def _next_size(self) -> int:
        if not self._size:
            return max(1, min(self._crowd, self._most))
        used, seconds = self._left_then - self.left, self._clock() - self._fetched
        wanted = int(used / max(seconds, 0.001) * LASTS)
        return max(1, min(max(min(wanted, GROWTH * self._size), self._crowd), self._most))

    def _share_out(self, block: MintedBlock, turn: FetchTurn) -> None:
        """Give a block to the turn that has fetched it and to those that wait for it, or else to everyone."""
        now = self._clock()
        waiting = list(islice(self._waiting, block.count - turn.own))
        turns = [turn, *waiting] if turn.own else waiting
        sizes = [1] * len(turns)  # what nobody else waits for is for everyone
        if len(turns) > 1:
            each, more = divmod(block.count, len(turns))
            lucky = random.sample(range(len(turns)), more)  # in turn, the same threads would always get more
            sizes = [each + (number in lucky) for number in range(len(turns))]
        integers = block.integers()
        for each_turn, size in zip(turns, sizes, strict=True):
            share, integers = integers[:size], integers[size:]
            if each_turn is turn:
                turn.integer, share = share[0], share[1:]
            if share:
                self.shares.pop(each_turn.caller, None)  # it comes last, as the newest
                self.shares[each_turn.caller] = self._lease(share, now)
        beginning = len(integers) // SPLIT if block.count >= SPLIT else 0
        self._queue += [self._lease(part, now) for part in (integers[:beginning], integers[beginning:]) if part]
        self._size = block.count
        self._left_then, self._fetched = self.left + turn.own, now
        for woken in waiting:
            woken.signal.wake()
            self._waiting.popleft()

    def _lease(self, integers: range, now: float) -> Lease:
        return _iterate(integers), now, now + self._lifetime, self.mark
