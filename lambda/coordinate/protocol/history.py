"""Keeps the past for questions about owners, outside of the tables that every run scans.

The archive, in the home region, has each counter's past layouts. Every region has a copy of them and of the present
one, beside its receipts, and what it issued in each past epoch. Minting needs none of this. Where it can't be read or
written, owners of the past are forgotten. But no history has a hole, since it would name wrong owners.
"""

from collections.abc import Iterable, Mapping, Sequence

from global_integers_core.lattice import Layout

from . import operations as op
from .model import MAX_PAST, Absent, Item, Items, Register, Scanned, item_in
from .operations import Steps, one


def archived(register: Register) -> Steps[int]:
    """Add a register's layout to the archive, before its epoch ends. Return its epoch, or 0 if the archive lacks it."""
    for _ in range(2):
        found = yield from one(op.ReadArchive(register.counter))
        if isinstance(found, Absent):
            return 0
        if register.layout in found:
            return register.epoch
        if found and found[-1].epoch >= register.epoch:
            return 0
        layouts = (*(yield from _past_of(register, found)), register.layout)
        if (yield from one(op.WriteArchive(register.counter, layouts[-MAX_PAST:]))) is True:
            return register.epoch
    return 0


def past_of(register: Register) -> Steps[tuple[Layout, ...]]:
    """Return the layouts before a register's, the oldest first, as far as they are known without a hole."""
    found = (yield from one(op.ReadArchive(register.counter))) if register.preceding else ()
    return (yield from _past_of(register, () if isinstance(found, Absent) else found))


def _past_of(register: Register, found: Sequence[Layout]) -> Steps[tuple[Layout, ...]]:
    """Do the same with what was found in the archive. What that has lost, a region's copy may still have."""
    past = _preceding(register, found)
    if past or not register.preceding:
        return past
    for region in register.regions:
        recorded = yield from one(op.ReadRecorded(region, register.counter))
        past = () if isinstance(recorded, Absent) else _preceding(register, recorded or ())
        if past:
            break
    return past


def _preceding(register: Register, found: Sequence[Layout]) -> tuple[Layout, ...]:
    """Return those of the found layouts that are before a register's. It may be among them, or a later one."""
    past = tuple(layout for layout in found if layout.epoch < register.epoch)
    return past if past and past[-1].epoch == register.preceding else ()


def record_layouts(register: Register, regions: Iterable[str], items: Items) -> Steps[dict[str, bool | Absent]]:
    """Record a register's layout and those before it in regions. Return the answers.

    What the items have of the past is recorded, too: their next epoch will take its place there.
    """
    names = tuple(regions)
    past = (yield from past_of(register)) if names else ()
    layouts = (*past, register.layout)
    answers = yield [op.RecordLayouts(region, register.counter, layouts, _past(items.get(region))) for region in names]
    return dict(zip(names, answers, strict=True))


def _past(item: Item | Absent | None) -> tuple[int, int] | None:
    return item.past if isinstance(item, Item) else None


def unrecorded(
    counter: str, items: Mapping[str, Scanned], recorded: Mapping[str, Sequence[Layout] | Absent | None]
) -> tuple[str, ...]:
    """Return the regions that have an item of this counter, but not its epoch on record: they have lost their records.

    `items` has each region's items, by counter. `recorded` are the layouts on record, read after the items.
    """
    found: list[str] = []
    for region, layouts in recorded.items():
        item = item_in(items[region], counter)
        if isinstance(item, Item) and item.opening is None and not isinstance(layouts, Absent):
            found += [region] if not layouts or layouts[-1].epoch < item.epoch else []
    return tuple(found)
