"""Ends an epoch of one counter: fences every region that answers, and begins the next epoch above all of them."""

from dataclasses import replace
from typing import Any, NamedTuple

from .limits import beginning
from .model import MAX_PAST, Absent, Item, Record, Register
from .operations import CloseItem, DescribeTable, FenceItem, Operation, PlaceItem, ReadItem
from .plan import Ids, Items
from .reading import Known, Next, Steps
from .refusals import unfenced

ATTEMPTS = 5
"""How often a fence is tried while other runs write the same item."""


class Fenced(NamedTuple):
    """An item that can't mint above a bound, for good. The bound is 0 if it never had integers of the epoch."""

    bound: int
    item: Item


def advance(
    register: Register, record: Record, items: Items, ids: Ids, now: int, *, beyond_floor: bool = False
) -> Steps[Next]:
    """Fence every region of this epoch. Return the next register, which begins above all that any may have minted.

    With `beyond_floor`, items that the register hasn't given are fenced too: a floor says what they may have minted.
    """
    taking_part = {region: id_ for region, id_ in zip(register.regions, register.ids, strict=True) if id_ is not None}
    unknown = {
        region: item
        for region, item in items.items()
        if isinstance(item, Item) and region not in taking_part and beyond_floor and item.epoch >= register.epoch
    }
    present = {region: items[region] for region in {**taking_part, **unknown}}
    fences = yield from fence(register.counter, present, register.epoch, record.wish.headroom, later=beyond_floor)
    bounds = {region: fenced.bound for region, fenced in fences.items()}
    after = {region: fenced.item for region, fenced in fences.items()}
    names = tuple(taking_part)
    described = yield [DescribeTable(region) for region in names]  # after the fences: they were in these tables
    same = {region for region, id_ in zip(names, described, strict=True) if id_ == taking_part[region]}
    fenced = {region: id_ for region, id_ in taking_part.items() if region in same and region in bounds}
    tops = [bounds[region] if region in fenced else register.limit for region in names]
    if unknown.keys() - bounds.keys():  # no limit is known of what no register knows
        raise unfenced(register.counter, sorted(unknown.keys() - bounds.keys()))
    tops += [bounds[region] for region in unknown]
    base = max(register.base, record.wish.floor(register.counter), *(top + 1 for top in tops))
    epoch = 1 + max([register.epoch, *(item.epoch for item in present.values() if isinstance(item, Item))])
    following = beginning(register.counter, register.home, epoch, record, base, now, fenced)
    following = replace(following, past=register.layouts[-MAX_PAST:])
    if any(isinstance(item, Item) and region not in fences for region, item in present.items()):
        return Next(following, None)  # another run was faster there, or it doesn't answer any more
    now_known = {**ids, **dict(zip(names, described, strict=True))}
    return Next(following, Known(following, {**items, **after}, now_known))


def fence(counter: str, items: Items, epoch: int, headroom: int, *, later: bool) -> Steps[dict[str, Fenced]]:
    """Fence items, and return those that are fenced.

    With `later`, an item of a later epoch is fenced in that one. Otherwise it is left alone: another run was faster.

    An item that was never given this epoch's integers is brought to this epoch, closed. So a late run that
    still tries to give it something finds another epoch, or its token gone.
    """
    fenced: dict[str, Fenced] = {}
    for _ in range(ATTEMPTS):
        writes: dict[str, tuple[Item, Operation]] = {}
        for region, item in items.items():
            if not isinstance(item, Item) or region in fenced or (item.epoch > epoch and not later):
                continue
            if item.opening is not None or item.epoch < epoch:
                writes[region] = item, closing(region, counter, item, max(item.epoch, epoch))
            elif item.fenced:
                fenced[region] = Fenced(item.ceiling, item)
            else:
                writes[region] = item, _lowering(region, counter, item, headroom)
        if not writes:
            break
        answers = yield [write for _, write in writes.values()]
        for (region, (item, write)), answer in zip(writes.items(), answers, strict=True):
            if answer is not False and not isinstance(answer, Absent):
                fenced[region] = _after(item, write, answer)
        again = [region for region in writes if region not in fenced]
        found = yield [ReadItem(region, counter) for region in again]
        items = dict(zip(again, found, strict=True))
    return fenced


def closing(region: str, counter: str, item: Item, epoch: int) -> Operation:
    """Return the write that closes an item at an epoch, for good. No late write can open it any more.

    An item that was never opened is put below where its epoch begins: it doesn't know what was minted in that epoch.
    """
    if item.opening is None:
        return CloseItem(region, counter, over=item.epoch, epoch=epoch)
    below = item.issued - item.stride
    return PlaceItem(
        region, counter, replace(item, issued=below, ceiling=below, epoch=epoch, opening=None), instead_of=item.opening
    )


def _lowering(region: str, counter: str, item: Item, headroom: int) -> FenceItem:
    """Return the fence of an item: relative to what is issued when it arrives, so it lands however fast that grows.

    Near the ceiling, the ceiling stays.
    """
    by = headroom * item.stride
    if item.issued > item.ceiling - by:
        return FenceItem(region, counter, item.epoch, None)
    return FenceItem(region, counter, item.epoch, by, item.ceiling - by)


def _after(item: Item, write: Operation, answer: Any) -> Fenced:
    match write:
        case FenceItem():
            return Fenced(answer, replace(item, ceiling=answer, fenced=True))
        case PlaceItem(item=placed):
            return Fenced(0, placed)
        case CloseItem(epoch=epoch):
            return Fenced(0, replace(item, ceiling=item.issued, epoch=epoch, fenced=True))
        case _:
            raise TypeError(f"{write} is no fence")
