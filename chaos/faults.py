"""Which faults a call meets: a choice by chance, and what the regions suffer that events have chosen."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from threading import Lock
from typing import NamedTuple

from .calls import Call

CUTS, THROTTLES, DELAYS = 0.01, 0.02, 0.02
"""The share of calls that lose their answer, are throttled or are delayed."""

LATE = 1.5
"""Seconds of the longest delay: longer than the minting function waits, so its retry overtakes the first attempt."""


STATUSES = (503, 503, 503, 500, 502)
"""How an outage answers: mostly with 503."""

THROTTLED = ("ProvisionedThroughputExceededException", "ThrottlingException")
"""How DynamoDB throttles (DynamoDB guide, "Diagnosing throttling")."""


class Fate(NamedTuple):
    """What happens to one call, in this order."""

    unreachable: bool = False
    """It never arrives."""
    status: int = 0
    """It is answered with this status instead, by whatever stands before DynamoDB."""
    delay: float = 0
    """Seconds before it is carried out, even if its caller has given up by then."""
    throttled: str = ""
    """It is refused with this error and not carried out."""
    cut: bool = False
    """It is carried out, and the connection ends before the answer."""


@dataclass
class Faults:
    """The faults that are on. Several threads may ask and change them."""

    random: Random
    cuts: float = CUTS
    throttles: float = THROTTLES
    delays: float = DELAYS
    unreachable: set[str] = field(default_factory=set[str])
    """Regions that are cut off: no call reaches them, wherever it comes from."""
    silent: bool = True
    """Whether callers of an unreachable region hear nothing until they give up, or lose the connection at once."""
    out: set[str] = field(default_factory=set[str])
    """Regions whose DynamoDB answers every call with an error page."""
    hot: set[tuple[str, str]] = field(default_factory=set[tuple[str, str]])
    """Regions and counters whose item is throttled whenever the coordinator writes it."""
    slow: dict[str, float] = field(default_factory=dict[str, float])
    """Region → seconds that each of the coordinator's other writes to its counters takes longer."""
    calm: bool = False
    """Whether nothing happens by chance."""
    _lock: Lock = field(default_factory=Lock)

    def fate(self, call: Call) -> Fate:
        """Choose what happens to a call."""
        if call.region in self.unreachable:
            return Fate(unreachable=True)
        with self._lock:
            cut, throttled, delayed = (1.0 if self.calm else self.random.random() for _ in range(3))
            delay = self.random.uniform(0, LATE)
            status, error = self.random.choice(STATUSES), self.random.choice(THROTTLED)
        if call.region in self.out:
            return Fate(status=status)
        if call.coordinates and (call.region, call.key) in self.hot:
            return Fate(throttled=error)
        slow = self.slow.get(call.region, 0.0) if call.coordinates else 0.0
        return Fate(
            delay=max(slow, delay if delayed < self.delays else 0),
            throttled=THROTTLED[0] if throttled < self.throttles else "",
            cut=cut < self.cuts and call.writes,
        )

    def off(self) -> None:
        """Let every call through from now on."""
        self.cuts = self.throttles = self.delays = 0
        for chosen in (self.unreachable, self.out, self.hot, self.slow):
            chosen.clear()

    async def unheard(self, region: str, caller: asyncio.StreamReader) -> None:
        """Wait like a caller of an unreachable region: until the caller gives up, or the region is back."""
        while self.silent and region in self.unreachable and not caller.at_eof():
            await asyncio.sleep(0.05)
