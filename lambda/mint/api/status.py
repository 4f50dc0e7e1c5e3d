"""The state of a counter in this region, and whether it can be minted now. Nothing is minted."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from integers.lattice import Layout

from ..errors import CeilingReached, NoItem, Unusable, WentBackwards
from ..table import CounterItem, CounterTable
from .problems import ceiling_reached, missing, restored, unusable
from .reply import Problem, Response, json_response

VERSION = Path(__file__).parents[2] / "version.txt"
"""A file of the function's archive, so it belongs to the code that runs (components/function.py)."""


def status(table: CounterTable, region: str, counter: str, *, html: bool, https: bool = False) -> Response:
    """Return the counter's state in this region, as a page or as JSON.

    Raises:
        TableUnavailable: the table is unavailable.
    """
    layouts = table.layouts(counter)
    item, problem = _look(table, counter)
    document = _document(region, counter, layouts, item, problem)
    if html:
        from .pages import status_page

        base = next((layout.base for layout in layouts if item and layout.epoch == item.epoch), 1)
        return status_page(document, base, https=https)
    return json_response(document, headers={"Vary": "Accept"})


def _document(
    region: str, counter: str, layouts: Sequence[Layout], item: CounterItem | None, problem: Problem | None
) -> dict[str, Any]:
    """Return the counter's state in this region as a JSON document.

    `ok` says whether the next mint would succeed, and `reason` why it wouldn't. `position` is the last integer that
    this region has minted; before the first one of an epoch, it is one stride below that. What isn't known is null.
    """
    document: dict[str, Any] = {"region": region, "counter": counter, "ok": problem is None}
    if problem is not None:
        document["reason"] = problem.detail
    document |= {
        "epoch": item.epoch if item else None,
        "position": item.issued if item else None,
        "ceiling": item.ceiling if item else None,
        "stride": item.stride if item else None,
        "fenced": item.fenced if item else None,
        "pending": bool(layouts) and region in layouts[-1].regions and (item is None or item.epoch < layouts[-1].epoch),
        "regions": list(layouts[-1].regions) if layouts else [],
        "version": VERSION.read_text(encoding="utf-8").strip() if VERSION.exists() else None,
    }
    return document


def _look(table: CounterTable, counter: str) -> tuple[CounterItem | None, Problem | None]:
    """Return the counter's item, None if there is none, and why it can't be minted, None if it can."""
    try:
        item = table.item(counter)
    except NoItem:
        return None, missing(counter)
    except WentBackwards:
        return table.find(counter), restored()
    except Unusable:
        return None, unusable()
    return item, ceiling_reached(counter, None, item) if item.issued >= item.ceiling else None


def health(table: CounterTable, region: str, counter: str) -> Response:
    """Return 200 if the next mint of the counter would succeed. Nothing is minted; it takes one read.

    Raises:
        NoItem: the item is missing.
        CeilingReached: no integer is left up to its ceiling.
        WentBackwards: the table was restored to an earlier state.
        TableUnavailable: the table is unavailable.
    """
    item = table.item(counter)
    if item.issued >= item.ceiling:
        raise CeilingReached(item)
    return json_response({"status": "ok", "region": region})
