"""Begins and ends epochs: fences regions, replaces registers, and writes the items that follow from a register."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from global_integers_core.lattice import MAX_INTEGER

from . import operations as op
from .model import MAX_PAST, Absent, Copy, DeploymentRecord, DesiredState, Ids, Item, Items, Register
from .operations import Observation, Steps, one, read_items
from .plan import Apply, beginning, closed, join, wanted_items
from .refusals import lost_register, unfenced


def put_closed_items(
    register: Register, regions: Sequence[str], items: Items, ids: Ids, token: str
) -> Steps[Observation]:
    """Put a closed item where there is none. Return the register with the tables in which it now is, to be written."""
    wanted = wanted_items(register)
    new = {region: closed(wanted[region], token) for region in regions}
    answers = yield [op.PutItem(region, register.counter, item, _token(items[region])) for region, item in new.items()]
    put = [region for region, held in zip(regions, answers, strict=True) if held is True]
    found = dict(zip(put, (yield [op.DescribeTable(region) for region in put]), strict=True))
    following = join(register, found)
    if len(put) < len(new):  # another run has put an item meanwhile, so what is known is outdated
        return Observation(following, {}, {})
    return Observation(following, {**items, **new}, {**ids, **found})


def apply_register(register: Register, step: Apply, items: Items) -> Steps[bool]:
    """Give regions what the register says, and close those that leave. Return whether everything was written.

    The layouts are recorded first: an item of an epoch that isn't recorded yet can't say who owns an integer.
    """
    counter, wanted = register.counter, wanted_items(register)
    regions = [*step.renew, *step.open, *step.close]
    answers = yield [op.RecordLayouts(region, counter, register.layouts) for region in regions]
    here = {region for region, answer in zip(regions, answers, strict=True) if not isinstance(answer, Absent)}
    writes: list[op.Operation] = []
    for region, item in items.items():
        if not isinstance(item, Item):
            continue
        if region in step.raise_:
            writes.append(op.RaiseItem(region, counter, register.epoch, wanted[region].ceiling))
        elif region not in here:
            continue
        elif region in step.renew:
            writes.append(op.RenewItem(region, counter, wanted[region], over=item.epoch))
        elif region in step.open and item.opening is not None:
            writes.append(op.OpenItem(region, counter, item.opening, wanted[region].ceiling))
        elif region in step.close:
            writes.append(closing(region, counter, item, register.epoch)[0])
    done = yield writes
    return len(here) == len(regions) and all(answer is True for answer in done)


def _token(item: Item | Absent | None) -> str | None:
    return item.opening if isinstance(item, Item) else None


EPOCHS_SKIPPED = 100
"""How many epochs a counter skips when it continues after a loss. The lost register is assumed to have been less than
this ahead of what is left."""


def first_register(
    counter: str,
    register: Register | None,
    copy: Copy[Register] | None,
    record: DeploymentRecord,
    layouts_id: str,
    now: int,
) -> Steps[Register]:
    """Return the first register of a counter.

    If anything is found of the counter, its register and its copy were lost, and only a floor can say what was minted.
    """
    desired = record.desired
    items, _ = yield from read_items((*desired.regions, *desired.leaving), counter)
    found = {region: item for region, item in items.items() if isinstance(item, Item)}
    whole = yield from _whole(record)
    if record.restored and whole:
        register = None  # the mirror has no copy of it, so nothing was ever done by it
    past = [known for known in (register, copy.original if copy else None) if known is not None]
    floor = desired.floor(counter)
    if found or past or not whole:
        if not floor:
            raise lost_register(counter, list(found))
        check_bounded(counter, desired, items)
    fences = yield from fence(counter, found, 0, desired.headroom, later=True)
    ceilings = [fences[region].bound if region in fences else MAX_INTEGER for region in found]
    base = max(1, floor, *(ceiling + 1 for ceiling in ceilings), *(known.base for known in past))
    epoch = 1
    if found or past or not whole:  # regions may have on record what the lost register decided
        epoch = EPOCHS_SKIPPED + max(
            [item.epoch for item in found.values()] + [known.epoch for known in past], default=0
        )
    if base > MAX_INTEGER:
        raise unfenced(counter, [region for region in found if region not in fences])
    return beginning(counter, layouts_id, epoch, record, base, now)


def check_bounded(counter: str, desired: DesiredState, items: Items) -> None:
    """Refuse if a region of the desired state doesn't answer, or its item can't be read.

    Without a register, nothing bounds what a region mints that can't be fenced, so a floor isn't enough.
    """
    silent = [
        name for name in (*desired.regions, *desired.leaving) if items[name] in (Absent.UNREACHABLE, Absent.STRAY)
    ]
    if silent:
        raise unfenced(counter, silent)


def _whole(record: DeploymentRecord) -> Steps[bool]:
    """Return whether no register is missing. Then a counter without one is new."""
    if not record.restored:
        return True
    copy = yield from one(op.ReadRecordCopy())
    return copy is not None and copy.mirror_id == (yield from one(op.DescribeMirror()))


ATTEMPTS = 5
"""How often a fence is tried while other runs write the same item."""


class Fenced(NamedTuple):
    """An item that can't mint above `bound` any more; 0 if it was never given integers of the epoch."""

    bound: int
    item: Item


def begin_next_epoch(
    register: Register, record: DeploymentRecord, items: Items, ids: Ids, now: int, *, beyond_floor: bool = False
) -> Steps[Observation]:
    """Fence every region of this epoch that answers. Return the next register, to be written.

    With `beyond_floor`, items that the register hasn't given are fenced too: a floor says what they may have minted.
    """
    taking_part = {region: id_ for region, id_ in zip(register.regions, register.ids, strict=True) if id_ is not None}
    unknown = {
        region: item
        for region, item in items.items()
        if isinstance(item, Item) and region not in taking_part and beyond_floor and item.epoch >= register.epoch
    }
    present = {region: items[region] for region in {**taking_part, **unknown}}
    fences = yield from fence(register.counter, present, register.epoch, record.desired.headroom, later=beyond_floor)
    bounds = {region: fenced.bound for region, fenced in fences.items()}
    after = {region: fenced.item for region, fenced in fences.items()}
    names = tuple(taking_part)
    described = yield [op.DescribeTable(region) for region in names]  # after the fences: they were in these tables
    same = {region for region, id_ in zip(names, described, strict=True) if id_ == taking_part[region]}
    fenced = {region: id_ for region, id_ in taking_part.items() if region in same and region in bounds}
    tops = [bounds[region] if region in fenced else register.limit for region in names]
    if unknown.keys() - bounds.keys():  # no limit is known of what no register knows
        raise unfenced(register.counter, sorted(unknown.keys() - bounds.keys()))
    tops += [bounds[region] for region in unknown]
    base = max(register.base, record.desired.floor(register.counter), *(top + 1 for top in tops))
    epoch = 1 + max([register.epoch, *(item.epoch for item in present.values() if isinstance(item, Item))])
    following = beginning(register.counter, register.layouts_id, epoch, record, base, now, fenced)
    following = replace(following, past=register.layouts[-MAX_PAST:])
    if any(isinstance(item, Item) and region not in fences for region, item in present.items()):
        return Observation(following, {}, {})  # another run was faster there, or it doesn't answer any more
    now_known = {**ids, **dict(zip(names, described, strict=True))}
    return Observation(following, {**items, **after}, now_known)


def fence(counter: str, items: Items, epoch: int, headroom: int, *, later: bool) -> Steps[dict[str, Fenced]]:
    """Fence items, and return those that are fenced.

    With `later`, an item of a later epoch is fenced, too. Otherwise it is left alone: another run was faster.

    An item that was never given this epoch's integers is brought to this epoch, closed. So a late run that
    still tries to give it something finds another epoch, or its token gone.
    """
    fenced: dict[str, Fenced] = {}
    for _ in range(ATTEMPTS):
        writes: dict[str, op.Operation] = {}
        after: dict[str, Item] = {}
        for region, item in items.items():
            if not isinstance(item, Item) or region in fenced or (item.epoch > epoch and not later):
                continue
            if item.opening is not None or item.epoch < epoch:
                writes[region], after[region] = closing(region, counter, item, max(item.epoch, epoch))
            elif item.fenced:
                fenced[region] = Fenced(item.ceiling, item)
            else:
                writes[region] = _lowering(region, counter, item, headroom)
                after[region] = replace(item, fenced=True)
        if not writes:
            break
        answers = yield [*writes.values()]
        for (region, write), answer in zip(writes.items(), answers, strict=True):
            if isinstance(write, op.FenceItem) and answer is not False and not isinstance(answer, Absent):
                fenced[region] = Fenced(answer, replace(after[region], ceiling=answer))
            elif answer is True:
                fenced[region] = Fenced(0, after[region])
        again = [region for region in writes if region not in fenced]
        found = yield [op.ReadItem(region, counter) for region in again]
        items = dict(zip(again, found, strict=True))
    return fenced


def closing(region: str, counter: str, item: Item, epoch: int) -> tuple[op.Operation, Item]:
    """Return the write that closes an item at an epoch, so that no late write can open it any more, and the item then.

    An item that was never opened is put below where its epoch begins: it doesn't know what was minted in that epoch.
    """
    if item.opening is None:
        after = replace(item, ceiling=item.issued, epoch=epoch, fenced=True)
        return op.CloseItem(region, counter, over=item.epoch, epoch=epoch), after
    below = item.issued - item.stride
    after = replace(item, issued=below, ceiling=below, epoch=epoch, opening=None)
    return op.PutItem(region, counter, after, instead_of=item.opening), after


def _lowering(region: str, counter: str, item: Item, headroom: int) -> op.FenceItem:
    """Return a fence relative to what is issued when it arrives, so it lands however fast that grows."""
    by = headroom * item.stride
    if item.issued > item.ceiling - by:  # then the ceiling stays
        return op.FenceItem(region, counter, item.epoch, None)
    return op.FenceItem(region, counter, item.epoch, by, item.ceiling - by)
