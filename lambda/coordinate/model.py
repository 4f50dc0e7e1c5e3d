"""The data of layouts: registers in the home region, items in every region."""

from dataclasses import dataclass, field

from integers.layouts import Layout

HEADROOM = 10_000
"""Integers that a region may still mint between fence and opening."""

MAX_PAST = 40
"""Past layouts that are kept. With what was issued in so many, an item stays within one write unit."""


@dataclass(frozen=True, slots=True)
class Next:
    """The layout that has been decided to follow. `floor`: mint nothing below it again; 0 is none."""

    regions: tuple[str, ...]
    floor: int = 0


@dataclass(frozen=True, slots=True)
class Register:
    """One counter's layout: the truth that every coordinator goes by. Epochs count from 1.

    `born` is the token of the coordinator that created it: a register of the same counter in a stack
    that was destroyed and deployed anew is another one, whatever else is equal.
    """

    counter: str
    epoch: int
    regions: tuple[str, ...]
    base: int
    born: str
    opened: bool = False
    next: Next | None = None
    past: tuple[Layout, ...] = field(default=(), compare=False)
    """The newest `MAX_PAST` layouts before this one, the oldest first: `born` and `epoch` tell which."""

    @property
    def layouts(self) -> tuple[Layout, ...]:
        """The past layouts and the present one."""
        return (*self.past, Layout(self.epoch, self.base, self.regions))


@dataclass(frozen=True, slots=True)
class Item:
    """One counter in one region's table: what the minting function goes by.

    `opening` is the token of the coordinator that placed the item in a table that had none. Such an
    item can't mint (its ceiling is what was issued) until that same token opens it.
    """

    issued: int
    stride: int
    ceiling: int
    epoch: int
    fenced: bool = False
    opening: str | None = None


@dataclass(frozen=True, slots=True)
class Wish:
    """What a coordinator is asked to bring about for one counter.

    `regions` None: only that the counter exists, under whatever layout stands. `floor` 0 is none.
    """

    regions: tuple[str, ...] | None
    floor: int = 0


class Refused(Exception):
    """The coordinator won't go on. The message says what was found, where, and what to do."""
