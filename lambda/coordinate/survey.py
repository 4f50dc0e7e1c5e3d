"""Compares the tables with what was asked for, by one scan of each table, whatever the number of counters.

Like `protocol.py`, it decides and does no I/O.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .model import Absent, Copy, Item, Record, Register
from .operations import (
    DescribeLayouts,
    DescribeMirror,
    DescribeTable,
    ScanCopies,
    ScanItems,
    ScanRegisters,
)
from .plan import Settled, plan
from .protocol import Outcome
from .reading import Steps


@dataclass(frozen=True, slots=True)
class Survey:
    """What one look at all tables has shown."""

    settled: Mapping[str, Outcome]
    """The counters for which nothing is left to do."""
    unsettled: tuple[str, ...]
    """All others: first those that some region can't mint now, then those whose limit was set longest ago."""
    unknown: Mapping[str, tuple[str, ...]]
    """Counters that no register knows, and the regions that have an item of them. Without a floor, they are never
    begun again."""
    mirror: str
    """The id of the mirror in which the copies were found."""


def survey(record: Record, now: int) -> Steps[Survey]:
    """Look at all registers and all items.

    Args:
        record: what was asked for.
        now: seconds since 1970.
    """
    registers, copies = yield [ScanRegisters(), ScanCopies()]
    home, mirror = yield [DescribeLayouts(), DescribeMirror()]
    regions = list(dict.fromkeys([*record.wish.regions, *record.wish.leaving, *_all_regions(registers)]))
    scans = dict(zip(regions, (yield [ScanItems(region) for region in regions]), strict=True))
    ids = dict(zip(regions, (yield [DescribeTable(region) for region in regions]), strict=True))
    settled: dict[str, Outcome] = {}
    urgent: list[str] = []
    rest: list[str] = []
    names = dict.fromkeys([*record.wish.counters, *copies, *registers])
    for name in names:
        register: Register | None = registers.get(name)
        if register is None or register.home != home or copies.get(name) != Copy(register, mirror):
            urgent.append(name)
            continue
        items = {region: found if isinstance(found, Absent) else found.get(name) for region, found in scans.items()}
        step = plan(register, record, items, ids, now)
        if isinstance(step, Settled):
            settled[name] = Outcome(register, step.pending)
        else:
            (rest if all(_mints(items[region], register) for region in register.regions) else urgent).append(name)
    rest.sort(key=lambda name: registers[name].granted)
    unknown = _unknown(scans, names)
    again = [name for name in unknown if record.wish.floor(name)]  # a floor says what was minted
    unsettled = (*urgent, *rest, *again)
    return Survey(settled, unsettled, {name: unknown[name] for name in unknown if name not in again}, mirror)


def _all_regions(registers: Mapping[str, Register]) -> list[str]:
    return [region for register in registers.values() for region in register.regions]


def _mints(item: Item | Absent | None, register: Register) -> bool:
    if isinstance(item, Absent):
        return True  # nothing can be done there now
    return item is not None and item.epoch == register.epoch and not item.fenced


def _unknown(scans: Mapping[str, Any], names: Mapping[str, None]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for region, items in scans.items():
        for counter in () if isinstance(items, Absent) else items:
            if counter not in names:
                found[counter] = (*found.get(counter, ()), region)
    return found
