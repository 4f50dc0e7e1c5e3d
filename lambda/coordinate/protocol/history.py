"""Keeps the past for questions about owners, outside of the tables that every run scans.

Every region has its own record of each counter's layouts, beside its receipts, and of what it issued in each past
epoch. The longest one counts. Where it can't be read or written, owners of the past are forgotten. But no history has a
hole, since it would name wrong owners. Minting needs none of this. A record also shows that there was a counter.
"""

from collections.abc import Iterable, Mapping, Sequence

from global_integers_core.lattice import Layout

from . import operations as op
from .model import MAX_PAST, Absent, Item, Items, Register, Scanned, item_in
from .operations import Steps


def past_of(register: Register, others: Iterable[str]) -> Steps[tuple[Layout, ...]]:
    """Return the layouts before a register's, the oldest first, as far as any of its regions or others has them."""
    if not register.preceding:
        return ()
    regions = dict.fromkeys([*register.regions, *others])
    found = yield [op.ReadRecorded(region, register.counter) for region in regions]
    known = [each for each in found if each is not None and not isinstance(each, Absent)]
    past = [tuple(layout for layout in each if layout.epoch < register.epoch) for each in known]
    whole = [each for each in past if each and each[-1].epoch == register.preceding]
    return max(whole, key=len, default=())[-MAX_PAST:]


def record_layouts(register: Register, regions: Iterable[str], items: Items) -> Steps[dict[str, bool | Absent]]:
    """Record a register's layout and those before it in regions. Return the answers.

    What the items have of the past is recorded, too: their next epoch will take its place there.
    """
    names = tuple(regions)
    past = (yield from past_of(register, items)) if names else ()
    layouts = (*past, register.layout)
    before = {region: item.past for region, item in items.items() if isinstance(item, Item)}
    answers = yield [op.RecordLayouts(region, register.counter, layouts, before.get(region)) for region in names]
    return dict(zip(names, answers, strict=True))


def unrecorded(
    counter: str, items: Mapping[str, Scanned], recorded: Mapping[str, Sequence[Layout] | Absent | None]
) -> tuple[str, ...]:
    """Return the regions that have an item of this counter, but not its epoch on record: they have lost their records.

    `items` has each region's items, by counter. `recorded` are the layouts on record, read after the items.
    """
    found: list[str] = []
    for region, layouts in recorded.items():
        item = item_in(items[region], counter)
        if isinstance(item, Item) and not item.held and not isinstance(layouts, Absent):
            found += [region] if not layouts or layouts[-1].epoch < item.epoch else []
    return tuple(found)
