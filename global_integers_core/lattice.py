"""The arithmetic of offsets and strides: which integers a region mints, and which region owns one.

Region number i of N (from 1) mints the integers n with n ≡ i (mod N): its *offset* is i, its
*stride* is N. Two regions of one layout never share an integer, since their offsets differ
modulo the common stride.

Integers go up to `MAX_INTEGER` = 2^53 − 1, the largest that every JSON reader holds exactly (RFC 8259,
section 6). A region that mints 1,000 integers per second with a stride of 3 reaches it after 95,000 years.
"""

from collections.abc import Sequence
from typing import NamedTuple

MAX_INTEGER = 2**53 - 1
"""The largest integer that is ever minted."""

MAX_FLOOR = 2**52
"""The largest floor. A floor is never lowered again, so half of all integers are left after a mistyped one."""

MAX_REGIONS = 64
"""The largest number of regions in a layout, and so the largest stride."""


class Place(NamedTuple):
    """One region's place in a layout: its offset, 1 to `stride`, and the stride, which is the number of regions."""

    offset: int
    stride: int

    def first(self, base: int) -> int:
        """Return this place's smallest integer that is at least `base` (from 1). It may exceed `MAX_INTEGER`."""
        return base + (self.offset - base) % self.stride

    def before(self, base: int) -> int:
        """Return `issued` as it is before the first mint of an epoch with this base: `first(base)` − stride."""
        return self.first(base) - self.stride

    def ceiling(self, limit: int, base: int) -> int:
        """Return this place's largest integer up to `limit`, but at least `before(base)`."""
        return max(limit - (limit - self.offset) % self.stride, self.before(base))


def places(regions: Sequence[str]) -> dict[str, Place]:
    """Return every region's place, in their order. ValueError: one repeats, or there are none or too many."""
    if len(set(regions)) != len(regions):
        raise ValueError(f"regions repeat: {list(regions)}")
    if not 1 <= len(regions) <= MAX_REGIONS:
        raise ValueError(f"{len(regions)} regions; 1 to {MAX_REGIONS} are possible")
    return {region: Place(i, len(regions)) for i, region in enumerate(regions, start=1)}


class Layout(NamedTuple):
    """The ordered regions that mint from `base` on, in one epoch."""

    epoch: int
    base: int
    regions: tuple[str, ...]


class OwningRegion(NamedTuple):
    """The one region that mints an integer, with its place in the layout of that epoch."""

    region: str
    offset: int
    stride: int
    epoch: int


def owner_of(integer: int, layouts: Sequence[Layout]) -> OwningRegion | None:
    """Return the owner of an integer, or None below the first base. The oldest layout comes first."""
    for layout in reversed(layouts):
        if integer >= layout.base:
            stride = len(layout.regions)
            offset = (integer - 1) % stride + 1
            return OwningRegion(layout.regions[offset - 1], offset, stride, layout.epoch)
    return None


def first_bases(layouts: Sequence[Layout]) -> dict[str, int]:
    """Return the regions of these layouts, the oldest first, and below which integer each has minted nothing.

    Regions of a layout whose predecessors aren't known may have minted from 1 on.
    """
    bases: dict[str, int] = {}
    for layout in layouts:
        known = layout is not layouts[0] or layout.epoch == 1
        for region in layout.regions:
            bases.setdefault(region, layout.base if known else 1)
    return bases


def least_distance(window: int) -> int:
    """Return how many integers a region may mint at least after it was fenced, by the smallest window of a counter."""
    return min(100, -(-window // 10))
