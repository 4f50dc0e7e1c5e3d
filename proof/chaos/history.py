"""The record of a run: every integer that was handed out, to whom, and which of them may have been handed out twice."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from threading import Lock
from typing import NamedTuple

from .proxy import Write


class RecordedMint(NamedTuple):
    """One request that got integers."""

    region: str
    entry: str
    counter: str
    integers: Sequence[int]
    began: float
    ended: float
    """The clock's seconds."""


class Duplicate(NamedTuple):
    """An integer that several requests got."""

    counter: str
    integer: int
    mints: tuple[RecordedMint, ...]

    def __str__(self) -> str:
        mints = (f"{mint.region} by {mint.entry} at {mint.began:.3f}-{mint.ended:.3f}" for mint in self.mints)
        return f"{self.counter} {self.integer}: {'; '.join(mints)}"


@dataclass
class Restoration:
    """A table that was restored, until the end of the coordinator's next run that began afterwards."""

    region: str
    began: float
    ended: float = float("inf")

    def has(self, write: Write) -> bool:
        """Return whether the write may have been made to the restored table in that time."""
        return write.region == self.region and write.ended >= self.began and write.began <= self.ended


@dataclass
class History:
    """What all clients got. Their threads write into it."""

    mints: list[RecordedMint] = field(default_factory=list[RecordedMint])
    """Requests that got new integers."""
    failures: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter[str]))
    """Requests without integers, by region and then by kind of failure."""
    replays: int = 0
    """Repeated requests that got the integers of the first one."""
    contradictions: list[str] = field(default_factory=list[str])
    """Idempotency-Keys that got two different answers."""
    restorations: list[Restoration] = field(default_factory=list[Restoration])
    _lock: Lock = field(default_factory=Lock)

    @property
    def integers(self) -> int:
        """How many integers were handed out."""
        return sum(len(mint.integers) for mint in self.mints)

    def replayed(self, key: str, first: Sequence[int], again: Sequence[int]) -> None:
        """Record a request that repeated a key, and what both got."""
        with self._lock:
            self.replays += 1
            if tuple(first) != tuple(again):
                self.contradictions.append(f"Idempotency-Key {key}: {list(first)}, then {list(again)}")

    def failed(self, region: str, kind: str) -> None:
        """Record a request without integers."""
        with self._lock:
            self.failures[region][kind] += 1

    def excepted(self, writes: Iterable[Write]) -> Counter[tuple[str, int]]:
        """Return how often each integer was minted in a restored table that no run had dealt with yet."""
        found: Counter[tuple[str, int]] = Counter()
        for write in writes:
            if any(restoration.has(write) for restoration in self.restorations):
                found.update((write.counter, integer) for integer in write.integers)
        return found

    def repeated(self) -> list[Duplicate]:
        """Return every integer that several requests got."""
        holders = defaultdict[tuple[str, int], list[RecordedMint]](list)
        for mint in self.mints:
            for integer in mint.integers:
                holders[mint.counter, integer].append(mint)
        return [Duplicate(*name, tuple(mints)) for name, mints in holders.items() if len(mints) > 1]

    def duplicates(self, excepted: Counter[tuple[str, int]]) -> list[Duplicate]:
        """Return the integers that too many requests got: two, and one more for each write that a restore undid."""
        return [found for found in self.repeated() if len(found.mints) > 1 + excepted[found.counter, found.integer]]

    def pauses(self, region: str) -> tuple[int, float]:
        """Return how many requests got integers in a region, and the longest time between two at one URL, in seconds.

        It is a client's time if each URL has one client.
        """
        ended: dict[str, list[float]] = defaultdict(list)
        for mint in self.mints:
            if mint.region == region:
                ended[mint.entry].append(mint.ended)
        pauses = [following - moment for moments in ended.values() for moment, following in pairwise(moments)]
        return sum(map(len, ended.values())), max(pauses, default=0.0)
