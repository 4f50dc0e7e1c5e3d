"""Whose an integer is, and whether it was minted: arithmetic on the layouts that the coordinator has recorded here."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Layout(NamedTuple):
    """Who minted what from `base` on, in one epoch."""

    epoch: int
    base: int
    regions: tuple[str, ...]


class Owner(NamedTuple):
    """The one region that minted, or may mint, an integer: `offset` from 1 to `stride`, in that epoch."""

    region: str
    offset: int
    stride: int
    epoch: int


def owner_of(integer: int, layouts: Sequence[Layout]) -> Owner | None:
    """None: it lies below the first base, so nobody mints it. `layouts`: the oldest first."""
    for layout in reversed(layouts):
        if integer >= layout.base:
            stride = len(layout.regions)
            offset = (integer - 1) % stride + 1
            return Owner(layout.regions[offset - 1], offset, stride, layout.epoch)
    return None


def minted(integer: int, epoch: int, item: Mapping[str, int]) -> bool | None:
    """Whether this region has minted an integer that it owns in `epoch`, by its item's numbers.

    None: this table wasn't there in that epoch, or was lost since.
    """
    if epoch >= item["epoch"]:  # an epoch that is about to begin here has minted nothing yet
        return epoch == item["epoch"] and integer <= item["issued"]
    issued = item.get(f"issued_{epoch}")
    return None if issued is None else integer <= issued


def layouts_of(attributes: Mapping[str, Any]) -> tuple[Layout, ...]:
    """Of the item that the coordinator keeps beside each counter's: a list of `{epoch, base, regions}`."""
    return tuple(
        Layout(
            int(entry["M"]["epoch"]["N"]),
            int(entry["M"]["base"]["N"]),
            tuple(region["S"] for region in entry["M"]["regions"]["L"]),
        )
        for entry in attributes["layouts"]["L"]
    )
