"""How one counter comes to stand as wanted, while every region keeps minting.

`settle` decides and does no I/O: it yields batches of operations (a batch may be carried out in any
order or at once) and is sent their answers. Every write is conditional, so it may stop anywhere, be
run again and race with others of its kind: the register decides, all carry out the same.
"""

from collections.abc import Generator, Sequence
from typing import Any

from components.layout import places

from .model import Item, Refused, Register, Wish
from .operations import (
    CreateRegister,
    OpenItem,
    Operation,
    PlaceItem,
    ReadItem,
    ReadRegister,
    ReadStanding,
    RenewItem,
    ReplaceRegister,
)

Steps = Generator[Sequence[Operation], Sequence[Any], Any]


def settle(counter: str, wish: Wish, token: str) -> Generator[Sequence[Operation], Sequence[Any], Register]:
    """Bring `counter` to `wish` and return the register that stands.

    `token` tells this run from every other one (a random string).

    Raises:
        Refused: nothing can be done, or must be done, without an operator.
    """
    while True:
        register = yield from _one(ReadRegister(counter))
        if register is None:
            yield from _create(counter, wish)
        elif not register.opened:
            yield from _open(register, token)
        elif register.regions == wish.regions:
            if (yield from _all_there(register)):
                return register
        else:
            raise Refused(
                f"{counter}: its layout is {_listed(register.regions)}, and {_listed(wish.regions)} is wanted; "
                "the layout of a running stack can't be changed yet. "
                f"Set regions back to {_listed(register.regions)}; nothing was changed."
            )


def _create(counter: str, wish: Wish) -> Steps:
    """Step 1: the counter's first register, unless the regions show that it had one."""
    standing: tuple[str, ...] = (yield from _one(ReadStanding())) or wish.regions
    items = yield [ReadItem(region, counter) for region in standing]
    found = [region for region, item in zip(standing, items, strict=True) if item is not None]
    if found and (yield from _one(ReadRegister(counter))) is None:
        raise Refused(
            f"{counter}: {_listed(found)} already has an item of this counter, but the layouts table has no "
            "register of it; the register was lost. Restore the layouts table from its backup "
            "(point-in-time recovery), then deploy again."
        )
    if not found:
        base = max(1, wish.floor)
        yield from _one(CreateRegister(Register(counter, epoch=1, regions=standing, base=base)))


def _open(register: Register, token: str) -> Steps:
    """Step 2: give every region its item of this epoch, then say so in the register.

    An older item is renewed at once. Where there is none, anyone who still believes in an epoch long
    gone could put one into a table made anew; so it is placed closed, under a token of one's own, and
    opened only if the register still says the same after that.
    """
    counter, epoch = register.counter, register.epoch
    wanted = {
        region: Item(place.before(register.base), place.stride, place.highest_ceiling(register.base), epoch)
        for region, place in places(register.regions).items()
    }
    renewed = yield [RenewItem(region, counter, item) for region, item in wanted.items()]
    rest = [region for region, done in zip(wanted, renewed, strict=True) if not done]
    found = yield [ReadItem(region, counter) for region in rest]
    placing: list[PlaceItem] = []
    for region, item in zip(rest, found, strict=True):
        if item is None or item.opening is not None:
            closed = Item(wanted[region].issued, wanted[region].stride, wanted[region].issued, epoch, True, token)
            placing.append(PlaceItem(region, counter, closed, item.opening if item else None))
        elif item.epoch != epoch:
            yield from _unless_changed(register, _newer(register, region, item))
            return
    if placing:
        yield placing
        if (yield from _one(ReadRegister(counter))) != register:
            return
        opened = yield [OpenItem(place.region, counter, token, wanted[place.region].ceiling) for place in placing]
        if not all(opened):
            return
    yield from _one(ReplaceRegister(register, _with(register, opened=True)))


def _all_there(register: Register) -> Generator[Sequence[Operation], Sequence[Any], bool]:
    """Step 3: does every region have its item of this epoch? False: the register has changed meanwhile."""
    items = yield [ReadItem(region, register.counter) for region in register.regions]
    for region, item in zip(register.regions, items, strict=True):
        if item is not None and item.epoch > register.epoch:
            return (yield from _unless_changed(register, _newer(register, region, item)))
        if item is None or item.opening is not None or item.epoch < register.epoch:
            return (yield from _unless_changed(register, _lost(register, region, item)))
    return True


def _unless_changed(register: Register, refusal: Refused) -> Generator[Sequence[Operation], Sequence[Any], bool]:
    """What was found is wrong only if the register is still what it was found wrong against."""
    if (yield from _one(ReadRegister(register.counter))) == register:
        raise refusal
    return False


def _lost(register: Register, region: str, item: Item | None) -> Refused:
    found = "no item" if item is None or item.opening else f"an item of epoch {item.epoch}"
    return Refused(
        f"{register.counter}: {region} has {found}, but the layout is in epoch {register.epoch}; "
        "the region's counter table was lost or restored from a backup. Nothing was changed."
    )


def _newer(register: Register, region: str, item: Item) -> Refused:
    return Refused(
        f"{register.counter}: {region} has an item of epoch {item.epoch}, but the register is in epoch "
        f"{register.epoch}; the layouts table was restored from an old backup. Restore it to a later time "
        "(point-in-time recovery), then deploy again. Nothing was changed."
    )


def _one(operation: Operation) -> Generator[Sequence[Operation], Sequence[Any], Any]:
    return (yield [operation])[0]


def _with(register: Register, *, opened: bool) -> Register:
    return Register(register.counter, register.epoch, register.regions, register.base, opened, register.next)


def _listed(regions: Sequence[str]) -> str:
    return ", ".join(regions)
