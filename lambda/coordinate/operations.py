"""What the protocol may do to the tables: each one read, or one conditional write.

The protocol only names these; `store.py` carries them out on DynamoDB, the tests on a dictionary.
A conditional write answers whether its condition held. It changes nothing where it did not.
"""

from dataclasses import dataclass

from integers.layouts import Layout

from .model import Item, Register


@dataclass(frozen=True, slots=True)
class ReadStanding:
    """Answers the regions that the last deployment asked for, or None before the first."""


@dataclass(frozen=True, slots=True)
class ReadRegister:
    """Answers the Register or None."""

    counter: str


@dataclass(frozen=True, slots=True)
class CreateRegister:
    """Condition: no register of this counter, and the standing regions are the register's.

    The second half keeps a counter that is created during a change of layout from missing it.
    """

    register: Register


@dataclass(frozen=True, slots=True)
class ReplaceRegister:
    """Condition: the register is still `old`, and the standing regions (if given) are still these.

    The second half keeps a coordinator whose wish is out of date from deciding anything.
    """

    old: Register
    new: Register
    standing: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class ReadItem:
    """Answers the Item, or None where the table has none or there is no table."""

    region: str
    counter: str


@dataclass(frozen=True, slots=True)
class RenewItem:
    """Put the epoch's item over that of the epoch `over`, and keep what was issued in that one.

    Condition: the item is of the epoch `over`, and it isn't being opened.
    """

    region: str
    counter: str
    item: Item
    over: int


@dataclass(frozen=True, slots=True)
class RecordLayouts:
    """Tell a region all layouts so far, for whoever asks it whose an integer is. Minting never reads it.

    Condition: it has been told of none, or of older ones.
    """

    region: str
    counter: str
    layouts: tuple[Layout, ...]


@dataclass(frozen=True, slots=True)
class PlaceItem:
    """Put a closed item where there is none. Condition: no item, or one that is being opened by `instead_of`."""

    region: str
    counter: str
    item: Item
    instead_of: str | None


@dataclass(frozen=True, slots=True)
class OpenItem:
    """Let a placed item mint. Condition: it is still the one that `token` placed."""

    region: str
    counter: str
    token: str
    ceiling: int


@dataclass(frozen=True, slots=True)
class FenceItem:
    """Lower the ceiling for good. Condition: this epoch, not fenced yet, nothing minted above the ceiling."""

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
