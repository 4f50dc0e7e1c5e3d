"""The book of a run: every integer that was handed out, to whom, and which of them may have been handed out twice."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

from .calls import Write


class Mint(NamedTuple):
    """One request that got integers."""

    region: str
    door: str
    counter: str
    integers: tuple[int, ...]
    block: bool
    began: float
    ended: float
    """The clock's seconds."""


class Duplicate(NamedTuple):
    """An integer that several requests got."""

    counter: str
    integer: int
    mints: tuple[Mint, ...]


class Gaps(NamedTuple):
    """Integers that nobody got, between some that somebody got."""

    largest: int
    skipped: int


@dataclass
class Restoration:
    """A table that was restored, until the end of the coordinator's next run that began afterwards."""

    region: str
    began: float
    ended: float = float("inf")

    @property
    def open(self) -> bool:
        """Whether no run has dealt with it yet."""
        return self.ended == float("inf")

    def has(self, write: Write) -> bool:
        """Return whether the write may have been made to the restored table in that time."""
        return write.region == self.region and write.ended >= self.began and write.began <= self.ended


@dataclass
class Book:
    """What all clients got. Their threads write into it."""

    mints: list[Mint] = field(default_factory=list[Mint])
    failures: Counter[str] = field(default_factory=Counter[str])
    requests: int = 0
    replays: int = 0
    """Repeated requests that got the integers of the first one."""
    contradictions: list[str] = field(default_factory=list[str])
    """Idempotency-Keys that got two different answers."""
    restorations: list[Restoration] = field(default_factory=list[Restoration])
    single: int = 0
    in_blocks: int = 0
    _lock: Lock = field(default_factory=Lock)

    @property
    def integers(self) -> int:
        """How many integers were handed out."""
        return self.single + self.in_blocks

    def got(self, mint: Mint) -> None:
        """Record a request that got new integers."""
        with self._lock:
            self.requests += 1
            self.mints.append(mint)
            if mint.block:
                self.in_blocks += len(mint.integers)
            else:
                self.single += len(mint.integers)

    def replayed(self, key: str, first: Sequence[int], again: Sequence[int]) -> None:
        """Record a request that repeated a key, and what both got."""
        with self._lock:
            self.requests += 1
            self.replays += 1
            if tuple(first) != tuple(again):
                self.contradictions.append(f"Idempotency-Key {key}: {list(first)}, then {list(again)}")

    def failed(self, kind: str) -> None:
        """Record a request without integers."""
        with self._lock:
            self.requests += 1
            self.failures[kind] += 1

    def excepted(self, writes: Iterable[Write]) -> Counter[tuple[str, int]]:
        """Return how often each integer was minted in a restored table that no run had dealt with yet."""
        found: Counter[tuple[str, int]] = Counter()
        for write in writes:
            if any(restoration.has(write) for restoration in self.restorations):
                found.update((write.counter, integer) for integer in write.integers())
        return found

    def repeated(self) -> list[Duplicate]:
        """Return every integer that several requests got."""
        holders: dict[tuple[str, int], list[Mint]] = defaultdict(list)
        for mint in self.mints:
            for integer in mint.integers:
                holders[mint.counter, integer].append(mint)
        return [Duplicate(*name, tuple(mints)) for name, mints in holders.items() if len(mints) > 1]

    def duplicates(self, excepted: Counter[tuple[str, int]]) -> list[Duplicate]:
        """Return every integer that more requests got than writes to restored tables explain."""
        return [found for found in self.repeated() if len(found.mints) > 1 + excepted[found.counter, found.integer]]

    def gaps(self) -> Gaps:
        """Return the gaps of all counters."""
        handed_out: dict[str, set[int]] = defaultdict(set)
        for mint in self.mints:
            handed_out[mint.counter].update(mint.integers)
        sizes = [
            following - integer - 1
            for integers in handed_out.values()
            for integer, following in pairwise(sorted({0, *integers}))
        ]
        return Gaps(max(sizes, default=0), sum(sizes))
