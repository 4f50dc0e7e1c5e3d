"""Statistics of one run for its metrics: what it has read and written, and how fast the regions mint. No I/O."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from .protocol import operations as op
from .protocol.model import Absent, Copy, DeploymentRecord, Item, Register
from .protocol.plan import wanted_items
from .protocol.reconcile import Outcome

T = TypeVar("T", Register, Copy)

WRITES = (op.WriteRegister, op.WriteCopy, op.PlaceItem, op.OpenItem, op.RenewItem, op.FenceItem, op.CloseItem)
"""What repairs something. Raising a ceiling and recording layouts are everyday work."""


class RunStatistics:
    """What a run's operations show, which are carried out in several threads."""

    def __init__(self, stack: str, kind: str) -> None:
        self.stack = stack
        """`<project>-<stack>`."""
        self.kind = kind
        """Who asked for the run: `schedule`, `deployment` or `creation`."""
        self.failed = True
        """Whether it was refused or failed, as long as it hasn't ended well."""
        self.record: DeploymentRecord | None = None
        """As it was last read or written."""
        self.registers: Mapping[str, Register] | None = None
        """As the last scan found them, before anything was done; None without a scan."""
        self.copies: Mapping[str, Copy] = {}
        self.items: dict[str, Mapping[str, Item | Absent] | Absent] = {}
        """Region → its items, as the last scan found them."""
        self.scanned = 0.0
        """When that was, in seconds since 1970."""
        self.ids: dict[str, str | Absent] = {}
        """Region → the id of its counters table."""
        self.home = ""
        self.mirror = ""
        self.outcomes: dict[str, Outcome] = {}
        """How counters stand, as far as the run got."""
        self.repaired: set[str] = set()
        """The counters that were mended after the last change was finished: nobody had asked for it."""
        self._everyday: dict[str, str] = {}

    def lost_tables(self) -> list[str]:
        """Return the tables that were found gone, recreated, restored or without a register's item, as `region table`.

        A region that doesn't answer isn't among them. Nor is the layouts table while it is gone: the run fails then.
        """
        registers = self.registers or {}
        without = {
            region
            for name, register in registers.items()
            for region, known in zip(register.regions, register.ids, strict=True)
            if known is not None and region in self.items and self._is_lost(region, known, name)
        }
        lost = [f"{region} counters" for region in self.items if region in without]
        put_back = {name for name, copy in self.copies.items() if copy.mirror == self.mirror} - registers.keys()
        if put_back or any(register.home != self.home for register in registers.values()):
            lost.append("home layouts")
        emptied = bool(registers) and not self.copies and self.record is not None and self.record.report != "{}"
        if emptied or any(copy.mirror != self.mirror for copy in self.copies.values()):
            lost.append("home mirror")
        return lost

    def _is_lost(self, region: str, known: str, name: str) -> bool:
        items, id_ = self.items[region], self.ids.get(region)
        if items is Absent.UNREACHABLE or id_ is Absent.UNREACHABLE:
            return False
        return isinstance(items, Absent) or id_ != known or name not in items

    def keep(self, operation: op.Operation, answer: Any) -> None:
        """Keep what an operation and its answer show."""
        match operation:
            case op.ReadRecord():
                self.record = answer
            case op.WriteRecord(_, new) if answer is True:
                self.record = new
            case op.ScanRegisters():
                self.registers = _readable(answer, Register)
            case op.ScanCopies():
                self.copies = _readable(answer, Copy)
            case op.ScanItems(region):
                self.items[region], self.scanned = answer, time.time()
            case op.DescribeTable(region):
                self.ids[region] = answer
            case op.DescribeLayouts():
                self.home = answer
            case op.DescribeMirror():
                self.mirror = answer
            case _ if isinstance(operation, WRITES) and answer is not False and not isinstance(answer, Absent):
                self._count(operation)
            case _:
                pass

    def _count(self, write: op.Operation) -> None:
        if self.record is None or not self.record.reconciled:
            return  # it was asked for
        counter: str = write.new.register.counter if isinstance(write, op.WriteCopy) else _counter(write)
        if isinstance(write, op.WriteRegister) and counter not in self._everyday:
            phase = phase_of(write.old, write.new)
            if phase == "granted" or (phase == "created" and counter not in self.copies):
                self._everyday[counter] = phase
        known = self._everyday.get(counter)
        granting = known == "granted" and isinstance(write, op.WriteRegister | op.WriteCopy)
        if known != "created" and not granting:
            self.repaired.add(counter)


def phase_of(old: Register | None, new: Register) -> str:
    """Return what the write of a register was: created, put back, begun, joined or granted."""
    if old is None or old.home != new.home:
        return "created" if new.epoch == 1 and old is None else "put back"
    if new.epoch > old.epoch:
        return "begun"
    return "joined" if new.ids != old.ids else "granted"


def _counter(write: op.Operation) -> str:
    return write.new.counter if isinstance(write, op.WriteRegister) else getattr(write, "counter", "")


def _readable(found: Mapping[str, T | Absent], kind: type[T]) -> dict[str, T]:
    return {name: what for name, what in found.items() if isinstance(what, kind)}


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
            rate = _rate(region, register, first[region], item, before, now)
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
    region: str, register: Register, first: Item, item: Item, before: Positions | None, now: float
) -> float | None:
    """Return a counter's integers per second in one region; None if it was seen for too short a time.

    It is measured since the run that is remembered, or else since the limit was granted: then it is an average, and
    a region that is behind the others seems slower than it is.
    """
    start, seconds = first.issued, now - (before.at if before is not None else now)
    if before is not None and seconds >= LEAST_SECONDS:
        epoch, issued = before.issued.get((region, register.counter), (0, 0))
        start = issued if epoch == item.epoch else start
    else:
        seconds = now - register.granted
        if seconds < LEAST_SECONDS:
            return None
        granted_at = register.limit - register.window * len(register.regions)
        start += max(granted_at - start, 0) // item.stride * item.stride
    return max(item.issued - start, 0) / item.stride / seconds


def _left(item: Item, after: Item) -> float:
    """Return how many integers the region may mint after the run, if `after` is what the register gives it."""
    if after.epoch != item.epoch:
        return (after.ceiling - after.issued) / after.stride
    return (max(item.ceiling, after.ceiling) - item.issued) / item.stride
