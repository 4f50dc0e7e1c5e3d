"""Say which region owns an integer. This needs no call to another region.

A region answers only for integers up to a bound in its item: its ceiling, or, while it is fenced, what it has
issued. Every epoch after the item's begins above that. If the region was fenced, the next base lies above its fenced
ceiling; if it wasn't, because it was unreachable, above the limit, which no ceiling exceeds. So the layouts that the
region knows are right up to there, also if its item is of a past epoch or further epochs have begun meanwhile. Above
it, a layout that this region doesn't know yet may be in force, and it says so instead of naming an owner.

The layouts are read before the item, so an epoch that begins between the two reads shows in the item. What was issued
in the item's own epoch and in the one before is in the item, all that was before is beside the layouts. Where something
of it is missing, this region doesn't know whether an integer was minted.
"""

from typing import Any

from global_integers_core.lattice import OwningRegion, Place, owner_of
from global_integers_core.records import Recorded, last_past_issued

from .model import CounterItem, LayoutUnknown, RequestRefused
from .table import CounterTable


def owner_document(table: CounterTable, region: str, counter: str, integer: int) -> dict[str, Any]:
    """Return the owner of an integer as a JSON document. Nothing is minted.

    Its `minted` says whether the integer was minted. It is null if another region knows that, which `ask` names,
    or if no region knows, because the owner has left the layout or its table was lost.

    Raises:
        RequestRefused: no region is known to mint it.
        LayoutUnknown: a change of layout is under way or just reaching this region, or no region is known to mint the
            integer yet.
        RequestError: as `CounterTable.item`.
    """
    recorded, item = table.recorded(counter), table.item(counter)
    layouts = recorded.layouts
    if not layouts or item.epoch > layouts[-1].epoch:
        raise LayoutUnknown
    owner = owner_of(integer, layouts)
    if owner is None:
        oldest = layouts[0]
        why = f"{counter} begins at" if oldest.epoch == 1 else "owners are only known of integers from"
        raise RequestRefused("no owner", f"no region is known to mint {integer}: {why} {oldest.base}")
    if integer > (item.issued if item.fenced else item.ceiling):
        raise LayoutUnknown(item)
    document: dict[str, Any] = {
        "integer": integer,
        "counter": counter,
        "offset": owner.offset,
        "stride": owner.stride,
        "region": owner.region,
        "epoch": owner.epoch,
        "minted": minted(integer, owner, item, recorded) if owner.region == region else None,
    }
    if owner.region != region and owner.region in layouts[-1].regions:
        document["ask"] = owner.region
    return document


def minted(integer: int, owner: OwningRegion, item: CounterItem, recorded: Recorded) -> bool | None:
    """Return whether this region has minted an integer, or None if it can't know.

    It can't know if its table didn't exist in that epoch, or was lost since. Then the item wasn't given that epoch in
    this table: it has issued less than where the epoch begins, or the same as in the epoch before. `owner` is this
    region, in the integer's epoch.
    """
    if owner.epoch > item.epoch:
        return False  # nothing is minted in an epoch that is about to begin here
    known = dict(recorded.issued)
    for epoch, last in filter(None, (last_past_issued(item.attributes), (item.epoch, item.issued))):
        known[epoch] = max(last, known.get(epoch, last))  # a restored item may have forgotten what is recorded
    if owner.epoch not in known:
        return None
    issued = known[owner.epoch]
    before = known.get(max((epoch for epoch in known if epoch < owner.epoch), default=0))
    base = next(layout.base for layout in recorded.layouts if layout.epoch == owner.epoch)
    if issued == before or issued < Place(owner.offset, owner.stride).before(base):
        return None
    return integer <= issued
