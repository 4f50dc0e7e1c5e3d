"""The records in the tables: their keys, and the attributes that several functions read or write.

A counter's name has no `/` (names.py), so keys with a `/` are free for other records.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from .layouts import Layout

RECORD_KEY = "/deployment"
"""The key of the record in the layouts table, and of its copy in the mirror: what the last deployment asked for."""

LEASE_KEY = "/lease"
"""The key in the layouts table of the lease that keeps two runs of the schedule apart."""


def layouts_key(counter: str) -> str:
    """Return the key of a counter's layouts in a region's counters table."""
    return f"{counter}/layouts"


def counter_of(key: str) -> str | None:
    """Return the counter whose item has this key, or None if it is another record's key."""
    return None if "/" in key else key


def issued_in(epoch: int) -> str:
    """Return the name of an item's attribute with the last integer issued in a past epoch."""
    return f"issued_{epoch}"


def past_issued(attributes: Mapping[str, Any]) -> dict[int, int]:
    """Return the last integer issued in each past epoch that an item's attributes remember."""
    found = ((name.removeprefix("issued_"), value) for name, value in attributes.items() if name.startswith("issued_"))
    return {int(epoch): int(value["N"]) for epoch, value in found}


def layouts_attribute(layouts: Sequence[Layout]) -> dict[str, Any]:
    """Return layouts as a DynamoDB attribute: a list of `{epoch, base, regions}`, the oldest first."""
    return {
        "L": [
            {
                "M": {
                    "epoch": {"N": str(layout.epoch)},
                    "base": {"N": str(layout.base)},
                    "regions": regions_attribute(layout.regions),
                }
            }
            for layout in layouts
        ]
    }


def layouts_of(attribute: Mapping[str, Any]) -> tuple[Layout, ...]:
    """Return the layouts that `layouts_attribute` encoded."""
    return tuple(
        Layout(int(entry["M"]["epoch"]["N"]), int(entry["M"]["base"]["N"]), regions_of(entry["M"]["regions"]))
        for entry in attribute["L"]
    )


def regions_attribute(regions: Sequence[str]) -> dict[str, Any]:
    """Return regions as a DynamoDB attribute: a list of strings, in order."""
    return {"L": [{"S": region} for region in regions]}


def regions_of(attribute: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the regions that `regions_attribute` encoded."""
    return tuple(region["S"] for region in attribute["L"])
