"""Ends an epoch of one counter: fences every region that answers, and begins the next epoch above all of them."""

from dataclasses import replace

from integers.lattice import MAX_INTEGER, lowered_ceiling

from .limits import beginning
from .model import MAX_PAST, Absent, Item, Record, Register
from .operations import CloseItem, DescribeTable, FenceItem, Operation, PlaceItem, ReadItem
from .plan import Items
from .reading import Steps
from .refusals import unfenced, used_up

ATTEMPTS = 5
"""How often a fence is tried while the region goes on minting past it."""


def advance(
    register: Register, record: Record, items: Items, now: int, *, beyond_floor: bool = False
) -> Steps[Register]:
    """Fence every region of this epoch, then begin the next one above all that any region may have minted.

    With `beyond_floor`, items that the register hasn't given are fenced too: a floor says what they may have minted.
    """
    taking_part = {region: id_ for region, id_ in zip(register.regions, register.ids, strict=True) if id_ is not None}
    unknown = {  # version 1 may be about to open what it has placed
        region: item
        for region, item in items.items()
        if isinstance(item, Item)
        and region not in taking_part
        and (not register.granted or (beyond_floor and item.epoch >= register.epoch))
    }
    present = {region: items[region] for region in {**taking_part, **unknown}}
    bounds = yield from fence(register.counter, present, register.epoch, record.wish.headroom, later=beyond_floor)
    names = tuple(taking_part)
    described = yield [DescribeTable(region) for region in names]  # after the fences: they were in these tables
    same = {region for region, id_ in zip(names, described, strict=True) if id_ == taking_part[region]}
    fenced = {region: id_ for region, id_ in taking_part.items() if region in same and region in bounds}
    floor = record.wish.floor(register.counter)
    tops = [bounds[region] if region in fenced else register.limit for region in names]
    if unknown.keys() - bounds.keys():  # no limit is known of what no register knows
        raise unfenced(register.counter, sorted(unknown.keys() - bounds.keys()))
    tops += [bounds[region] for region in unknown]
    if not register.granted and floor > register.base:  # of a table that was lost under version 1, a floor says enough
        lost = [region for region in names if items[region] is None or items[region] is Absent.GONE]
        tops = [top for region, top in zip((*names, *unknown), tops, strict=True) if region not in lost]
    base = max(register.base, floor, *(top + 1 for top in tops))
    if base > MAX_INTEGER and not register.granted:
        raise used_up(register.counter, [region for region in names if region not in fenced])
    epoch = 1 + max([register.epoch, *(item.epoch for item in present.values() if isinstance(item, Item))])
    following = beginning(register.counter, register.home, epoch, record, base, now, fenced)
    return replace(following, past=register.layouts[-MAX_PAST:])


def fence(counter: str, items: Items, epoch: int, headroom: int, *, later: bool) -> Steps[dict[str, int]]:
    """Fence items, and return the ceilings of those that are.

    With `later`, an item of a later epoch is fenced in that one. Otherwise it is left alone: another run was faster.

    An item that was never given this epoch's integers is brought to this epoch, closed. So a late run that
    still tries to give it something finds another epoch, or its token gone.
    """
    ceilings: dict[str, int] = {}
    for _ in range(ATTEMPTS):
        writes: dict[str, Operation] = {}
        for region, item in items.items():
            if not isinstance(item, Item) or region in ceilings or (item.epoch > epoch and not later):
                continue
            if item.opening is not None or item.epoch < epoch:
                writes[region] = closing(region, counter, item, max(item.epoch, epoch))
            elif item.fenced:
                ceilings[region] = item.ceiling
            else:
                ceiling = lowered_ceiling(item.issued, item.stride, item.ceiling, headroom)
                writes[region] = FenceItem(region, counter, item.epoch, ceiling)
        if not writes:
            break
        answers = yield list(writes.values())
        for (region, write), held in zip(writes.items(), answers, strict=True):
            if held is True:
                # What is closed here has issued nothing of this epoch.
                ceilings[region] = write.ceiling if isinstance(write, FenceItem) else 0
        again = [region for region in writes if region not in ceilings]
        found = yield [ReadItem(region, counter) for region in again]
        items = dict(zip(again, found, strict=True))
    return ceilings


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
