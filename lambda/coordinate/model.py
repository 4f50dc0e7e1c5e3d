"""The data of layouts: registers in the home region, items in every region."""

from dataclasses import dataclass, field

from integers.layouts import Layout

HEADROOM = 10_000
"""How many integers a region may still mint between its fence and the opening of the next epoch."""

MAX_PAST = 40
"""How many past layouts are kept. With what was issued in each of them, an item still fits one write unit (1 KB)."""


@dataclass(frozen=True, slots=True)
class Next:
    """The layout that was decided to follow. Nothing is minted below `floor` again; 0 means no floor."""

    regions: tuple[str, ...]
    floor: int = 0


@dataclass(frozen=True, slots=True)
class Register:
    """One counter's layout, which every coordinator follows. Epochs count from 1.

    `born` is the token of the coordinator that created the register. It tells apart two registers of the
    same counter if the stack was destroyed and deployed again in between.
    """

    counter: str
    epoch: int
    regions: tuple[str, ...]
    base: int
    born: str
    opened: bool = False
    next: Next | None = None
    past: tuple[Layout, ...] = field(default=(), compare=False)
    """The last `MAX_PAST` layouts before this one, the oldest first. `born` and `epoch` determine them."""

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The past layouts and the present one."""
        return (*self.past, Layout(self.epoch, self.base, self.regions))


@dataclass(frozen=True, slots=True)
class Item:
    """One counter in one region's table. It alone decides what is minted there.

    `opening` is the token of the coordinator that placed the item in a table that had none. Such an
    item can't mint, because its ceiling is what was issued, until the same token opens it.
    """

    issued: int
    stride: int
    ceiling: int
    epoch: int
    fenced: bool = False
    opening: str | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a coordinator is asked to do for one counter.

    If `regions` is None, the counter must only exist, in the regions of the last deployment. A `floor` of 0
    means no floor.
    """

    regions: tuple[str, ...] | None
    floor: int = 0


class Refused(Exception):
    """The coordinator stops. The message says what was found, where, and what to do."""
