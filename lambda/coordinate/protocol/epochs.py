"""Begins and ends epochs: fences regions, replaces registers, and writes the items that follow from a register."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from global_integers_core.lattice import least_distance
from global_integers_core.names import DELETED

from . import operations as op
from .history import record_layouts
from .model import Absent, Copy, DeploymentRecord, Ids, Item, Items, ItemState, Register
from .operations import Observation, Steps
from .plan import SHORTEST, Apply, beginning, by_use, join, used_by, wanted_items, with_limit

LASTS = 10
"""Seconds for which a fenced region may mint at the present rate."""

ATTEMPTS = 5
"""How often a write is tried while other runs write the same item."""


def hold_items(register: Register, regions: Sequence[str], items: Items, ids: Ids, token: str) -> Steps[Observation]:
    """Put an item that is held where there is none. Return the register with the tables it is in, to be written."""
    state = ItemState(register.epoch, token)
    answers = yield [op.HoldItem(region, register.counter, state, None) for region in regions]
    put = [region for region, held in zip(regions, answers, strict=True) if held is True]
    found = dict(zip(put, (yield [op.DescribeTable(region) for region in put]), strict=True))
    if len(put) < len(regions):  # another run has put an item meanwhile, so what is known is outdated
        return Observation(join(register, found), {}, {})
    held = {region: Item(0, 1, 0, state.epoch, fenced=True, held=state.held) for region in put}
    return Observation(join(register, found), {**items, **held}, {**ids, **found})


def apply_register(register: Register, step: Apply, items: Items) -> Steps[bool]:
    """Give regions what the register says, and close or hold what is to mint no more. Return whether all was written.

    The layouts are recorded first: an item of an epoch that isn't recorded yet can't say who owns an integer. Where the
    table of these records is gone, the region mints all the same.
    """
    counter, wanted = register.counter, wanted_items(register) if register.regions else {}
    regions = [*step.open, *step.close]
    answers = yield from record_layouts(register, regions, items)
    here = {region for region, answer in answers.items() if answer is not Absent.UNREACHABLE}
    writes: list[op.Operation] = []
    for region, item in items.items():
        if region in step.hold:
            over = item.state if isinstance(item, Item) else None
            writes.append(op.HoldItem(region, counter, ItemState(register.epoch, DELETED), over))
        elif not isinstance(item, Item):
            continue
        elif region in step.raise_:
            first = wanted[region]
            writes.append(op.RaiseItem(region, counter, register.epoch, first.ceiling, first.low))
        elif region in step.open and region in here:
            writes.append(op.OpenItem(region, counter, wanted[region], item.state))
        elif region in step.close and region in here:
            writes.append(ending(region, counter, item, register.epoch))
    done = yield writes
    written = all(answer is not False and not isinstance(answer, Absent) for answer in done)
    return len(here) == len(regions) and written


def ending(region: str, counter: str, item: Item, epoch: int, distance: int = 0) -> op.Operation:
    """Return the write that brings an item to this epoch, so that it mints no more than `distance` integers.

    One that is held is held no longer, so that nobody opens it in this epoch any more. The fence is relative to what is
    issued when it arrives, so it lands however fast that grows.
    """
    by = distance * item.stride
    if by and (item.fenced or item.issued > item.ceiling - by):  # then the ceiling stays
        return op.FenceItem(region, counter, item.state, epoch, None)
    return op.FenceItem(region, counter, item.state, epoch, by, item.ceiling - by)


def begin_next_epoch(
    register: Register, record: DeploymentRecord, found: Observation, *, doubted: bool
) -> Steps[Observation]:
    """Fence every region of this epoch that answers. Return the next register, to be written.

    Its base lies above every ceiling that was found or fenced. It lies above the limit, too, if a region isn't fenced
    that has integers of this epoch; or if items are `doubted`, since a region says that its table went back.
    """
    _, items, ids, _ = found
    known = zip(register.regions, register.ids, strict=True)
    taking_part = {region: id_ for region, id_ in known if id_ is not None}
    present, distances, now = yield from _again(register, taking_part, found, record.desired.window)
    fences = yield from fence(register.counter, present, register.epoch, distances)
    # After the fences: they were in these tables.
    described = dict(zip(taking_part, (yield [op.DescribeTable(region) for region in taking_part]), strict=True))
    fenced = {region: id_ for region, id_ in taking_part.items() if region in fences and described[region] == id_}
    unfenced = [register.limit] * (doubted or len(fenced) < len(taking_part))
    following = _following(register, record, {**items, **fences}, unfenced, fenced, now)
    window, lately = by_use(register, record.desired.window, _top(present, register), now)
    following = replace(with_limit(following, following.base - 1, window, now), lately=lately)
    if any(isinstance(items[region], Item) and region not in fences for region in taking_part):
        return Observation(following, {}, {})  # another run was faster there, or it doesn't answer any more
    return Observation(following, {**items, **fences}, {**ids, **described}, now)


def recover(register: Register, record: DeploymentRecord, found: Observation) -> Steps[Observation | None]:
    """Fence every item, since the limit is lost. Return the next register, above all fences and above the answer.

    None: some item can't be fenced now.
    """
    _, items, ids, _ = found
    held = [region for region, item in items.items() if isinstance(item, Item)]
    present, distances, now = yield from _again(register, held, found, record.desired.window)
    fences = yield from fence(register.counter, present, register.epoch, distances, into=True)
    described = dict(zip(held, (yield [op.DescribeTable(region) for region in held]), strict=True))
    here = {region: id_ for region, id_ in described.items() if region in fences and id_ == ids[region]}
    fenced = {region: id_ for region, id_ in here.items() if not isinstance(id_, Absent)}
    if len(fenced) < len(held):
        return None
    following = _following(register, record, fences, [record.above], fenced, now)
    following = replace(following, preceding=0)  # nobody knows the layout of this epoch
    return Observation(following, {**items, **fences}, {**ids, **described}, now)


def _again(
    register: Register, regions: Iterable[str], found: Observation, least: int
) -> Steps[tuple[Items, dict[str, int], int]]:
    """Read items again. Return them, how far above what is issued each is to be fenced, and the time.

    That lasts ten seconds at the rate since the item was found, and at that since the last grant. `least` is the
    smallest window.
    """
    now, *again = yield [op.Clock(), *(op.ReadItem(region, register.counter) for region in regions)]
    items: Items = dict(zip(regions, again, strict=True))
    average = used_by(register, _top(items, register)) / max(now - register.granted, SHORTEST)
    distances: dict[str, int] = {}
    for region, item in items.items():
        before = found.items.get(region)
        if isinstance(item, Item):
            known = before if isinstance(before, Item) and before.epoch == item.epoch else item
            minted = (item.issued - known.issued) // item.stride
            rate = max(minted / max(now - found.at - 1, 1), average)  # both times are whole seconds
            distances[region] = max(least_distance(least), int(rate * LASTS))
    return items, distances, now


def _top(items: Items, register: Register) -> int:
    """Return the last integer that is issued of this epoch; one below its base if there is none."""
    tops = (item.issued for item in items.values() if isinstance(item, Item) and item.epoch == register.epoch)
    return max(tops, default=register.base - 1)


def _following(
    register: Register, record: DeploymentRecord, items: Items, tops: Sequence[int], fenced: Mapping[str, str], now: int
) -> Register:
    """Return the register of the next epoch, above these items and `tops`. `fenced` are the tables of fenced items."""
    found = [item for item in items.values() if isinstance(item, Item)]
    floor = record.desired.floor(register.counter)
    base = max([register.base, floor, *(top + 1 for top in tops), *(item.ceiling + 1 for item in found)])
    epoch = 1 + max([register.epoch, *(item.epoch for item in found)])
    return replace(beginning(register.counter, record, epoch, base, now, fenced), preceding=register.epoch)


def fence(
    counter: str, items: Items, epoch: int, distances: Mapping[str, int], *, into: bool = False
) -> Steps[dict[str, Item]]:
    """Fence items, and return those that are fenced. One of a later epoch is left alone: another run was faster.

    An item that was never given this epoch's integers is brought to this epoch, closed. With `into`, nobody was given
    any, and items may mint until now: they are fenced like those of this epoch.
    """
    fenced: dict[str, Item] = {}
    for _ in range(ATTEMPTS):
        writes: dict[str, op.Operation] = {}
        for region, item in items.items():
            if not isinstance(item, Item) or region in fenced or item.epoch > epoch:
                continue
            if item.fenced and not item.held and item.epoch == epoch:
                fenced[region] = item
            else:
                by = distances.get(region, 0) if into or item.epoch == epoch else 0
                writes[region] = ending(region, counter, item, epoch, by)
        if not writes:
            break
        answers = dict(zip(writes, (yield [*writes.values()]), strict=True))
        for region, answer in answers.items():
            before = items[region]
            if answer is False or isinstance(answer, Absent) or not isinstance(before, Item):
                continue
            fenced[region] = replace(before, epoch=epoch, fenced=True, held="", ceiling=answer)
        again = [region for region in writes if region not in fenced]
        items = dict(zip(again, (yield [op.ReadItem(region, counter) for region in again]), strict=True))
    return fenced


def left_of(*found: Any) -> list[Register | Item]:
    """Return what is left of a counter, of what was found in all tables."""
    originals: list[Any] = [each.original if isinstance(each, Copy) else each for each in found]
    return [each for each in originals if isinstance(each, Register | Item)]


def lost_register(new: Register, loss: str, known: Sequence[Register | Item], now: int) -> Register:
    """Return the register of a counter whose limit is lost, in an epoch that nobody can have seen.

    `new` is what a new counter would begin with, `known` all that is left of this one. If the latest of it shows a
    deletion, the counter stays deleted.

    A warm function refuses what is of an earlier epoch than it has seen, and a late write may still name one. Epochs
    began less often than once a second, and so there were fewer than seconds since 1970.
    """
    registers = [each for each in known if isinstance(each, Register)]
    latest = max(known, key=lambda each: each.epoch, default=None)
    deleted = not latest.regions if isinstance(latest, Register) else latest is not None and latest.held == DELETED
    regions = () if deleted else new.regions
    return replace(
        new,
        epoch=max(now, new.epoch, 1 + (latest.epoch if latest else 0)),
        regions=regions,
        ids=(None,) * len(regions),
        base=max([1, *(each.base for each in registers)]),
        limit=max([0, *(each.limit for each in registers)]),
        lost=loss,
    )
