"""Changes the layout of one counter while every region that answers goes on minting.

`settle` decides and does no I/O. It yields batches of operations and is sent their answers. The operations
of a batch may be carried out in any order, or at the same time. Every write is conditional, so `settle` may
stop anywhere and be run again, and several runs may race: the register decides, and all of them carry out
the same change.

The rule is that an epoch's base lies above all that was minted before: above the ceiling of every region that was
fenced, and above the limit for every one that wasn't.

docs/layouts.md says why no integer is minted twice. tests/simulation/ searches for a counterexample, and has
transcripts of whole runs.
"""

from collections.abc import Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from integers.lattice import MAX_INTEGER, lowered_ceiling

from . import plan as steps
from .model import MAX_PAST, Absent, Copy, Item, Record, Refused, Register
from .operations import (
    CloseItem,
    DescribeLayouts,
    DescribeMirror,
    DescribeTable,
    FenceItem,
    OpenItem,
    Operation,
    PlaceItem,
    RaiseItem,
    ReadCopy,
    ReadItem,
    ReadRecord,
    ReadRecordCopy,
    ReadRegister,
    RecordLayouts,
    RenewItem,
    WriteCopy,
    WriteRegister,
)
from .plan import Change, Conflict, End, Give, Place, Settled, Stay, closed, granted, join, plan, wanted_items
from .refusals import ahead, lost_home, lost_register, no_region, nothing_deployed, used_up

Steps = Generator[Sequence[Operation], Sequence[Any], Any]

ROUNDS = 100
"""How often a run looks again before it gives up. Each time, another run was faster, or one step was taken."""


ATTEMPTS = 5
"""How often a fence is tried while the region goes on minting past it."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a counter stands: its register, the regions that have yet to follow, and whether this run created it."""

    register: Register
    pending: tuple[str, ...]
    created: bool = False


def settle(counter: str, run: str, now: int) -> Generator[Sequence[Operation], Sequence[Any], Outcome]:
    """Bring a counter to the layout that the record asks for. A counter that doesn't exist is created.

    Args:
        counter: its name.
        run: a random string, which no other run has.
        now: seconds since 1970.

    Returns:
        The register as it is then, and the regions that didn't answer.

    Raises:
        Refused: it needs an operator to continue.
    """
    created = False
    for number in range(ROUNDS):
        token = f"{run}/{number}"  # no two items are ever placed under one token
        copy = yield from _one(
            ReadCopy(counter)
        )  # before the register, or an older register could replace a newer copy
        register, record = yield [ReadRegister(counter), ReadRecord()]
        home, mirror = yield [DescribeLayouts(), DescribeMirror()]  # after the reads, so it is these tables' content
        if record is None or record.home != home:
            raise nothing_deployed(counter) if record is None else lost_home(home)
        if register is None or register.home != home:
            if copy is not None and copy.mirror == mirror:  # the layouts table was lost; this is what was in it
                yield from _write(register, replace(copy.register, home=home), record, copy, mirror)
            elif register is not None and not register.home and not register.granted:
                yield from _adopt(register, record, home)
            else:
                new = yield from _first(counter, register, copy, record, home, now)
                created = (yield from _write(register, new, record, copy, mirror)) or created
            continue
        if copy != Copy(register, mirror):
            yield [WriteCopy(copy, Copy(register, mirror))]
            continue  # nothing is done by a register before its copy is written
        items, ids = yield from _look((*register.regions, *record.wish.regions, *record.wish.leaving), counter)
        following: Register | None = None
        match plan(register, record, items, ids, now):
            case Settled(pending):
                return Outcome(register, pending, created)
            case Conflict(region, item):
                if (yield from _one(ReadRegister(counter))) != register:
                    continue  # another run was faster, and what it has given is no conflict
                if record.wish.floor(counter) <= register.base:
                    raise ahead(register, region, item)
                following = yield from _advance(register, record, items, now, beyond_floor=True)
            case Stay():
                raise no_region(counter, record.wish.regions)
            case End():
                following = yield from _advance(register, record, items, now)
            case Place(regions):
                following = yield from _place(register, regions, items, token)
            case Change(changed):
                following = changed
            case Give() as give:
                if (yield from _give(register, give, items)):
                    return Outcome(register, give.pending, created)
        if following is not None:
            yield from _write(register, following, record, copy, mirror)
    raise Refused(f"{counter}: other runs were faster {ROUNDS} times. The next run continues where this one stopped.")


def _look(
    regions: Iterable[str], counter: str
) -> Generator[Sequence[Operation], Sequence[Any], tuple[steps.Items, steps.Ids]]:
    """Return every region's item, and then the id of its table."""
    names = tuple(dict.fromkeys(regions))
    items = yield [ReadItem(region, counter) for region in names]
    ids = yield [DescribeTable(region) for region in names]
    return dict(zip(names, items, strict=True)), dict(zip(names, ids, strict=True))


def _write(
    old: Register | None, new: Register, record: Record, copy: Copy | None, mirror: str
) -> Generator[Sequence[Operation], Sequence[Any], bool]:
    """Write a register and then its copy. Return whether the register was written; the copy may still be missing."""
    written = yield from _one(WriteRegister(old, new, record))
    if written:
        yield [WriteCopy(copy, Copy(new, mirror))]
    return bool(written)


def _first(
    counter: str, register: Register | None, copy: Copy | None, record: Record, home: str, now: int
) -> Generator[Sequence[Operation], Sequence[Any], Register]:
    """Return the first register of a counter.

    If anything is found of the counter, its register and its copy were lost, and only a floor can say what was minted.
    """
    wish = record.wish
    items, _ = yield from _look((*wish.regions, *wish.leaving), counter)
    found = {region: item for region, item in items.items() if isinstance(item, Item)}
    past = [known for known in (register, copy.register if copy else None) if known is not None]
    floor = wish.floor(counter)
    if (found or past or not (yield from _whole(record))) and not floor:
        raise lost_register(counter, list(found))
    bounds = yield from _fence(counter, found, 0, wish.headroom, later=True)
    ceilings = [bounds.get(region, MAX_INTEGER) for region in found]
    base = max(1, floor, *(ceiling + 1 for ceiling in ceilings), *(known.base for known in past))
    epoch = 1 + max([item.epoch for item in found.values()] + [known.epoch for known in past], default=0)
    if base > MAX_INTEGER:
        raise used_up(
            counter, [region for region, ceiling in zip(found, ceilings, strict=True) if ceiling == MAX_INTEGER]
        )
    return _register(counter, home, epoch, record, base, now)


def _whole(record: Record) -> Generator[Sequence[Operation], Sequence[Any], bool]:
    """Return whether a counter without a register is a new one, since every register is where it should be."""
    if not record.restored:
        return True
    copy = yield from _one(ReadRecordCopy())
    return copy is not None and copy.mirror == (yield from _one(DescribeMirror()))


def _one(operation: Operation) -> Generator[Sequence[Operation], Sequence[Any], Any]:
    return (yield [operation])[0]


def _adopt(register: Register, record: Record, home: str) -> Steps:
    """Take over a register of version 1. Its regions have no limit, so all of them must answer once."""
    _, ids = yield from _look(register.regions, register.counter)
    known = tuple(None if isinstance(id_, Absent) else id_ for id_ in (ids[region] for region in register.regions))
    if None in known:
        raise used_up(register.counter, [region for region in register.regions if isinstance(ids[region], Absent)])
    yield [WriteRegister(register, replace(register, home=home, ids=known), record)]


def _register(
    counter: str, home: str, epoch: int, record: Record, base: int, now: int, ids: Mapping[str, str] | None = None
) -> Register:
    """Return the register of an epoch that begins."""
    regions, window = record.wish.regions, record.wish.window
    empty = Register(counter, home, epoch, regions, tuple((ids or {}).get(region) for region in regions), base, 0, 0, 0)
    return granted(empty, base - 1, window, now)


def _place(
    register: Register, regions: Sequence[str], items: steps.Items, token: str
) -> Generator[Sequence[Operation], Sequence[Any], Register]:
    """Put a closed item where there is none, and return the register with the tables in which it now is.

    The item can't mint before the register names its table, and it is opened.
    """
    wanted = wanted_items(register)
    places = [
        PlaceItem(region, register.counter, closed(wanted[region], token), _token(items[region])) for region in regions
    ]
    answers = yield places
    placed = [region for region, held in zip(regions, answers, strict=True) if held is True]
    described = yield [DescribeTable(region) for region in placed]
    return join(register, dict(zip(placed, described, strict=True)))


def _token(item: Item | Absent | None) -> str | None:
    return item.opening if isinstance(item, Item) else None


def _give(register: Register, give: Give, items: steps.Items) -> Generator[Sequence[Operation], Sequence[Any], bool]:
    """Give regions what the register says, and close those that leave. Return whether all of them have got it.

    The layouts are recorded first: an item of an epoch that isn't recorded yet can't say who owns an integer.
    """
    counter, wanted = register.counter, wanted_items(register)
    told = [*give.renew, *give.open, *give.close]
    answers = yield [RecordLayouts(region, counter, register.layouts) for region in told]
    here = {region for region, answer in zip(told, answers, strict=True) if not isinstance(answer, Absent)}
    writes: list[Operation] = []
    for region, item in items.items():
        if not isinstance(item, Item):
            continue
        if region in give.raise_:
            writes.append(RaiseItem(region, counter, register.epoch, wanted[region].ceiling))
        elif region not in here:
            continue
        elif region in give.renew:
            writes.append(RenewItem(region, counter, wanted[region], over=item.epoch))
        elif region in give.open and item.opening is not None:
            writes.append(OpenItem(region, counter, item.opening, wanted[region].ceiling))
        elif region in give.close:
            writes.append(_closing(region, counter, item, register.epoch))
    done = yield writes
    return len(here) == len(told) and all(answer is True for answer in done)


def _closing(region: str, counter: str, item: Item, epoch: int) -> Operation:
    """Return the write that closes an item at an epoch, for good. No late write can open it any more."""
    if item.opening is None:
        return CloseItem(region, counter, over=item.epoch, epoch=epoch)
    return PlaceItem(region, counter, replace(item, epoch=epoch, opening=None), instead_of=item.opening)


def _advance(register: Register, record: Record, items: steps.Items, now: int, *, beyond_floor: bool = False) -> Steps:
    """Fence every region of this epoch, then begin the next one above all that any region may have minted.

    With `beyond_floor`, items that the register hasn't given are fenced too: a floor says what they may have minted.
    """
    taking_part = {region: id_ for region, id_ in zip(register.regions, register.ids, strict=True) if id_ is not None}
    unknown = {
        region: item
        for region, item in items.items()
        if beyond_floor and isinstance(item, Item) and region not in taking_part and item.epoch >= register.epoch
    }
    present = {region: items[region] for region in {**taking_part, **unknown}}
    bounds = yield from _fence(register.counter, present, register.epoch, record.wish.headroom, later=beyond_floor)
    names = tuple(taking_part)
    described = yield [DescribeTable(region) for region in names]  # after the fences: they were in these tables
    same = {region for region, id_ in zip(names, described, strict=True) if id_ == taking_part[region]}
    tops = [bounds.get(region, register.limit) if region in same else register.limit for region in names]
    tops += [bounds.get(region, register.limit) for region in unknown]
    base = max(register.base, record.wish.floor(register.counter), *(top + 1 for top in tops))
    if base > MAX_INTEGER and not register.granted:
        raise used_up(register.counter, [region for region in names if region not in same or region not in bounds])
    epoch = 1 + max([register.epoch, *(item.epoch for item in present.values() if isinstance(item, Item))])
    fenced = {region: id_ for region, id_ in taking_part.items() if region in same and region in bounds}
    following = _register(register.counter, register.home, epoch, record, base, now, fenced)
    return replace(following, past=register.layouts[-MAX_PAST:])


def _fence(
    counter: str, items: steps.Items, epoch: int, headroom: int, *, later: bool
) -> Generator[Sequence[Operation], Sequence[Any], dict[str, int]]:
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
                writes[region] = _closing(region, counter, item, max(item.epoch, epoch))
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
