"""Layouts and owners: which region mints an integer, according to the counter's layouts."""

from collections.abc import Sequence
from typing import NamedTuple


class Layout(NamedTuple):
    """The ordered regions that mint from `base` on, in one epoch."""

    epoch: int
    base: int
    regions: tuple[str, ...]


class Owner(NamedTuple):
    """The one region that mints an integer, with its place in the layout of that epoch."""

    region: str
    offset: int
    stride: int
    epoch: int


def owner_of(integer: int, layouts: Sequence[Layout]) -> Owner | None:
    """Return the owner of an integer, or None if the integer is below the first base.

    Args:
        integer: 1 to 2^53 − 1.
        layouts: the counter's layouts, the oldest first.
    """
    for layout in reversed(layouts):
        if integer >= layout.base:
            stride = len(layout.regions)
            offset = (integer - 1) % stride + 1
            return Owner(layout.regions[offset - 1], offset, stride, layout.epoch)
    return None
