"""Gives regions their items by a register, and closes those of regions that leave."""

from collections.abc import Sequence

from .advance import closing
from .model import Absent, Item, Register
from .operations import DescribeTable, OpenItem, Operation, PlaceItem, RaiseItem, RecordLayouts, RenewItem
from .plan import Give, Ids, Items, closed, join, wanted_items
from .reading import Known, Next, Steps


def place(register: Register, regions: Sequence[str], items: Items, ids: Ids, token: str) -> Steps[Next]:
    """Put a closed item where there is none, and return the register with the tables in which it now is.

    The item can't mint before the register names its table, and it is opened.
    """
    wanted = wanted_items(register)
    new = {region: closed(wanted[region], token) for region in regions}
    answers = yield [PlaceItem(region, register.counter, item, _token(items[region])) for region, item in new.items()]
    placed = [region for region, held in zip(regions, answers, strict=True) if held is True]
    found = dict(zip(placed, (yield [DescribeTable(region) for region in placed]), strict=True))
    following = join(register, found)
    # Where another run has placed an item meanwhile, what is known is outdated.
    known = Known(following, {**items, **new}, {**ids, **found}) if len(placed) == len(new) else None
    return Next(following, known)


def give(register: Register, give: Give, items: Items) -> Steps[bool]:
    """Give regions what the register says, and close those that leave. Return whether everything was written.

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
            writes.append(closing(region, counter, item, register.epoch))
    done = yield writes
    return len(here) == len(told) and all(answer is True for answer in done)


def _token(item: Item | Absent | None) -> str | None:
    return item.opening if isinstance(item, Item) else None
