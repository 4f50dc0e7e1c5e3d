"""Which faults a call meets: a choice by chance, and the regions that are cut off."""

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


class Fate(NamedTuple):
    """What happens to one call, in this order."""

    unreachable: bool = False
    """It never arrives."""
    delay: float = 0
    """Seconds before it is carried out, even if its caller has given up by then."""
    throttled: bool = False
    """It is refused and not carried out."""
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
    _lock: Lock = field(default_factory=Lock)

    def fate(self, call: Call) -> Fate:
        """Choose what happens to a call."""
        if call.region in self.unreachable:
            return Fate(unreachable=True)
        with self._lock:
            cut, throttled, delayed = (self.random.random() for _ in range(3))
            delay = self.random.uniform(0, LATE)
        return Fate(
            delay=delay if delayed < self.delays else 0,
            throttled=throttled < self.throttles,
            cut=cut < self.cuts and call.writes,
        )

    def off(self) -> None:
        """Let every call through from now on."""
        self.cuts = self.throttles = self.delays = 0
        self.unreachable.clear()

    async def unheard(self, region: str, caller: asyncio.StreamReader) -> None:
        """Wait like a caller of an unreachable region: until the caller gives up, or the region is back."""
        while self.silent and region in self.unreachable and not caller.at_eof():
            await asyncio.sleep(0.05)
