"""How fast regions mint, and how long their ceilings last: from the positions of items. Pure arithmetic."""

from collections.abc import Mapping
from dataclasses import dataclass

from .model import Absent, Item, Register
from .plan import wanted_items
from .protocol import Outcome

LEAST_SECONDS = 30
"""A rate is measured over at least this time. What was minted in one second says little of the next hour."""

MOST_HOURS = 10_000.0
"""What is said of a ceiling that lasts this long, or for ever: more than a year."""


@dataclass(frozen=True, slots=True)
class Positions:
    """What every region had issued of every counter when a run looked."""

    at: float
    """Seconds since 1970."""
    issued: Mapping[tuple[str, str], tuple[int, int]]
    """(Region, counter) → the epoch, and the last integer issued."""


@dataclass(frozen=True, slots=True)
class Pace:
    """One region, all counters together."""

    per_second: float
    """Integers per second."""
    hours: float
    """Until the first counter reaches its ceiling at its present rate, 0 to `MOST_HOURS`."""


def positions(items: Mapping[str, Mapping[str, Item | Absent] | Absent], at: float) -> Positions:
    """Return the positions of items that were scanned at this time (seconds since 1970)."""
    return Positions(
        at,
        {
            (region, counter): (item.epoch, item.issued)
            for region, found in items.items()
            if not isinstance(found, Absent)
            for counter, item in found.items()
            if isinstance(item, Item)
        },
    )


def paces(
    registers: Mapping[str, Register],
    items: Mapping[str, Mapping[str, Item | Absent] | Absent],
    outcomes: Mapping[str, Outcome],
    before: Positions | None,
    now: float,
) -> dict[str, Pace]:
    """Return the pace of each region that answered and of which a rate is known.

    Args:
        registers: as they were scanned with the items.
        items: region → its items.
        outcomes: how the counters stand after the run, as far as it got.
        before: what an earlier run of the same process saw, if there was one.
        now: when the items were scanned, in seconds since 1970.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for counter, register in registers.items():
        first = wanted_items(register)
        outcome = outcomes.get(counter, Outcome(register, register.regions))
        after = first if outcome.register is register else wanted_items(outcome.register)
        for region in register.regions:
            there = items.get(region)
            item = there.get(counter) if there is not None and not isinstance(there, Absent) else None
            if not isinstance(item, Item) or item.epoch != register.epoch or item.opening is not None:
                continue
            known = before.issued.get((region, counter)) if before is not None else None
            rate = _rate(register, first[region], item, (before.at, known) if before is not None else None, now)
            if rate is None:
                continue
            pending = region in outcome.pending
            left = _left(item, item if pending or region not in after else after[region])
            found.setdefault(region, []).append((rate, min(left / rate / 3600, MOST_HOURS) if rate else MOST_HOURS))
    return {
        region: Pace(sum(rate for rate, _ in counters), min(hours for _, hours in counters))
        for region, counters in found.items()
    }


def _rate(
    register: Register, first: Item, item: Item, before: tuple[float, tuple[int, int] | None] | None, now: float
) -> float | None:
    """Return a counter's integers per second in one region; None if it was seen for too short a time.

    It is measured since the run that is remembered, or else since the limit was granted: then it is an average, and
    a region that is behind the others seems slower than it is.
    """
    if before is not None and now - before[0] >= LEAST_SECONDS:
        at, known = before
        start = known[1] if known is not None and known[0] == item.epoch else first.issued
        return max(item.issued - start, 0) / item.stride / (now - at)
    seconds = now - register.granted
    if seconds < LEAST_SECONDS:
        return None
    granted_at = register.limit - register.window * len(register.regions)
    start = first.issued + max(granted_at - first.issued, 0) // item.stride * item.stride
    return max(item.issued - start, 0) / item.stride / seconds


def _left(item: Item, after: Item) -> float:
    """Return how many integers the region may mint after the run, if `after` is what the register gives it."""
    if after.epoch != item.epoch:
        return (after.ceiling - after.issued) / after.stride
    return (max(item.ceiling, after.ceiling) - item.issued) / item.stride
