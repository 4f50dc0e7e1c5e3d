"""Begins and ends epochs: fences regions, replaces registers, and writes the items that follow from a register."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from . import operations as op
from .deletion import Former, may_be_remainder
from .history import archived, record_layouts
from .model import Absent, Copy, DeploymentRecord, DesiredState, Ids, Item, Items, Register
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

    The layouts are recorded first: an item of an epoch that isn't recorded yet can't say who owns an integer. Where the
    table of these records is gone, the region mints all the same.
    """
    counter, wanted = register.counter, wanted_items(register)
    regions = [*step.renew, *step.open, *step.close]
    answers = yield from record_layouts(register, regions, items)
    here = {region for region, answer in answers.items() if answer is not Absent.UNREACHABLE}
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
"""How many epochs a counter skips at least when it continues after a loss, should the clock be far behind. The lost
register is assumed to have been less than this ahead of what is left."""


def first_register(
    counter: str,
    register: Register | None,
    copy: Copy[Register] | None,
    record: DeploymentRecord,
    layouts_id: str,
    now: int,
    known: Former,
    *,
    may_create: bool,
) -> Steps[Register | None]:
    """Return the first register of a counter, above what is `known` of a former one of this name.

    If anything else is found of the counter, its register and its copy were lost, and only a floor can say what was
    minted. Return None if it may not be created, and nothing is found but items, without a floor: it is unknown.
    """
    desired, deleted = record.desired, known.mark.epoch if known.mark else 0
    items, _ = yield from read_items((*desired.regions, *desired.leaving), counter)
    found = {
        region: item
        for region, item in items.items()
        if isinstance(item, Item) and item.epoch > deleted and not (item.deleted and may_be_remainder(item, known.lost))
    }
    whole = yield from _whole(record)
    if record.restored and whole:
        # The mirror has no copy of this register, so either nothing was ever done by it, or the counter was deleted. A
        # deleted one, whose mark is lost too, comes back: above the highest mark.
        may_create, register = may_create or register is not None, None
    elif record.has_reported(counter, after=deleted):
        whole = False  # somebody has deleted its register
    past = [lost for lost in (register, copy.original if copy else None) if lost is not None]
    floor = desired.floor(counter)
    if not past and not may_create and not (found and floor):
        return None
    base = max([record.first_base, known.least.limit + 1, *(lost.base for lost in past)])
    if not found and not past and whole:
        epoch = max(record.first_epoch, known.least.epoch + 1)
        return beginning(counter, layouts_id, epoch, record, max(base, floor), now)
    if not floor:
        raise lost_register(counter, list(found))
    check_bounded(counter, desired, items)
    epoch = max(later_epoch(now, record, [*past, *found.values()]), known.least.epoch + 1)
    if not found:
        return beginning(counter, layouts_id, epoch, record, max(base, floor), now)
    nothing = Register(counter, layouts_id, epoch, tuple(found), (None,) * len(found), base, 0, 0, now)
    return (yield from adopt(nothing, found, epoch)).register


def later_epoch(now: int, record: DeploymentRecord, known: Iterable[Register | Item]) -> int:
    """Return an epoch above every one that anybody can have seen, though nothing shows the last one any more.

    A warm function refuses what is of an earlier epoch than it has seen, and a late write may still name one. Epochs
    began less often than once a second, and so there were fewer than seconds since 1970.
    """
    return max(now, record.first_epoch, EPOCHS_SKIPPED + max((each.epoch for each in known), default=0))


def check_bounded(counter: str, desired: DesiredState, items: Items) -> None:
    """Refuse if a region of the desired state doesn't answer, or its item can't be read.

    Without a register, nothing bounds what a region mints that can't be fenced, so a floor isn't enough.
    """
    unanswering = [
        name for name in (*desired.regions, *desired.leaving) if items[name] in (Absent.UNREACHABLE, Absent.STRAY)
    ]
    if unanswering:
        raise unfenced(counter, unanswering)


def _whole(record: DeploymentRecord) -> Steps[bool]:
    """Return whether no register is missing. Then a counter without one is new."""
    if not record.restored:
        return True
    copy = yield from one(op.ReadRecordCopy())
    return copy is not None and copy.mirror_id == (yield from one(op.DescribeMirror()))


def adopt(register: Register, items: Mapping[str, Item], epoch: int) -> Steps[Observation]:
    """Bring items to an epoch as they are. Return the register that bounds them, to be written.

    No register bounds what was found. So each item is brought to an epoch of which nobody else knows: it goes on
    minting, but no late write can raise its ceiling any more. If a region doesn't answer now, the others go on, and no
    harm is done. Once all ceilings are in a register, that epoch ends like every other one, whoever answers then.
    """
    counter, left, adopted = register.counter, dict(items), dict[str, Item]()
    for _ in range(ATTEMPTS):
        writes: dict[str, op.Operation] = {}
        after: dict[str, Item] = {}
        for region, item in left.items():
            if item.opening is not None:
                writes[region], after[region] = closing(region, counter, item, epoch)
            else:
                writes[region] = op.AdoptItem(region, counter, item.epoch, epoch)
                after[region] = replace(item, epoch=epoch)
        for region, answer in zip(writes, (yield [*writes.values()]), strict=True):
            if answer is not False and not isinstance(answer, Absent):
                adopted[region] = after[region] if answer is True else replace(after[region], ceiling=answer)
        again = [region for region in left if region not in adopted]
        found = dict(zip(again, (yield [op.ReadItem(region, counter) for region in again]), strict=True))
        left = {region: item for region, item in found.items() if isinstance(item, Item)}
        if len(left) < len(again) or not again:
            break
    described = yield [op.DescribeTable(region) for region in adopted]  # afterwards: the items are in these tables
    ids = {region: id_ for region, id_ in zip(adopted, described, strict=True) if not isinstance(id_, Absent)}
    if len(ids) < len(items):
        raise unfenced(counter, [region for region in items if region not in ids])
    limit = max(register.limit, *(item.ceiling for item in adopted.values()))
    known = {**dict(zip(register.regions, register.ids, strict=True)), **ids}
    bounding = replace(register, epoch=epoch, regions=tuple(known), ids=tuple(known.values()), limit=limit, window=0)
    return Observation(bounding, adopted, ids)


ATTEMPTS = 5
"""How often a write is tried while other runs write the same item."""


class Fenced(NamedTuple):
    """An item that can't mint above `bound` any more; 0 if it was never given integers of the epoch."""

    bound: int
    item: Item


def begin_next_epoch(
    register: Register, record: DeploymentRecord, items: Items, ids: Ids, now: int
) -> Steps[Observation]:
    """Fence every region of this epoch that answers. Return the next register, to be written."""
    # Before the fences: no region waits for the archive. Adopted items have layouts that nobody knows.
    preceding = (yield from archived(register)) if register.window else 0
    taking_part = {region: id_ for region, id_ in zip(register.regions, register.ids, strict=True) if id_ is not None}
    present = {region: items[region] for region in taking_part}
    fences = yield from fence(register.counter, present, register.epoch, record.desired.headroom)
    bounds = {region: fenced.bound for region, fenced in fences.items()}
    after = {region: fenced.item for region, fenced in fences.items()}
    names = tuple(taking_part)
    described = yield [op.DescribeTable(region) for region in names]  # after the fences: they were in these tables
    same = {region for region, id_ in zip(names, described, strict=True) if id_ == taking_part[region]}
    fenced = {region: id_ for region, id_ in taking_part.items() if region in same and region in bounds}
    tops = [bounds[region] if region in fenced else register.limit for region in names]
    base = max(register.base, record.desired.floor(register.counter), *(top + 1 for top in tops))
    epoch = 1 + max([register.epoch, *(item.epoch for item in present.values() if isinstance(item, Item))])
    following = beginning(register.counter, register.layouts_id, epoch, record, base, now, fenced)
    following = replace(following, preceding=preceding)
    if any(isinstance(item, Item) and region not in fences for region, item in present.items()):
        return Observation(following, {}, {})  # another run was faster there, or it doesn't answer any more
    now_known = {**ids, **dict(zip(names, described, strict=True))}
    return Observation(following, {**items, **after}, now_known)


def fence(counter: str, items: Items, epoch: int, headroom: int) -> Steps[dict[str, Fenced]]:
    """Fence items, and return those that are fenced. One of a later epoch is left alone: another run was faster.

    An item that was never given this epoch's integers is brought to this epoch, closed. So a late run that
    still tries to give it something finds another epoch, or its token gone.
    """
    fenced: dict[str, Fenced] = {}
    for _ in range(ATTEMPTS):
        writes: dict[str, op.Operation] = {}
        after: dict[str, Item] = {}
        for region, item in items.items():
            if not isinstance(item, Item) or region in fenced or item.epoch > epoch:
                continue
            if item.opening is not None or item.epoch < epoch:
                writes[region], after[region] = closing(region, counter, item, epoch)
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
