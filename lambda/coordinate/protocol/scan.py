"""Compares all counters with what was asked for, by one scan of each table, whatever their number."""

from collections.abc import Mapping
from typing import NamedTuple

from . import operations as op
from .history import unrecorded
from .model import Absent, Claim, Copy, DeploymentRecord, Item, Items, Register, Scanned, item_in, where
from .operations import Observation, Steps, one
from .plan import Gone, Reconciled, plan
from .reconcile import Outcome


class TablesScan(NamedTuple):
    """What one look at all tables has shown, before anything was done."""

    registers: Mapping[str, Register] = {}
    """Those of all counters that aren't deleted."""
    copies: Mapping[str, Copy[Register]] = {}
    items: Mapping[str, Scanned] = {}
    """Region → its items."""
    ids: Mapping[str, str | Absent] = {}
    layouts_id: str = ""
    """The id of the layouts table."""
    mirror_id: str = ""
    """The id of the mirror in which the copies were found."""
    at: int = 0
    """When, in seconds since 1970."""
    reconciled: Mapping[str, Outcome] = {}
    unreconciled: Mapping[str, Observation | None] = {}
    """All other counters, with what was found of each; None where the register or its copy must be seen to first. First
    come those that some region can't mint now, then those whose limit was set longest ago."""
    broken: tuple[str, ...] = ()
    """The counters that some region can't mint, or whose register isn't in its place, though nothing was asked for."""
    stray: Mapping[str, tuple[str, ...]] = {}
    """Keys of what can't be read, and the tables that have it: regions, `layouts`, `mirror`. They stop nobody else."""
    outdated: tuple[str, ...] = ()
    """The regions that have another term of the home region on record, or none."""
    unrecorded: tuple[str, ...] = ()
    """The regions in which the first counter's layouts aren't on record: their receipts table was lost."""


def scan_tables(record: DeploymentRecord) -> Steps[TablesScan]:
    """Return the state of all counters, from one scan of each table."""
    desired = record.desired
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    layouts_id, mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
    readable = {name: each for name, each in registers.items() if isinstance(each, Register)}
    of_registers = (region for register in readable.values() for region in register.regions)
    regions = list(dict.fromkeys([*desired.everywhere, *of_registers]))
    scans = dict(zip(regions, (yield [op.ScanItems(region) for region in regions]), strict=True))
    # The first counter shows whether a region has its records of layouts.
    first = readable.get(desired.counters[0])
    asked = [op.ReadRecorded(region, first.counter) for region in first.regions] if first else []
    answers = yield [*asked, *map(op.DescribeTable, regions), *map(op.ReadHome, desired.everywhere)]
    ids = dict(zip(regions, answers[len(asked) :], strict=False))
    homes = zip(desired.everywhere, answers[len(asked) + len(regions) :], strict=True)
    outdated = tuple(at for at, its in homes if its is None or (isinstance(its, Claim) and its.term != record.term))
    recorded = dict(zip(first.regions if first else (), answers, strict=False))
    now = yield from one(op.Clock())
    tables = {"layouts": registers, "mirror": copies, **scans}
    reconciled: dict[str, Outcome] = {}
    urgent: dict[str, Observation | None] = {}
    rest: dict[str, Observation] = {}
    # What can't be read is a counter's if anything else shows one. Otherwise it is nobody's, and stops nobody.
    shown = where(tables, lambda what: not isinstance(what, Absent))
    for name in dict.fromkeys([*desired.counters, *shown]):
        register = readable.get(name)
        if register is None or register.layouts_id != layouts_id or copies.get(name) != Copy(register, mirror_id):
            urgent[name] = None
            continue
        wanted = dict.fromkeys([*register.regions, *desired.everywhere])
        items: Items = {region: item_in(scans[region], name) for region in wanted}
        observation = Observation(register, items, {region: ids[region] for region in wanted}, now)
        match plan(register, record, items, ids, now):
            case Gone():
                pass
            case Reconciled(pending):
                reconciled[name] = Outcome(register, pending)
            case _ if register.regions and all(_mints(items[region], register) for region in register.regions):
                rest[name] = observation
            case _:
                urgent[name] = observation
    oldest = sorted(rest, key=lambda name: rest[name].register.granted)
    todo: dict[str, Observation | None] = {**urgent, **{name: rest[name] for name in oldest}}
    return TablesScan(
        {name: register for name, register in readable.items() if register.regions},
        {name: copy for name, copy in copies.items() if isinstance(copy, Copy)},
        scans,
        ids,
        layouts_id,
        mirror_id,
        now,
        reconciled,
        todo,
        tuple(urgent) if record.reconciled else (),
        where(tables, lambda what: what is Absent.STRAY),
        outdated,
        unrecorded(first.counter, scans, recorded) if first else (),
    )


def _mints(item: Item | Absent | None, register: Register) -> bool:
    if isinstance(item, Absent):
        return True  # nothing can be done there now
    return item is not None and item.epoch == register.epoch and not item.fenced
