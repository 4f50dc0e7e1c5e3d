"""What the protocol may do to the tables. Each operation is one read or one conditional write.

The protocol only names them. `store.py` carries them out on DynamoDB, `simulation/world.py` in memory. The answer
of a conditional write is whether its condition held. If it didn't, nothing was changed. An operation in a region may
also be answered by `Absent`. The home region must answer.
"""

from dataclasses import dataclass

from integers.layouts import Layout

from .model import Copy, Item, Record, RecordCopy, Register


@dataclass(frozen=True, slots=True)
class DescribeLayouts:
    """Describe the layouts table. Answer: its id. Earlier reads and writes of this run were made in that table."""


@dataclass(frozen=True, slots=True)
class DescribeStream:
    """Describe the layouts table. Answer: the label of its stream, which deployments know it by; "" without one."""


@dataclass(frozen=True, slots=True)
class DescribeMirror:
    """Describe the mirror. Answer: its id."""


@dataclass(frozen=True, slots=True)
class DescribeTable:
    """Describe a region's counters table. Answer: its id."""

    region: str


@dataclass(frozen=True, slots=True)
class ReadRecord:
    """Read the record. Answer: the Record, or None."""


@dataclass(frozen=True, slots=True)
class WriteRecord:
    """Write the record. Condition: it is still `old`."""

    old: Record | None
    new: Record


@dataclass(frozen=True, slots=True)
class ReadRecordCopy:
    """Read the mirror's copy of the record. Answer: the RecordCopy, or None."""


@dataclass(frozen=True, slots=True)
class WriteRecordCopy:
    """Write the mirror's copy of the record. Condition: it is still `old`."""

    old: RecordCopy | None
    new: RecordCopy


@dataclass(frozen=True, slots=True)
class ReadRegister:
    """Read a counter's register. Answer: the Register, or None."""

    counter: str


@dataclass(frozen=True, slots=True)
class WriteRegister:
    """Write a counter's register.

    Condition: it is still `old`, and the record has the home and the number of `record`. Without the second half,
    a run of an earlier deployment could begin a layout that nobody asks for any more.
    """

    old: Register | None
    new: Register
    record: Record


@dataclass(frozen=True, slots=True)
class ReadCopy:
    """Read the mirror's copy of a register. Answer: the Copy, or None."""

    counter: str


@dataclass(frozen=True, slots=True)
class WriteCopy:
    """Write the mirror's copy of a register. Condition: it is still `old`."""

    old: Copy | None
    new: Copy


@dataclass(frozen=True, slots=True)
class ReadItem:
    """Read a counter's item in one region. Answer: the Item, or None."""

    region: str
    counter: str


@dataclass(frozen=True, slots=True)
class RecordLayouts:
    """Record all layouts so far in a region, so that it can say which region owns an integer.

    Minting never reads the record. Condition: there is none, or its last layout is of an earlier epoch.
    """

    region: str
    counter: str
    layouts: tuple[Layout, ...]


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
class PlaceItem:
    """Put a closed item, which can't mint.

    Condition: there is no item. If `instead_of` is given, it is instead: the item is being opened by that token.
    """

    region: str
    counter: str
    item: Item
    instead_of: str | None


@dataclass(frozen=True, slots=True)
class OpenItem:
    """Let a placed item mint. Condition: it is being opened by `token`."""

    region: str
    counter: str
    token: str
    ceiling: int


@dataclass(frozen=True, slots=True)
class RaiseItem:
    """Raise the ceiling. Condition: the item is of this epoch, it isn't fenced, and its ceiling is lower."""

    region: str
    counter: str
    epoch: int
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


@dataclass(frozen=True, slots=True)
class CloseItem:
    """Fence an item at what it has issued, bring it to `epoch`, and keep the last integer issued in `over`.

    It can't be opened any more. `over` is not later than `epoch`. Condition: the item is of the epoch `over`.
    """

    region: str
    counter: str
    over: int
    epoch: int


@dataclass(frozen=True, slots=True)
class ScanRegisters:
    """Read all registers. Answer: the registers by counter."""


@dataclass(frozen=True, slots=True)
class ScanCopies:
    """Read the mirror's copies of all registers. Answer: the copies by counter."""


@dataclass(frozen=True, slots=True)
class ScanItems:
    """Read the items of all counters in one region. Answer: the items by counter."""

    region: str


Operation = (
    ScanRegisters
    | ScanCopies
    | ScanItems
    | DescribeLayouts
    | DescribeStream
    | DescribeMirror
    | DescribeTable
    | ReadRecord
    | WriteRecord
    | ReadRecordCopy
    | WriteRecordCopy
    | ReadRegister
    | WriteRegister
    | ReadCopy
    | WriteCopy
    | ReadItem
    | RecordLayouts
    | RenewItem
    | PlaceItem
    | OpenItem
    | RaiseItem
    | FenceItem
    | CloseItem
)
