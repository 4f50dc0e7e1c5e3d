"""Which region owns an integer: answered from what this region knows, without asking another one."""

from http import HTTPStatus
from typing import Any

from .answer import Problem
from .ownership import minted, owner_of
from .table import CounterTable, UnknownCounter


def whose(table: CounterTable, region: str, counter: str, integer: int) -> dict[str, Any]:
    """The owner, and whether the integer was minted, if that is to be known here. It mints nothing.

    `minted` is null where another region knows, which `ask` then names, and where nobody does any more:
    the owner has left the layout, or its table was lost since.

    Raises:
        Problem: 404, there is no such counter, or no region ever mints this integer; 503, while a change of
            layout is just reaching this region. Unavailable.
    """
    layouts = table.layouts(counter)
    try:
        item = table.numbers(counter)
    except UnknownCounter:
        raise Problem(HTTPStatus.NOT_FOUND, f"there is no counter {counter!r} in this region") from None
    if not layouts or item["epoch"] > layouts[-1].epoch:
        raise Problem(
            HTTPStatus.SERVICE_UNAVAILABLE,
            "a change of layout is just reaching this region; try again",
            {"Retry-After": "1"},
        )
    owner = owner_of(integer, layouts)
    if owner is None:
        oldest = layouts[0]
        why = f"{counter} begins at" if oldest.epoch == 1 else "which minted it is only kept of integers from"
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
