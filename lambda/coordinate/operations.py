"""What the protocol may do to the tables. Each operation is one read or one conditional write.

The protocol only names them. `store.py` carries them out on DynamoDB, `simulation/world.py` in memory.
The answer of a conditional write is whether its condition held. If it didn't, nothing was changed.
"""

from dataclasses import dataclass

from integers.layouts import Layout

from .model import Item, Register


@dataclass(frozen=True, slots=True)
class ReadStanding:
    """Read the regions that the last deployment asked for. Answer: the regions, or None before the first deployment."""


@dataclass(frozen=True, slots=True)
class ReadRegister:
    """Read a counter's register. Answer: the Register, or None."""

    counter: str


@dataclass(frozen=True, slots=True)
class CreateRegister:
    """Create a counter's register.

    Condition: the counter has no register, and the last deployment asked for the register's regions.
    Without the second half, a counter that is created during a change of layout could miss the change.
    """

    register: Register


@dataclass(frozen=True, slots=True)
class ReplaceRegister:
    """Replace a counter's register.

    Condition: the register is still `old`, and the last deployment asked for `standing`, if that is given.
    Without the second half, a coordinator of an earlier deployment could decide a change.
    """

    old: Register
    new: Register
    standing: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReadItem:
    """Read a counter's item in one region. Answer: the Item, or None if there is no item or no table."""

    region: str
    counter: str


@dataclass(frozen=True, slots=True)
class RenewItem:
    """Replace the item of the epoch `over` with one of a later epoch, and keep the last integer issued in `over`.

    The new item is neither fenced nor being opened. Condition: the item is of the epoch `over`, and it isn't
    being opened.
    """

    region: str
    counter: str
    item: Item
    over: int


@dataclass(frozen=True, slots=True)
class RecordLayouts:
    """Record all layouts so far in a region, so that it can say which region owns an integer.

    Minting never reads the record. Condition: there is none, or its last layout is of an earlier epoch.
    """

    region: str
    counter: str
    layouts: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class PlaceItem:
    """Put a closed item, which can't mint.

    Condition: there is no item. If `instead_of` is given, it is instead: the run with that token is opening the item.
    """

    region: str
    counter: str
    item: Item
    instead_of: str | None


@dataclass(frozen=True, slots=True)
class OpenItem:
    """Let a placed item mint. Condition: `token` placed it."""

    region: str
    counter: str
    token: str
    ceiling: int


@dataclass(frozen=True, slots=True)
class FenceItem:
    """Lower the ceiling for good.

    Condition: the item is of this epoch, it isn't fenced yet, and nothing above the new ceiling was issued.
    """

    region: str
    counter: str
    epoch: int
    ceiling: int


Operation = (
    ReadStanding
    | ReadRegister
    | CreateRegister
    | ReplaceRegister
    | ReadItem
    | RenewItem
    | RecordLayouts
    | PlaceItem
    | OpenItem
    | FenceItem
)
