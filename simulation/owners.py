"""Asks a region who owns an integer, by the minting function's own code, and checks what it says."""

from typing import Any, cast

from coordinate.encoding import item_values
from mint.http.reply import Problem
from mint.owner import owner_document
from mint.table import CounterTable, Item, UnknownCounter

from integers.layouts import Layout
from integers.records import issued_in

from .checked import CheckedWorld


class FalseOwner(AssertionError):
    """A region said something wrong about an integer."""


def ask(world: CheckedWorld, region: str, counter: str, integer: int) -> dict[str, Any] | None:
    """Ask a region about an integer. Return what it says, or None if it doesn't know.

    What a restored table says is excepted, like what it mints. It doesn't know what was minted after the backup, so
    later too it may say of such an integer that it wasn't minted.

    Raises:
        FalseOwner: it names another region than the one that minted the integer, or is wrong about its own.
    """
    table = cast("CounterTable", _Table(world, region))
    try:
        document = owner_document(table, region, counter, integer)
    except Problem:
        return None
    where = world.minted.get((counter, integer))
    if region in world.restored or (counter, integer) in world.excepted:
        return document
    if where is not None and where != document["region"]:
        raise FalseOwner(f"{region} says of {counter} {integer}, which {where} has minted: {document}")
    forgotten = document["epoch"] <= world.forgotten.get(region, 0) and not document["minted"]
    if document["minted"] is not None and document["minted"] != (where == region) and not forgotten:
        raise FalseOwner(f"{region} says of {counter} {integer}, minted in {where}: {document}")
    return document


class _Table:
    """A region's table as the minting function reads it."""

    def __init__(self, world: CheckedWorld, region: str) -> None:
        table = world.tables.get(region)
        self._counters = table.counters if table else {}

    def layouts(self, counter: str) -> tuple[Layout, ...]:
        kept = self._counters.get(counter)
        return kept.layouts if kept else ()

    def item(self, counter: str) -> Item:
        kept = self._counters.get(counter)
        if kept is None or kept.item is None:
            raise UnknownCounter
        item = kept.item
        past = {issued_in(epoch): {"N": str(issued)} for epoch, issued in kept.issued_in.items()}
        attributes = {**item_values(item), **past}
        return Item(item.issued, item.stride, item.ceiling, item.epoch, item.fenced, attributes)
