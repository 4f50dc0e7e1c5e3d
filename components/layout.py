"""The arithmetic of layouts: which integers a region mints. No I/O, no Pulumi, no AWS.

Region number i of N (from 1) mints the integers n with n ≡ i (mod N): its *offset* is i, its
*stride* is N. Two regions of one layout never share an integer, since their offsets differ
modulo the common stride.

The limit: integers run up to `MAX` = 2^53 − 1, the largest that every JSON reader holds exactly
(RFC 8259, section 6). One region that mints 1,000 integers a second with a stride of 3 gets
there after 95,000 years.
"""

from collections.abc import Sequence
from dataclasses import dataclass

MAX = 2**53 - 1
"""The largest integer that is ever minted."""

MAX_FLOOR = 2**52
"""The largest floor: one is never lowered again, so half of all integers stay whatever is mistyped."""

MAX_REGIONS = 64
"""The largest number of regions in a layout, and so the largest stride."""


@dataclass(frozen=True)
class Place:
    """One region's place in a layout: `offset` from 1 to `stride`, `stride` the number of regions."""

    offset: int
    stride: int

    def __post_init__(self) -> None:
        if not 1 <= self.offset <= self.stride:
            raise ValueError(f"offset {self.offset} is not within 1 to stride {self.stride}")

    def first(self, base: int) -> int:
        """The smallest integer ≥ `base` (≥ 1) of this place. May lie above `MAX`."""
        return base + (self.offset - base) % self.stride

    def before(self, base: int) -> int:
        """What `issued` is before the first mint of an epoch with this `base`: `first` − stride."""
        return self.first(base) - self.stride

    def highest_ceiling(self, base: int) -> int:
        """The largest integer of this place that is ≤ `MAX`, and never less than `before(base)`."""
        highest = MAX - (MAX - self.offset) % self.stride
        return max(highest, self.before(base))


def places(regions: Sequence[str]) -> dict[str, Place]:
    """Every region's place, in the order of `regions`, which must be distinct and 1 to 64 many."""
    if len(set(regions)) != len(regions):
        raise ValueError(f"regions repeat: {list(regions)}")
    if not 1 <= len(regions) <= MAX_REGIONS:
        raise ValueError(f"{len(regions)} regions; 1 to {MAX_REGIONS} are possible")
    return {region: Place(i, len(regions)) for i, region in enumerate(regions, start=1)}


def lowered_ceiling(issued: int, stride: int, ceiling: int, headroom: int) -> int:
    """The ceiling that ends an epoch: `headroom` more integers than were minted, if there are so many."""
    return min(issued + headroom * stride, ceiling)
