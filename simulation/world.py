"""The tables in memory, with the operations, conditions and answers that they have on DynamoDB.

`coordinate/dynamodb/store.py` and `mint/table.py` make the same writes there; tests/simulation/test_world.py compares.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from coordinate.dynamodb.encoding import attributes_of, item_values
from coordinate.protocol import operations as op
from coordinate.protocol.model import MAX_PAST, Absent, Admitted, Copy, DeploymentRecord, Item, Register

from global_integers_core.lattice import MAX_INTEGER, Layout
from global_integers_core.records import ADMITTED_KEY, RECORD_KEY, history_text, issued_in, layouts_key

NOW = 1_795_000_000
"""When a world begins, in seconds since 1970."""

CONDITIONS = (
    "mint: below the ceiling",
    "record: unchanged",
    "record copy: unchanged",
    "register: unchanged",
    "register: record is admitted",
    "copy: unchanged",
    "renew: that epoch",
    "renew: not being opened",
    "layouts: newer",
    "put: no item or the other's",
    "open: own token",
    "raise: this epoch",
    "raise: not fenced",
    "raise: upwards",
    "fence: this epoch",
    "fence: not fenced",
    "fence: issued within",
    "close: that epoch",
)
"""Every condition of every write, by name. Any one can be taken out, to see that it is needed."""

RULES = (
    "limit: no ceiling above it",
    "identity: of a counters table",
    "identity: of the layouts table",
    "identity: of the mirror",
    "mirror: written before anything is done",
)
"""What the protocol relies on besides conditions. If one is taken out, the world breaks it: it gives ceilings without a
limit, reports every table's id as that of the first one, or doesn't write the mirror."""


ALIVE = (
    "event: the record's own",
    "admit: the same at any age",
    "throttled: only that item",
    "fence: relative",
    "stray: stops nobody",
    "unreachable: stops nobody",
    "mirror: has the first record",
)
"""What keeps the system alive. If one is taken out, the simulation does what the program once did instead."""


Records = dict[str, dict[str, Any]]
"""A table's records as DynamoDB has them, by their key."""


@dataclass(slots=True)
class CounterKey:
    """What one region's table has of one counter."""

    item: Item | None = None
    issued_in: dict[int, int] = field(default_factory=dict[int, int])
    """The last integer issued in each past epoch, which the item keeps for questions about owners."""
    layouts: tuple[Layout, ...] = ()
    """The layouts recorded beside the item. Neither minting nor the protocol reads them."""

    def attributes(self) -> dict[str, Any]:
        """Return the item's attributes as DynamoDB has them, without its key."""
        assert self.item is not None
        return item_values(self.item) | {issued_in(epoch): {"N": str(last)} for epoch, last in self.issued_in.items()}


@dataclass(slots=True)
class SimulatedTable:
    """One region's counters table."""

    id: str
    counters: dict[str, CounterKey] = field(default_factory=dict[str, CounterKey])

    def records(self) -> Records:
        """Return what it holds, as DynamoDB has it."""
        found: Records = {}
        for counter, entry in self.counters.items():
            if entry.item is not None:
                found[counter] = {"counter": {"S": counter}, **entry.attributes()}
            if entry.layouts:
                key, epoch = layouts_key(counter), {"N": str(entry.layouts[-1].epoch)}
                found[key] = {"counter": {"S": key}, "epoch": epoch, "history": {"S": history_text(entry.layouts)}}
        return found


@dataclass(slots=True)
class Layouts:
    """The layouts table."""

    id: str
    record: DeploymentRecord | None = None
    registers: dict[str, Register] = field(default_factory=dict[str, Register])
    without_admitted: bool = False
    """Whether somebody has deleted what identifies the record."""

    @property
    def admitted(self) -> Admitted | None:
        """What identifies the record, stored beside it."""
        return None if self.record is None or self.without_admitted else self.record.admitted

    def records(self) -> Records:
        """Return what it holds, as DynamoDB has it."""
        found = {counter: dict(attributes_of(register)) for counter, register in self.registers.items()}
        if self.record is not None:
            found[RECORD_KEY] = dict(attributes_of(self.record))
        if self.admitted is not None:
            found[ADMITTED_KEY] = dict(attributes_of(self.admitted))
        return found


@dataclass(slots=True)
class Mirror:
    """The mirror."""

    id: str
    record: Copy[DeploymentRecord] | None = None
    copies: dict[str, Copy[Register]] = field(default_factory=dict[str, Copy[Register]])

    def records(self) -> Records:
        """Return what it holds, as DynamoDB has it."""
        found = {counter: dict(attributes_of(copy)) for counter, copy in self.copies.items()}
        if self.record is not None:
            found[RECORD_KEY] = dict(attributes_of(self.record))
        return found


@dataclass
class World:
    """The layouts table and its mirror, and the table of every region that has one.

    `without` names a condition that always holds, whatever is found, or a rule that is broken.
    """

    without: str | None = None
    layouts: Layouts = field(default_factory=lambda: Layouts("layouts 1"))
    mirror: Mirror = field(default_factory=lambda: Mirror("mirror 1"))
    tables: dict[str, SimulatedTable] = field(default_factory=dict[str, SimulatedTable])
    unreachable: set[str] = field(default_factory=set[str])
    """Regions that don't answer the coordinator. They mint all the same."""
    now: int = NOW
    """What every clock shows, in seconds since 1970."""
    stray: set[str] = field(default_factory=set[str])
    """Tables in which an operator has written something by mistake: regions, `layouts`, `mirror`."""
    numbers: Any = field(default_factory=lambda: count(2), repr=False)

    def __post_init__(self) -> None:
        if self.without is not None and self.without not in CONDITIONS + RULES + ALIVE:
            raise ValueError(f"{self.without!r} is not a condition; there are {', '.join(CONDITIONS + RULES + ALIVE)}")

    def new_id(self, name: str) -> str:
        """Return an id that no table has had."""
        return f"{name} {next(self.numbers)}"

    def make_table(self, region: str) -> None:
        """Make a region's table if there is none."""
        if region not in self.tables:
            self.tables[region] = SimulatedTable(self.new_id(region))

    def delete_table(self, region: str) -> None:
        """Delete a region's table with all that is in it."""
        self.tables.pop(region, None)
        self.stray.discard(region)

    def mint(self, region: str, counter: str = "c") -> int | None:
        """Mint one integer, as `CounterTable.mint` does. Return None if no item or no integer is left."""
        item = self._item(region, counter)
        if item is None or not self._holds("mint: below the ceiling", item.issued < item.ceiling):
            return None
        integer = item.issued + item.stride
        self.tables[region].counters[counter].item = replace(item, issued=integer)
        return integer

    def mint_block(self, region: str, count: int, counter: str = "c") -> list[int]:
        """Mint a block, as `CounterTable.mint_block` does. Return no integers if fewer than `count` are left."""
        item = self._item(region, counter)
        if item is None:
            return []
        last = item.issued + count * item.stride
        if not self._holds("mint: below the ceiling", last <= item.ceiling):
            return []
        self.tables[region].counters[counter].item = replace(item, issued=last)
        return list(range(item.issued + item.stride, last + 1, item.stride))

    def _stray(self, table: str) -> dict[str, Any]:
        return {"ordrs": Absent.STRAY} if table in self.stray else {}

    def _item(self, region: str, counter: str) -> Item | None:
        table = self.tables.get(region)
        entry = table.counters.get(counter) if table else None
        return entry.item if entry else None

    def issued(self, region: str, counter: str) -> int | None:
        """Return the last integer issued of a counter in a region; None if there is no item."""
        item = self._item(region, counter)
        return item.issued if item else None

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation and answer as `operations.py` says."""
        if hasattr(operation, "region"):
            return self._in_region(operation)
        match operation:
            case op.Clock():
                return self.now
            case op.TakeRunLock() | op.MayBegin():  # whoever asks may go on: no integer may depend on it
                return True
            case op.DescribeLayouts():
                return self._id("identity: of the layouts table", self.layouts.id)
            case op.DescribeStream():
                return self.layouts.id
            case op.DescribeMirror():
                return self._id("identity: of the mirror", self.mirror.id)
            case op.ScanRegisters():
                return self.layouts.registers | self._stray("layouts")
            case op.ScanCopies():
                return self.mirror.copies | self._stray("mirror")
            case op.ReadRecord():
                return self.layouts.record
            case op.ReadAdmitted():
                return self.layouts.admitted
            case op.ReadRecordCopy():
                return self.mirror.record
            case op.ReadRegister(counter):
                return self.layouts.registers.get(counter)
            case op.ReadCopy(counter):
                return self.mirror.copies.get(counter)
            case op.WriteRecord(old, new):
                held = self._holds("record: unchanged", self.layouts.record == old)
                if held:
                    self.layouts.record, self.layouts.without_admitted = new, False
                return held
            case op.WriteRegister(old, new, record):
                held = self._holds("register: unchanged", self.layouts.registers.get(new.counter) == old)
                held = held and self._holds("register: record is admitted", self.layouts.admitted == record.admitted)
                if held:
                    self.layouts.registers[new.counter] = new
                return held
            case op.WriteRecordCopy(old, new):
                held = self._holds("record copy: unchanged", self.mirror.record == old)
                if held:
                    self.mirror.record = new
                return held
            case op.WriteCopy(old, new):
                counter = new.original.counter
                held = self._holds("copy: unchanged", self.mirror.copies.get(counter) == old)
                if held:
                    self.mirror.copies[counter] = new
                return held
            case _:
                raise TypeError(f"{operation} is not an operation")

    def _in_region(self, operation: Any) -> Any:
        if operation.region in self.unreachable:
            return Absent.UNREACHABLE
        table = self.tables.get(operation.region)
        if table is None:
            return Absent.GONE
        if isinstance(operation, op.DescribeTable):
            return self._id("identity: of a counters table", table.id)
        if isinstance(operation, op.ScanItems):
            found = {counter: entry.item for counter, entry in table.counters.items() if entry.item is not None}
            return found | self._stray(operation.region)
        entry = table.counters.get(operation.counter)
        if isinstance(operation, op.ReadItem):
            return entry.item if entry else None
        return self._write(table.counters.setdefault(operation.counter, CounterKey()), operation)

    def _write(self, entry: CounterKey, operation: op.RecordLayouts | op.PutItem | op.ItemUpdate) -> bool | int:
        match operation:
            case op.RecordLayouts(_, _, layouts):
                newer = not entry.layouts or entry.layouts[-1].epoch < layouts[-1].epoch
                held = self._holds("layouts: newer", newer)
                if held:
                    entry.layouts = layouts
                return held
            case op.PutItem(_, _, new, instead_of):
                item = entry.item
                free = item is None if instead_of is None else item is not None and item.opening == instead_of
                held = self._holds("put: no item or the other's", free)
                if held:
                    entry.item, entry.issued_in = new, {}
                return held
            case _:
                held = entry.item is not None and self._update(entry, entry.item, operation)
                return entry.item.ceiling if held and isinstance(operation, op.FenceItem) and entry.item else held

    def _update(self, entry: CounterKey, item: Item, operation: op.ItemUpdate) -> bool:
        match operation:
            case op.RenewItem(_, _, new, over):
                held = self._holds("renew: that epoch", item.epoch == over)
                held = held and self._holds("renew: not being opened", item.opening is None)
                if held:
                    entry.item = replace(new, ceiling=self._limited(new.ceiling, new.stride))
                    entry.issued_in = _remembered(entry.issued_in, over, new.epoch) | {over: item.issued}
            case op.OpenItem(_, _, token, ceiling):
                held = self._holds("open: own token", item.opening == token)
                if held:
                    ceiling = self._limited(ceiling, item.stride)
                    entry.item = replace(item, ceiling=ceiling, fenced=False, opening=None)
            case op.RaiseItem(_, _, epoch, ceiling):
                held = self._holds("raise: this epoch", item.epoch == epoch)
                held = held and self._holds("raise: not fenced", not item.fenced)
                held = held and self._holds("raise: upwards", item.ceiling < ceiling)
                if held:
                    entry.item = replace(item, ceiling=ceiling)
            case op.FenceItem(_, _, epoch, by, most):
                held = self._holds("fence: this epoch", item.epoch == epoch)
                held = held and self._holds("fence: not fenced", not item.fenced)
                held = held and (by is None or self._holds("fence: issued within", item.issued <= most))
                if held:
                    entry.item = replace(item, ceiling=item.ceiling if by is None else item.issued + by, fenced=True)
            case op.CloseItem(_, _, over, epoch):
                held = self._holds("close: that epoch", item.epoch == over)
                if held:
                    entry.item = replace(item, ceiling=item.issued, epoch=epoch, fenced=True, opening=None)
                    if over < epoch:
                        entry.issued_in = _remembered(entry.issued_in, over, epoch) | {over: item.issued}
        return held

    def _holds(self, name: str, condition: bool) -> bool:
        return condition or name == self.without

    def _id(self, name: str, id_: str) -> str:
        return id_.split()[0] if name == self.without else id_

    def _limited(self, ceiling: int, stride: int) -> int:
        if self.without != "limit: no ceiling above it":
            return ceiling
        return MAX_INTEGER - (MAX_INTEGER - ceiling) % stride


def _remembered(issued_in: dict[int, int], over: int, epoch: int) -> dict[int, int]:
    """Return what an item still remembers in `epoch`, which comes after `over`: at most `MAX_PAST` epochs back."""
    return {past: issued for past, issued in issued_in.items() if not over - MAX_PAST <= past < epoch - MAX_PAST}
