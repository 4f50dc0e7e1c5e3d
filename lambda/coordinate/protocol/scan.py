"""Compares the tables with what was asked for, by one scan of each table, whatever the number of counters.

Like `reconcile.py`, it decides and does no I/O.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from .model import Absent, Copy, DeploymentRecord, Item, Register
from .operations import Clock, DescribeLayouts, DescribeMirror, DescribeTable, ScanCopies, ScanItems, ScanRegisters
from .plan import Items, Reconciled, plan
from .reconcile import Outcome
from .steps import Known, Steps, one


@dataclass(frozen=True, slots=True)
class TablesScan:
    """What one look at all tables has shown."""

    reconciled: Mapping[str, Outcome]
    """The counters for which nothing is left to do."""
    unreconciled: Mapping[str, Known | None]
    """All other counters, with what was found of each; None where the register or its copy must be seen to first. First
    come those that some region can't mint now, then those whose limit was set longest ago."""
    unknown: Mapping[str, tuple[str, ...]]
    """Counters without a register, and the regions that have an item of them. Such a counter is created again only if a
    floor is set for it."""
    stray: Mapping[str, tuple[str, ...]]
    """Keys of what can't be read, and the tables that have it: regions, `layouts`, `mirror`. They stop nobody else."""
    mirror: str
    """The id of the mirror in which the copies were found."""


def scan_tables(record: DeploymentRecord) -> Steps[TablesScan]:
    """Return how all counters stand, from one scan of each table.

    Args:
        record: what was asked for.
    """
    registers, copies = yield [ScanRegisters(), ScanCopies()]
    home, mirror = yield [DescribeLayouts(), DescribeMirror()]
    here = [register for register in registers.values() if isinstance(register, Register)]
    regions = list(dict.fromkeys([*record.desired.regions, *record.desired.leaving, *_regions(here)]))
    scans = dict(zip(regions, (yield [ScanItems(region) for region in regions]), strict=True))
    ids = dict(zip(regions, (yield [DescribeTable(region) for region in regions]), strict=True))
    now = yield from one(Clock())
    reconciled: dict[str, Outcome] = {}
    urgent: dict[str, Known | None] = {}
    rest: dict[str, Known | None] = {}
    names = dict.fromkeys([*record.desired.counters, *copies, *registers])
    stray = _where({"layouts": registers, "mirror": copies, **scans}, lambda _, what: what is Absent.STRAY)
    # What can't be read is a counter's if anything else shows one. Otherwise it is nobody's, and stops nobody.
    for name in stray.keys() - {*record.desired.counters}:
        found = [copies.get(name), registers.get(name), *(_item(scan, name) for scan in scans.values())]
        if all(what is None or isinstance(what, Absent) for what in found):
            names.pop(name, None)
    for name in names:
        register = registers.get(name)
        if not isinstance(register, Register) or register.home != home or copies.get(name) != Copy(register, mirror):
            urgent[name] = None
            continue
        wanted = dict.fromkeys([*register.regions, *record.desired.regions, *record.desired.leaving])
        items: Items = {region: _item(scans[region], name) for region in wanted}
        known = Known(register, items, {region: ids[region] for region in wanted})
        step = plan(register, record, items, ids, now)
        if isinstance(step, Reconciled):
            reconciled[name] = Outcome(register, step.pending)
        else:
            mints = all(_mints(items[region], register) for region in register.regions)
            (rest if mints else urgent)[name] = known
    rest = dict(sorted(rest.items(), key=lambda entry: registers[entry[0]].granted))
    unknown = _where(scans, lambda name, item: isinstance(item, Item) and name not in names)
    again = {name: None for name in unknown if record.desired.floor(name)}  # a floor says what was minted
    unknown = {name: tables for name, tables in unknown.items() if name not in again}
    return TablesScan(reconciled, {**urgent, **rest, **again}, unknown, stray, mirror)


def _regions(registers: Iterable[Register]) -> list[str]:
    return list(dict.fromkeys(region for register in registers for region in register.regions))


def _item(found: Mapping[str, Item | Absent] | Absent, name: str) -> Item | Absent | None:
    return found if isinstance(found, Absent) else found.get(name)


def _mints(item: Item | Absent | None, register: Register) -> bool:
    if isinstance(item, Absent):
        return True  # nothing can be done there now
    return item is not None and item.epoch == register.epoch and not item.fenced


def _where(
    tables: Mapping[str, Mapping[str, Any] | Absent], wanted: Callable[[str, Any], bool]
) -> dict[str, tuple[str, ...]]:
    """Return the keys of what is wanted, and the tables that have it."""
    found: dict[str, tuple[str, ...]] = {}
    for table, items in tables.items():
        for name, item in () if isinstance(items, Absent) else items.items():
            if wanted(name, item):
                found[name] = (*found.get(name, ()), table)
    return found
