"""Changes the layout of counters while every region that answers goes on minting.

`scan_tables` compares all counters with what was asked for, by one scan of each table, whatever their number. Each
counter that isn't reconciled is then changed by rounds: `inspect`, then `step`, until nothing is left to do.

`reconcile` may stop anywhere and be run again, and several runs may race: the register decides, and all of them carry
out the same change.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from global_integers_core.names import CHECK_COUNTER

from . import operations as op
from .deletion import (
    NOTHING,
    close_items,
    delete_items,
    deleting,
    former,
    is_due,
    put_back,
    remainders,
    remove,
    remove_remainders,
)
from .epochs import (
    adopt,
    apply_register,
    begin_next_epoch,
    check_bounded,
    first_register,
    later_epoch,
    put_closed_items,
)
from .history import unrecorded
from .model import Absent, Copy, Deleted, DeploymentRecord, Item, Items, Refused, Register, Scanned, item_in
from .operations import Observation, Steps, one, read_items
from .plan import Apply, Change, Conflict, End, PutItems, Reconciled, beginning, plan
from .refusals import (
    ahead,
    being_deleted,
    in_settings,
    layouts_lost_meanwhile,
    no_counter,
    no_region,
    stray,
    undeletable,
)

ROUNDS = 100
"""How often a run looks again before it gives up. Each time, another run was faster, or one step was taken."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """The state of a counter: its register, the regions that have yet to follow, and whether this run created it."""

    register: Register
    pending: tuple[str, ...]
    created: bool = False


class NextRound(NamedTuple):
    """What a round hands to the next one. Nothing else of it is remembered."""

    record: DeploymentRecord
    observation: Observation | None
    """What needs no second look, unless the register has changed since."""
    created: bool
    may_create: bool
    """Whether a counter of which nothing is found is created, though the settings don't have it."""
    wanted: int
    """How many integers some region needs at once."""


class Inspected(NamedTuple):
    """A register that is where it should be, with its copy, and what was found of the counter."""

    record: DeploymentRecord
    mirror_id: str
    now: int
    observation: Observation
    created: bool
    may_create: bool
    wanted: int


class Gone(NamedTuple):
    """Nothing is found of the counter, or it is being deleted, and it may not be created."""


def reconcile(
    counter: str,
    run: str,
    record: DeploymentRecord,
    observation: Observation | None = None,
    *,
    may_create: bool = True,
    count: int = 0,
) -> Steps[Outcome | Gone]:
    """Bring a counter to the layout that the record asks for, or carry its deletion on.

    If something else than the record is admitted meanwhile, that is carried out. No other run has the random string
    `run`. `observation` is what a scan has found. What needs an operator is `Refused`. A counter that doesn't exist is
    created if it `may_create`, or if the settings have it. Every region is granted `count` integers at least.
    """
    state = NextRound(record, observation, created=False, may_create=may_create, wanted=count)
    for number in range(ROUNDS):
        found = yield from inspect(counter, state)
        if isinstance(found, Inspected):
            found = yield from step(found, f"{run}/{number}")  # no two items are ever put under one token
        if not isinstance(found, NextRound):
            return found
        state = found
    raise Refused(f"{counter}: other runs were faster {ROUNDS} times. The next run continues where this one stopped.")


def delete(counter: str, run: str) -> Steps[None]:
    """Delete a counter that the settings don't have. One that is deleted already is no error.

    It is reconciled first: then its register is known to bound all that was minted. What is left of it is deleted by a
    later run.
    """
    for number in range(ROUNDS):
        record = yield from one(op.ReadRecord())
        if record is None:
            raise layouts_lost_meanwhile()
        if counter in (*record.desired.counters, *record.desired.floors):
            raise in_settings([counter])
        register, copy = yield [op.ReadRegister(counter), op.ReadCopy(counter)]
        if register is None and copy is None:
            if (yield from former(counter, record, has_copy=False)).mark is None:
                raise no_counter(counter)
            return
        found = yield from reconcile(counter, f"{run}/{number}", record, may_create=False)
        if isinstance(found, Gone):
            return
        if found.pending:
            raise undeletable(counter, found.pending)
        yield [op.WriteRegister(found.register, deleting(found.register, (yield from one(op.Clock()))), record)]
    raise Refused(f"{counter}: other runs were faster {ROUNDS} times. Send it again.")


def inspect(counter: str, state: NextRound) -> Steps[Inspected | NextRound | Gone]:
    """Bring a counter's register and its copy into order, then read what the regions have of it.

    Each of its writes ends the round: then the next one looks again.
    """
    record, observation, created, may_create, wanted = state
    again = NextRound(record, None, created, may_create, wanted)
    copy = yield from one(op.ReadCopy(counter))  # first, or an older register could replace a newer copy
    register, admitted = yield [op.ReadRegister(counter), op.ReadAdmitted()]
    # After the reads: it is these tables' content.
    layouts_id, mirror_id, now = yield [op.DescribeLayouts(), op.DescribeMirror(), op.Clock()]
    if isinstance(register, Absent) or isinstance(copy, Absent):
        raise stray(counter, "the layouts table" if isinstance(register, Absent) else "the mirror")
    if admitted != record.admitted:
        return again._replace(record=(yield from _admitted()))
    if record.layouts_id != layouts_id:
        raise layouts_lost_meanwhile()
    may_create = may_create or counter in record.desired.counters
    is_missing, known = register is None or register.layouts_id != layouts_id, NOTHING
    if is_missing:
        known = yield from former(counter, record, has_copy=copy is not None and copy.mirror_id == mirror_id)
        left, copy_left = remainders(known, register, copy, mirror_id, record.first_epoch)
        if copy_left and not known.mark:
            yield [op.DeleteCopy(copy_left)]
            return again
        if known.mark and (left or copy_left):
            done = yield from remove(counter, known.mark, left, copy_left)
            return again if done else _unfinished(counter, may_create=may_create)
    if register is None or register.layouts_id != layouts_id:
        read_again = yield from one(op.ReadCopy(counter))  # the first one may be from long before the loss
        if (read_again, (yield from one(op.DescribeMirror()))) != (copy, mirror_id):
            return again
        if copy is not None and copy.mirror_id == mirror_id:  # the layouts table was lost; this is what was in it
            yield from _write(register, put_back(copy.original, layouts_id, known), record, copy, mirror_id)
            return again
        try:
            new = yield from first_register(
                counter, register, copy, record, layouts_id, now, known, may_create=may_create
            )
        except Refused:
            if (yield from one(op.ReadRegister(counter))) == register:
                raise
            return again  # another run was faster, and what was found is its work
        if new is None:
            return Gone()
        return again._replace(created=(yield from _write(register, new, record, copy, mirror_id)) or created)
    if copy is not None and copy.mirror_id == mirror_id and copy.original.is_ahead_of(register):
        # The copy was read first, so the register went backwards: somebody has put back older content in place.
        yield [op.WriteRegister(register, copy.original, record)]
        return again
    if copy != Copy(register, mirror_id):
        yield [op.WriteCopy(copy, Copy(register, mirror_id))]
        return again._replace(observation=observation)  # nothing is done by a register before its copy is written
    if observation is None or observation.register != register:
        observation = Observation(register, {}, {})
    # A region may have been unreachable for another call than this one: a scan that was throttled, say.
    sure = {region for region, item in observation.items.items() if item is not Absent.UNREACHABLE}
    sure -= {region for region, id_ in observation.ids.items() if id_ is Absent.UNREACHABLE}
    regions = (*register.regions, *record.desired.regions, *record.desired.leaving)
    items, ids = yield from read_items([region for region in regions if region not in sure], counter)
    return Inspected(
        record,
        mirror_id,
        now,
        Observation(register, {**observation.items, **items}, {**observation.ids, **ids}),
        created,
        may_create,
        wanted,
    )


def _unfinished(counter: str, *, may_create: bool) -> Gone:
    if may_create:
        raise being_deleted(counter)
    return Gone()


def step(inspected: Inspected, token: str) -> Steps[Outcome | NextRound | Gone]:
    """Take the next step by what was found. Return the outcome, or what the next round begins with."""
    record, mirror_id, now, (register, items, ids), created, may_create, wanted = inspected
    counter = register.counter
    again = NextRound(record, None, created, may_create, wanted)
    if not register.regions and may_create:  # it goes on above all that was minted
        base = max(register.limit + 1, record.desired.floor(counter))
        following = beginning(counter, register.layouts_id, register.epoch + 1, record, base, now)
        created = yield from _write(register, following, record, Copy(register, mirror_id), mirror_id)
        return again._replace(created=created or again.created)
    if not register.regions:
        yield from close_items(inspected.observation)
        if is_due(register, now):
            yield from delete_items(inspected.observation)
            mark = Deleted(register.epoch, register.limit)
            yield from remove(counter, mark, register, Copy(register, mirror_id))
        return Gone()
    match plan(register, record, items, ids, now, wanted):
        case Reconciled(pending):
            return Outcome(register, pending, created)
        case Conflict(region, item):
            if (yield from one(op.ReadRegister(counter))) != register:
                return again  # another run was faster, and what it has given is no conflict
            if record.desired.floor(counter) <= register.base:
                raise ahead(register, region, item)
            check_bounded(counter, record.desired, items)  # this register's limit says nothing about later grants
            found = {region: item for region, item in items.items() if isinstance(item, Item)}
            following = yield from adopt(register, found, later_epoch(now, record, [register, *found.values()]))
        case End():
            if all(isinstance(items[region], Absent) for region in record.desired.regions):  # then no region could mint
                raise no_region(counter, record.desired.regions)
            if not (yield from _can_write(register, record, mirror_id)):
                return again
            following = yield from begin_next_epoch(register, record, items, ids, now)
        case PutItems(regions):
            following = yield from put_closed_items(register, regions, items, ids, token)
        case Change(changed):
            following = Observation(changed, items, ids)
        case Apply() as applied:
            done = yield from apply_register(register, applied, items)
            return Outcome(register, applied.pending, created) if done else again
    if (yield from _write(register, following.register, record, Copy(register, mirror_id), mirror_id)):
        return again._replace(observation=following)
    return again


def _can_write(register: Register, record: DeploymentRecord, mirror_id: str) -> Steps[bool]:
    """Write a register and its copy as they are, before regions are fenced, and return whether nothing has changed.

    A table that can be read may still refuse writes. Then the run ends here, and all regions go on.
    """
    same = Copy(register, mirror_id)
    return all((yield [op.WriteRegister(register, register, record), op.WriteCopy(same, same)]))


def _admitted() -> Steps[DeploymentRecord]:
    """Return the record that was admitted last, which isn't the one that this run carries out."""
    record = yield from one(op.ReadRecord())
    admitted = yield from one(op.ReadAdmitted())
    if record is None:
        raise layouts_lost_meanwhile()
    if record.admitted != admitted:  # somebody has deleted `/admitted`, or changed it
        yield [op.WriteRecord(record, record)]
    return record


def _write(
    old: Register | None, new: Register, record: DeploymentRecord, copy: Copy[Register] | None, mirror_id: str
) -> Steps[bool]:
    """Write a register and then its copy. Return whether the register was written; the copy may still be missing."""
    written = yield from one(op.WriteRegister(old, new, record))
    if written:
        yield [op.WriteCopy(copy, Copy(new, mirror_id))]
    return bool(written)


class TablesScan(NamedTuple):
    """What one look at all tables has shown, before anything was done."""

    registers: Mapping[str, Register] = {}
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
    unknown: Mapping[str, tuple[str, ...]] = {}
    """Counters without a register, and the regions that have an item of them. Such a counter is created again only if a
    floor is set for it."""
    stray: Mapping[str, tuple[str, ...]] = {}
    """Keys of what can't be read, and the tables that have it: regions, `layouts`, `mirror`. They stop nobody else."""
    unrecorded: tuple[str, ...] = ()
    """The regions in which the first counter's layouts aren't on record: their receipts table was lost."""


def scan_tables(record: DeploymentRecord) -> Steps[TablesScan]:
    """Return the state of all counters, from one scan of each table."""
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    layouts_id, mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
    here = {name: register for name, register in registers.items() if isinstance(register, Register)}
    of_registers = (region for register in here.values() for region in register.regions)
    regions = list(dict.fromkeys([*record.desired.regions, *record.desired.leaving, *of_registers]))
    scans = dict(zip(regions, (yield [op.ScanItems(region) for region in regions]), strict=True))
    # The first counter shows whether a region has its records of layouts.
    first = here.get(record.desired.counters[0])
    asked = [op.ReadRecorded(region, first.counter) for region in first.regions] if first else []
    answers = yield [*asked, *(op.DescribeTable(region) for region in regions)]
    ids = dict(zip(regions, answers[len(asked) :], strict=True))
    recorded = dict(zip(first.regions if first else (), answers, strict=False))
    now = yield from one(op.Clock())
    reconciled: dict[str, Outcome] = {}
    urgent: dict[str, Observation | None] = {}
    rest: dict[str, Observation | None] = {}
    names = dict.fromkeys([*record.desired.counters, *copies, *registers])
    stray = _where({"layouts": registers, "mirror": copies, **scans}, lambda _, what: what is Absent.STRAY)
    # What can't be read is a counter's if anything else shows one. Otherwise it is nobody's, and stops nobody.
    for name in stray.keys() - {*record.desired.counters}:
        found = [copies.get(name), registers.get(name), *(item_in(scan, name) for scan in scans.values())]
        if all(what is None or isinstance(what, Absent) for what in found):
            names.pop(name, None)
    for name in names:
        register = here.get(name)
        in_place = register is not None and register.layouts_id == layouts_id
        if register is None or not in_place or copies.get(name) != Copy(register, mirror_id) or not register.regions:
            urgent[name] = None
            continue
        wanted = dict.fromkeys([*register.regions, *record.desired.regions, *record.desired.leaving])
        items: Items = {region: item_in(scans[region], name) for region in wanted}
        observation = Observation(register, items, {region: ids[region] for region in wanted})
        step = plan(register, record, items, ids, now)
        if isinstance(step, Reconciled):
            reconciled[name] = Outcome(register, step.pending)
        else:
            mints = all(_mints(items[region], register) for region in register.regions)
            (rest if mints else urgent)[name] = observation
    rest = dict(sorted(rest.items(), key=lambda entry: here[entry[0]].granted))
    unknown = _where(scans, lambda name, item: isinstance(item, Item) and name not in registers and name not in copies)
    if record.deletions.archive_id:
        unknown = yield from remove_remainders(unknown, scans, record)
    unknown = {name: tables for name, tables in unknown.items() if name not in names}
    # A floor says what was minted. But a counter that was deleted stays so.
    again = {
        name: None
        for name in unknown
        if record.desired.floor(name) and any(_is_alive(item_in(scan, name)) for scan in scans.values())
    }
    unknown = {name: tables for name, tables in unknown.items() if name not in again}
    copied: dict[str, Copy[Register]] = {name: copy for name, copy in copies.items() if isinstance(copy, Copy)}
    todo = {**urgent, **rest, **again}
    if CHECK_COUNTER in todo:  # where it is missing, callers hear that the table is new
        todo[CHECK_COUNTER] = todo.pop(CHECK_COUNTER)
    lost = unrecorded(first.counter, scans, recorded) if first else ()
    return TablesScan(here, copied, scans, ids, layouts_id, mirror_id, now, reconciled, todo, unknown, stray, lost)


def _is_alive(item: Item | Absent | None) -> bool:
    return isinstance(item, Item) and not item.deleted


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
