"""Changes the layout of one counter while every region goes on minting.

`settle` decides and does no I/O. It yields batches of operations and is sent their answers. The operations
of a batch may be carried out in any order, or at the same time. Every write is conditional, so `settle` may
stop anywhere and be run again, and several runs may race: the register decides, and all of them carry out
the same change.

docs/layouts.md says why no integer is minted twice. tests/simulation/ searches for a counterexample, and has
transcripts of whole runs.
"""

from collections.abc import Generator, Sequence
from dataclasses import replace
from typing import Any

from integers.lattice import lowered_ceiling, places

from .model import HEADROOM, MAX_PAST, Item, Next, Refused, Register, Wish
from .operations import (
    CreateRegister,
    FenceItem,
    OpenItem,
    Operation,
    PlaceItem,
    ReadItem,
    ReadRegister,
    ReadStanding,
    RecordLayouts,
    RenewItem,
    ReplaceRegister,
)
from .refusals import lost, lost_register, newer, nothing_deployed, superseded

Steps = Generator[Sequence[Operation], Sequence[Any], None]


def settle(
    counter: str, wish: Wish, token: str, headroom: int = HEADROOM
) -> Generator[Sequence[Operation], Sequence[Any], Register]:
    """Do for `counter` what `wish` asks.

    Args:
        counter: its name.
        wish: the regions and the floor that it is to have.
        token: a random string, which no other run has.
        headroom: how many integers a region may still mint between its fence and the next epoch's opening.

    Returns:
        The register as it is then.

    Raises:
        Refused: it needs an operator to continue.
    """
    while True:
        register = yield from _one(ReadRegister(counter))
        if register is None:
            yield from _create(counter, wish, token)
        elif not register.opened:
            yield from _open(register, token)
        elif wish.regions is None:
            return register
        elif register.next is not None:
            yield from _fence(register, wish, headroom)
        else:
            items = yield from _check_items(register, may_be_lost=wish.floor > register.base)
            if items is None:
                continue
            if register.regions == wish.regions and wish.floor <= register.base and not _any_fenced(items):
                return register
            yield from _decide(register, Next(wish.regions, wish.floor))


def _create(counter: str, wish: Wish, token: str) -> Steps:
    """Create the counter's register, unless a region's item shows that it had one."""
    standing: tuple[str, ...] | None = yield from _one(ReadStanding())
    if standing is None:
        raise nothing_deployed(counter)
    if wish.regions not in (None, standing):
        raise superseded(standing)
    items = yield [ReadItem(region, counter) for region in standing]
    found = [region for region, item in zip(standing, items, strict=True) if item is not None]
    if not found:
        register = Register(counter, 1, standing, base=max(1, wish.floor), born=token)
        yield from _one(CreateRegister(register))
    elif (yield from _one(ReadRegister(counter))) is None:
        raise lost_register(counter, found)


def _open(register: Register, token: str) -> Steps:
    """Write this epoch's item in every region, then mark the register as opened.

    An item of an earlier epoch is renewed with one write. If there is none, a late coordinator of a past
    epoch may be about to put its own into the same new or recreated table. So an item is first placed
    closed, with this run's token, and opened only if the register is still the same after that.
    """
    counter, epoch, base = register.counter, register.epoch, register.base
    wanted = {
        region: Item(place.before(base), place.stride, place.highest_ceiling(base), epoch)
        for region, place in places(register.regions).items()
    }
    done = yield [
        *(RenewItem(region, counter, item, over=epoch - 1) for region, item in wanted.items()),
        *(RecordLayouts(region, counter, register.layouts) for region in wanted),
    ]
    rest = [region for region, renewed in zip(wanted, done, strict=False) if not renewed]
    found = yield [ReadItem(region, counter) for region in rest]
    placing: list[PlaceItem] = []
    older: list[RenewItem] = []
    for region, item in zip(rest, found, strict=True):
        if item is None or item.opening is not None:
            closed = replace(wanted[region], ceiling=wanted[region].issued, fenced=True, opening=token)
            placing.append(PlaceItem(region, counter, closed, item.opening if item else None))
        elif item.epoch > epoch:
            yield from _unless_changed(register, newer(register, region, item))
            return
        elif item.epoch < epoch:  # the region had left and is back, or its table was restored
            older.append(RenewItem(region, counter, wanted[region], over=item.epoch))
    if older and not all((yield older)):
        return  # another coordinator was faster: start over
    if placing:
        yield placing
        if (yield from _one(ReadRegister(counter))) != register:
            return
        opened = yield [OpenItem(place.region, counter, token, wanted[place.region].ceiling) for place in placing]
        if not all(opened):
            return
    yield from _one(ReplaceRegister(register, replace(register, opened=True)))


def _check_items(
    register: Register, *, may_be_lost: bool
) -> Generator[Sequence[Operation], Sequence[Any], list[Item | None] | None]:
    """Check and return every region's item. Return None if the register has changed in the meantime."""
    items = yield [ReadItem(region, register.counter) for region in register.regions]
    for region, item in zip(register.regions, items, strict=True):
        refusal = _wrong_item(register, region, item, may_be_lost=may_be_lost)
        if refusal is not None:
            yield from _unless_changed(register, refusal)
            return None
    return list(items)


def _decide(register: Register, following: Next) -> Steps:
    """Write the next layout into the register. All its regions must answer first."""
    items = yield [ReadItem(region, register.counter) for region in following.regions]
    for region, item in zip(following.regions, items, strict=True):
        if item is not None and item.epoch > register.epoch:
            yield from _unless_changed(register, newer(register, region, item))
            return
    decided = yield from _one(ReplaceRegister(register, replace(register, next=following), following.regions))
    standing = yield from _one(ReadStanding())
    if not decided and standing != following.regions:
        raise superseded(standing)


def _fence(register: Register, wish: Wish, headroom: int) -> Steps:
    """Fence every region of this epoch, then begin the next epoch above all ceilings."""
    following = register.next
    assert following is not None  # noqa: S101 (the caller has seen it)
    if wish.floor > max(register.base, following.floor):  # so an operator can continue although a table is lost
        raised = replace(following, floor=wish.floor)
        yield from _one(ReplaceRegister(register, replace(register, next=raised)))
        return
    items = yield [ReadItem(region, register.counter) for region in register.regions]
    ceilings: list[int] = []
    fences: list[FenceItem] = []
    for region, item in zip(register.regions, items, strict=True):
        refusal = _wrong_item(register, region, item, may_be_lost=following.floor > register.base)
        if refusal is not None:
            yield from _unless_changed(register, refusal)
            return
        if item is None or item.opening is not None:
            continue  # the table is lost, and the floor covers it; an item that is being opened can't mint
        if item.fenced:
            ceilings.append(item.ceiling)
        else:
            ceiling = lowered_ceiling(item.issued, item.stride, item.ceiling, headroom)
            fences.append(FenceItem(region, register.counter, item.epoch, ceiling))
    if fences and not all((yield fences)):
        return  # another coordinator fenced it, or it has minted past the ceiling: start over
    ceilings += [fence.ceiling for fence in fences]
    base = max(register.base, following.floor, *(ceiling + 1 for ceiling in ceilings))
    after = Register(
        register.counter, register.epoch + 1, following.regions, base, register.born, past=register.layouts[-MAX_PAST:]
    )
    yield from _one(ReplaceRegister(register, after))


def _wrong_item(register: Register, region: str, item: Item | None, *, may_be_lost: bool) -> Refused | None:
    """Return what is wrong with a region's item in an opened epoch, if anything."""
    if item is not None and item.epoch > register.epoch:
        return newer(register, region, item)
    if may_be_lost:
        return None
    if item is None or item.opening is not None or item.epoch < register.epoch:
        return lost(register, region, item)
    return None


def _any_fenced(items: Sequence[Item | None]) -> bool:
    """Return whether an item is fenced although nothing was decided to follow.

    Then the register was restored to a time before the decision. A new epoch repairs that.
    """
    return any(item is not None and item.fenced for item in items)


def _unless_changed(register: Register, refusal: Refused) -> Steps:
    """Refuse if the register is unchanged. If it has changed, what was found wrong may be right by now."""
    if (yield from _one(ReadRegister(register.counter))) == register:
        raise refusal


def _one(operation: Operation) -> Generator[Sequence[Operation], Sequence[Any], Any]:
    return (yield [operation])[0]
