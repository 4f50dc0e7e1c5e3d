"""Layouts and owners: which region mints an integer, by the layouts that a counter has had."""

from collections.abc import Sequence
from typing import NamedTuple


class Layout(NamedTuple):
    """Who mints what from `base` on, in one epoch."""

    epoch: int
    base: int
    regions: tuple[str, ...]


class Owner(NamedTuple):
    """The one region that mints an integer: `offset` from 1 to `stride`, in that epoch."""

    region: str
    offset: int
    stride: int
    epoch: int


def owner_of(integer: int, layouts: Sequence[Layout]) -> Owner | None:
    """Return the owner of an integer, or None if it lies below the first base, where no region mints.

    Args:
        integer: 1 to 2^53 − 1.
        layouts: a counter's, the oldest first.
    """
    for layout in reversed(layouts):
        if integer >= layout.base:
            stride = len(layout.regions)
            offset = (integer - 1) % stride + 1
            return Owner(layout.regions[offset - 1], offset, stride, layout.epoch)
    return None
