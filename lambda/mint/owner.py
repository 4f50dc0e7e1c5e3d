"""Say which region owns an integer. This needs no call to another region."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from integers.layouts import owner_of
from integers.records import issued_in

from .http.reply import RETRY_AFTER, Problem
from .table import CounterTable, UnknownCounter


def owner_document(table: CounterTable, region: str, counter: str, integer: int) -> dict[str, Any]:
    """Return the owner of an integer as a JSON document. Nothing is minted.

    Its `minted` says whether the integer was minted. It is null if another region knows that, which `ask` names,
    or if no region knows, because the owner has left the layout or its table was lost.

    Raises:
        Problem: 404, there is no such counter, or no owner is known; 503, a change of layout is just reaching
            this region.
        Unavailable: the table is unavailable.
    """
    layouts = table.layouts(counter)
    try:
        item = table.numbers(counter)
    except UnknownCounter:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no counter {counter!r} in this region") from None
    if not layouts or item["epoch"] > layouts[-1].epoch:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is just reaching this region; try again", RETRY_AFTER
        )
    owner = owner_of(integer, layouts)
    if owner is None:
        oldest = layouts[0]
        why = f"{counter} begins at" if oldest.epoch == 1 else "owners are only known of integers from"
        raise Problem(HTTPStatus.NOT_FOUND, f"no region is known to mint {integer}: {why} {oldest.base}")
    document: dict[str, Any] = {
        "integer": integer,
        "counter": counter,
        "offset": owner.offset,
        "stride": owner.stride,
        "region": owner.region,
        "epoch": owner.epoch,
        "minted": minted(integer, owner.epoch, item) if owner.region == region else None,
    }
    if owner.region != region and owner.region in layouts[-1].regions:
        document["ask"] = owner.region
    return document


def minted(integer: int, epoch: int, item: Mapping[str, int]) -> bool | None:
    """Return whether this region has minted an integer, or None if it can't know.

    It can't know if its table didn't exist in that epoch, or was lost since.

    Args:
        integer: an integer that this region owns.
        epoch: the integer's epoch.
        item: the numbers of this region's item.
    """
    if epoch >= item["epoch"]:  # nothing is minted in an epoch that is about to begin here
        return epoch == item["epoch"] and integer <= item["issued"]
    issued = item.get(issued_in(epoch))
    return None if issued is None else integer <= issued
