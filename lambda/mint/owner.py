"""Answers which region owns an integer, from what this region knows, without asking another one."""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from integers.layouts import owner_of
from integers.records import issued_in

from .http.reply import RETRY_AFTER, Problem
from .table import CounterTable, UnknownCounter


def owner_document(table: CounterTable, region: str, counter: str, integer: int) -> dict[str, Any]:
    """Return the owner of an integer, and whether it was minted if this region can know. It mints nothing.

    `minted` is null where another region knows, which `ask` then names, and where no region knows any more:
    the owner has left the layout, or its table was lost since.

    Raises:
        Problem: 404, there is no such counter, or no region ever mints this integer; 503, while a change of
            layout is just reaching this region.
        Unavailable: the table did not answer.
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
    """Return whether this region has minted an integer that it owns in `epoch`, by its item's numbers.

    None: this table did not exist in that epoch, or was lost since.
    """
    if epoch >= item["epoch"]:  # an epoch that is about to begin here has minted nothing yet
        return epoch == item["epoch"] and integer <= item["issued"]
    issued = item.get(issued_in(epoch))
    return None if issued is None else integer <= issued
