"""What a run may do: one read or one conditional write, or a question about the clock or the run lock.

A run only names them, and `dynamodb/` carries them out. The answer of a conditional write is whether its condition
held. If it didn't, nothing was changed. An operation in a region may also be answered by `Absent.UNREACHABLE` or
`GONE`, a read also by `STRAY`. All else at home must answer.
"""

from collections.abc import Callable, Generator, Iterable, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

from global_integers_core.lattice import Layout

from .model import Absent, Admitted, Claim, Copy, DeploymentRecord, Frozen, Ids, Item, Items, ItemState, Register

T = TypeVar("T")


class Operation(Frozen):
    """One of the operations below."""


CarryOut = Callable[[Operation], Any]
"""Carries out an operation, and returns its answer."""


class Clock(Operation):
    """Look at the clock. Answer: seconds since 1970."""


class TakeRunLock(Operation):
    """Take the run lock; with `over`, whoever has it. Answer: whether this run has it. No integer depends on it."""

    over: bool


class MayBegin(Operation):
    """Ask whether a further counter may be begun. Answer: False if too little time is left or the run lock is lost."""


class DescribeLayouts(Operation):
    """Describe the layouts table. Answer: its id. Earlier reads and writes of this run were made in that table."""


class DescribeStream(Operation):
    """Describe the layouts table. Answer: the label of its stream, which deployments know it by; "" without one."""


class DescribeMirror(Operation):
    """Describe the mirror. Answer: its id."""


class DescribeTable(Operation):
    """Describe a region's counters table. Answer: its id."""

    region: str


class ReadRecord(Operation):
    """Read the record. Answer: the DeploymentRecord, or None."""


class ReadAdmitted(Operation):
    """Read what identifies the record. Answer: the Admitted, a Claim, None, or `STRAY`. It is small."""


class WriteRecord(Operation):
    """Write the record, and what identifies it beside it. Condition: they are still `old` and `admitted`.

    Of an `admitted` that can't be read, the condition is that it is no claim.
    """

    old: DeploymentRecord | None
    new: DeploymentRecord
    admitted: Admitted | Claim | Absent | None


class ReadRecordCopy(Operation):
    """Read the mirror's copy of the record. Answer: the Copy, or None."""


class WriteRecordCopy(Operation):
    """Write the mirror's copy of the record. Condition: it is still `old`, and the record's identity `admitted`."""

    old: Copy[DeploymentRecord] | None
    new: Copy[DeploymentRecord]
    admitted: Admitted | Claim | None


class WriteClaim(Operation):
    """Write a claim, and mark the mirror's copy of the record as taken. Condition: both are still as they were read."""

    old: Admitted | Claim | None
    new: Claim
    copy: Copy[DeploymentRecord] | None
    taken: Copy[DeploymentRecord] | None
    """None if there is neither record nor copy: then the mirror isn't written."""


class ReadRegister(Operation):
    """Read a counter's register. Answer: the Register, None, or `STRAY`."""

    counter: str


class WriteRegister(Operation):
    """Write a counter's register. Condition: it is still `old`, and what identifies the record is still `admitted`.

    Where no record is known, what identifies the record's copy must still be `copy`, too.
    """

    old: Register | None
    new: Register
    admitted: Admitted | Claim | None
    copy: Copy[Admitted] | Literal["any"] | None = "any"


class ReadCopy(Operation):
    """Read the mirror's copy of a register. Answer: the Copy, None, or `STRAY`."""

    counter: str


class WriteCopy(Operation):
    """Write the mirror's copy of a register. Condition: it is still `old`."""

    old: Copy[Register] | None
    new: Copy[Register]


class ReadItem(Operation):
    """Read a counter's item in one region. Answer: the Item, None, or `STRAY`."""

    region: str
    counter: str


class RecordLayouts(Operation):
    """Record layouts in a region, and what its item has of the `past`, which the item is about to forget.

    Condition: the last layout there is of an earlier epoch.
    """

    region: str
    counter: str
    layouts: tuple[Layout, ...]
    past: tuple[int, int] | None = None
    """As in `Item`."""


class ReadRecorded(Operation):
    """Read which of a counter's layouts a region has on record. Answer: the layouts, the oldest first, or None."""

    region: str
    counter: str


class RecordHome(Operation):
    """Record in a region that this is the home. Condition: no later term is on record, nor another home of this one."""

    region: str
    term: int


class ReadHome(Operation):
    """Read which home region a region has on record. Answer: a Claim, or None."""

    region: str


OnRecord = RecordLayouts | ReadRecorded | RecordHome | ReadHome
"""What a region can do without. If nobody may use its receipts table, that counts as `GONE`."""


class HoldItem(Operation):
    """Keep an item from minting, for good or until it is opened: its ceiling is what was issued when this arrives.

    With `over` None, it is put where there is none. Condition: there is none; or it is in the state `over`.
    """

    region: str
    counter: str
    state: ItemState
    over: ItemState | None


class OpenItem(Operation):
    """Let an item mint, by the register of a later epoch or where it was held. Its `past` is then the epoch of `over`.

    Condition: it is in the state `over`.
    """

    region: str
    counter: str
    item: Item
    over: ItemState


class RaiseItem(Operation):
    """Raise the ceiling. Condition: the item is of this epoch, it isn't fenced, and its ceiling is lower."""

    region: str
    counter: str
    epoch: int
    ceiling: int
    low: int
    """As in `Item`."""


class FenceItem(Operation):
    """Bring an item to `epoch` with a ceiling that stays: `by` above what is issued when this arrives.

    It isn't held any more: so nothing opens it before the next epoch. With `by` None, the ceiling stays as it is.
    Answer: the ceiling, or False. Condition: the item is in the state `over`; with `by` above 0, it isn't fenced, and
    no more than `most` is issued. `most` is the known ceiling − `by`, so the ceiling is never raised.
    """

    region: str
    counter: str
    over: ItemState
    epoch: int
    by: int | None
    most: int = 0


ItemUpdate = HoldItem | OpenItem | RaiseItem | FenceItem


class ScanRegisters(Operation):
    """Read all registers. Answer: the registers by counter, `STRAY` for what is none."""


class ScanCopies(Operation):
    """Read the mirror's copies of them. Answer: the copies by counter, `STRAY` as above."""


class ScanItems(Operation):
    """Read the items of all counters in one region. Answer: the items by counter, `STRAY` for what is none.

    With `patient`, a new role gets the minutes that it may take until the region accepts it.
    """

    region: str
    patient: bool = False


class AtHome(Operation):
    """Carry out an operation in a region that is or was the home region, too. Answer: as there, or as in a region."""

    region: str
    operation: Operation
    patient: bool = True


class Parallel(Frozen):
    """Steps to be taken at the same time, in any order. Answer: what each returns, or the `Refused` that it raises.

    A part has no `Parallel` of its own: all threads of `handler.py` could wait for each other.
    """

    steps: Iterable["Steps[Any]"]


Steps = Generator[Sequence[Operation] | Parallel, Sequence[Any], T]
"""Yields a batch of operations or a `Parallel`, is sent the answers in the same order, and returns a T. A batch may be
carried out in any order, or at the same time."""


class Observation(NamedTuple):
    """What was found of a counter when its register was this one. Another register would need another look."""

    register: Register
    items: Items
    ids: Ids
    """The ids of the tables, described after the items were read or written."""
    at: int = 0
    """When the items were read, or a little later; 0 if they weren't."""


def one(operation: Operation) -> Steps[Any]:
    """Return the answer of one operation."""
    return (yield [operation])[0]


def read_items(regions: Iterable[str], counter: str) -> Steps[tuple[Items, Ids]]:
    """Return every region's item, and the id of its table, described after the item was read."""
    names = tuple(dict.fromkeys(regions))
    items = yield [ReadItem(region, counter) for region in names]
    ids = yield [DescribeTable(region) for region in names]
    return dict(zip(names, items, strict=True)), dict(zip(names, ids, strict=True))
