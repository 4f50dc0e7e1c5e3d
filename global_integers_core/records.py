"""The records in the tables: their keys, and the attributes that several functions read or write.

A counter's name has no `/` (names.py), so keys with a `/` are free for other records.
"""

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from sys import intern
from typing import Any, NamedTuple

from .lattice import Layout

RECORD_KEY = "/deployment"
"""The key of the deployment record in the layouts table, and of its copy in the mirror."""

ADMITTED_KEY = "/admitted"
"""The key in the layouts table of what identifies the record. Writes compare it, which costs less than the record."""

RUN_LOCK_KEY = "/run-lock"
"""The key in the layouts table of the run lock, which keeps two scheduled runs apart."""


ASKED_KEY = "/asked"
"""The key in a region's receipts table of when the region last asked for integers. A receipt's key begins with a
counter's name, and so does that of a counter's layouts."""


HOME_KEY = "/home"
"""The key in a region's receipts table of which region is the home, as it was told."""


def layouts_key(counter: str) -> str:
    """Return the key of a counter's layouts in a region's receipts table. A receipt's key has a space."""
    return f"{counter}/layouts"


def counter_of(key: str) -> str | None:
    """Return the counter whose item has this key, or None if it is another record's key."""
    return None if "/" in key else key


def issued_in(epoch: int) -> str:
    """Return the name of the attribute with the last integer issued in a past epoch, in a record of layouts."""
    return f"issued_{epoch}"


def last_past_issued(attributes: Mapping[str, Any]) -> tuple[int, int] | None:
    """Return the epoch in which an item was before, and the last integer that was issued in it; None if it has none."""
    if "pastEpoch" not in attributes:
        return None
    return int(attributes["pastEpoch"]["N"]), int(attributes["pastIssued"]["N"])


class Recorded(NamedTuple):
    """A counter's layouts as a region has them on record."""

    layouts: tuple[Layout, ...] = ()
    """The oldest first; none if they aren't known."""
    issued: Mapping[int, int] = {}
    """The last integer that this region issued in each past epoch of which it knows."""


def recorded_of(attributes: Mapping[str, Any]) -> Recorded:
    """Decode a counter's layouts."""
    found = ((name.removeprefix("issued_"), value) for name, value in attributes.items() if name.startswith("issued_"))
    return Recorded(
        history_of(attributes["history"]["S"]) if "history" in attributes else (),
        {int(epoch): int(value["N"]) for epoch, value in found},
    )


@lru_cache(maxsize=256)  # a change writes the same history to every region
def history_text(layouts: tuple[Layout, ...]) -> str:
    """Return layouts as JSON, the oldest first.

    Each region's name is in it once, and a layout whose regions are those of the one before doesn't repeat them: forty
    layouts of thirty regions take some 2 KB instead of 30.
    """
    names: dict[str, int] = {}
    entries: list[list[Any]] = []
    before: tuple[str, ...] = ()
    for layout in layouts:
        entry: list[Any] = [layout.epoch, layout.base]
        if layout.regions != before:
            before = layout.regions
            entry.append([names.setdefault(region, len(names)) for region in before])
        entries.append(entry)
    return json.dumps({"regions": list(names), "layouts": entries}, separators=(",", ":"))


@lru_cache(maxsize=256)
def history_of(text: str) -> tuple[Layout, ...]:
    """Return the layouts that `history_text` encoded."""
    found = json.loads(text)
    names, layouts, regions = found["regions"], list[Layout](), ()
    for epoch, base, *places in found["layouts"]:
        if places:
            regions = tuple(names[place] for place in places[0])
        layouts.append(Layout(epoch, base, regions))
    return tuple(layouts)


def regions_attribute(regions: Sequence[str]) -> dict[str, Any]:
    """Return regions as a DynamoDB attribute: a list of strings, in order."""
    return {"L": [{"S": region} for region in regions]}


def regions_of(attribute: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the regions that `regions_attribute` encoded."""
    return tuple(intern(region["S"]) for region in attribute["L"])
