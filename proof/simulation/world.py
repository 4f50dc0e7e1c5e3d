"""The tables in memory, with the operations, conditions and answers that they have on DynamoDB.

`coordinate/dynamodb/store.py` and `mint/table.py` make the same writes there; test_world.py compares.
"""

from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any

from coordinate.dynamodb.encoding import attributes_of, item_values, mark_values
from coordinate.dynamodb.store import forgotten
from coordinate.protocol import operations as op
from coordinate.protocol.model import (
    MAX_PAST,
    Absent,
    Admitted,
    Copy,
    Deleted,
    DeploymentRecord,
    Item,
    Refused,
    Register,
)

from global_integers_core.lattice import MAX_INTEGER, Layout
from global_integers_core.records import ADMITTED_KEY, RECORD_KEY, Recorded, history_text, issued_in, layouts_key

NOW = 1_795_000_000
"""When a world begins, in seconds since 1970."""

CONDITIONS = (
    "mint: below the ceiling",
    "record: unchanged",
    "record copy: unchanged",
    "register: unchanged",
    "register: record is admitted",
    "copy: unchanged",
    "delete: register unchanged",
    "delete: copy unchanged",
    "delete: no later item",
    "delete: no later mark",
    "renew: that epoch",
    "renew: not being opened",
    "layouts: newer",
    "archive: newer",
    "put: no item or the other's",
    "open: own token",
    "raise: this epoch",
    "raise: not fenced",
    "raise: upwards",
    "adopt: that epoch",
    "adopt: not being opened",
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
    "identity: of the archive",
    "mirror: written before anything is done",
)
"""What the protocol relies on besides conditions. If one is taken out, the world breaks it: it gives ceilings without a
limit, reports every table's id as that of the first one, or doesn't write the mirror."""


DEFAULTS = ("default: only if chosen", "default: noted before callers reach it", "default: chosen for ever")
"""What keeps `/` at one counter. Without one, another counter needn't be chosen, the record never has it, or it needn't
be chosen by later deployments."""


ALIVE = (
    "event: the record's own",
    "admit: the same at any age",
    "throttled: only that item",
    "fence: relative",
    "stray: stops nobody",
    "unreachable: stops nobody",
    "mirror: has the first record",
    "conflict: tried again",
    "fence: only if the next register can be written",
    "window: no rate by a short time",
    "receipts: stop no region",
)
"""What keeps the system alive. If one is taken out, the simulation does what a simpler program would do."""


Records = dict[str, dict[str, Any]]
"""A table's records as DynamoDB has them, by their key."""


AT_THE_MIRROR = (
    op.ReadRecordCopy, op.WriteRecordCopy, op.ReadCopy, op.WriteCopy, op.DeleteCopy, op.ScanCopies, op.DescribeMirror
)  # fmt: skip
ELSEWHERE = (op.Clock, op.TakeRunLock, op.MayBegin, op.OnArchive)


def kind_of(operation: op.Operation) -> str:
    """Return whether an operation `reads` or `writes`."""
    return "reads" if type(operation).__name__.startswith(("Read", "Describe", "Scan")) else "writes"


def layouts_values(layouts: tuple[Layout, ...]) -> dict[str, Any]:
    """Return layouts as DynamoDB has them, without a key."""
    return {"epoch": {"N": str(layouts[-1].epoch)}, "history": {"S": history_text(layouts)}}


@dataclass(slots=True)
class SimulatedTable:
    """One region's counters table."""

    id: str
    items: dict[str, Item] = field(default_factory=dict[str, Item])

    def records(self) -> Records:
        """Return what it holds, as DynamoDB has it."""
        return {counter: {"counter": {"S": counter}, **item_values(item)} for counter, item in self.items.items()}


@dataclass(slots=True)
class SimulatedReceipts:
    """One region's receipts table, without receipts. Neither minting nor the protocol reads what is recorded there."""

    recorded: dict[str, Recorded] = field(default_factory=dict[str, Recorded])

    def records(self) -> Records:
        """Return what it holds, as DynamoDB has it."""
        found: Records = {}
        for counter, (layouts, issued) in self.recorded.items():
            key = layouts_key(counter)
            past = {issued_in(epoch): {"N": str(last)} for epoch, last in issued.items()}
            found[key] = {"receipt": {"S": key}, **layouts_values(layouts), **past}
        return found


@dataclass(slots=True)
class Archive:
    """The archive: each counter's past layouts, and the marks of deleted counters."""

    layouts: dict[str, tuple[Layout, ...]] = field(default_factory=dict[str, "tuple[Layout, ...]"])
    deleted: dict[str, Deleted] = field(default_factory=dict[str, Deleted])
    id: str = "archive 1"

    def records(self) -> Records:
        """Return what it holds, as DynamoDB has it."""
        values = {counter: layouts_values(layouts) for counter, layouts in self.layouts.items()}
        marks = {counter: mark_values(deleted) for counter, deleted in self.deleted.items()}
        return {
            counter: {"counter": {"S": counter}, **values.get(counter, {}), **marks.get(counter, {})}
            for counter in {**values, **marks}
        }


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
    """The layouts table, its mirror, the archive, and the tables of every region that has some.

    `without` names a condition that always holds, whatever is found, or a rule that is broken.
    """

    without: str | None = None
    layouts: Layouts = field(default_factory=lambda: Layouts("layouts 1"))
    mirror: Mirror = field(default_factory=lambda: Mirror("mirror 1"))
    tables: dict[str, SimulatedTable] = field(default_factory=dict[str, SimulatedTable])
    archive: Archive | None = field(default_factory=Archive)
    """None: it is gone."""
    receipts: dict[str, SimulatedReceipts] = field(default_factory=dict[str, SimulatedReceipts])
    unreachable: set[str] = field(default_factory=set[str])
    """Regions that don't answer the coordinator. They mint all the same."""
    now: int = NOW
    """What every clock shows, in seconds since 1970."""
    denied: dict[str, str] = field(default_factory=dict[str, str])
    """Tables that may not be used: regions, `receipts <region>`, `layouts`, `mirror` → `reads` or `writes`."""
    stray: set[str] = field(default_factory=set[str])
    """Tables in which an operator has written something by mistake: regions, `layouts`, `mirror`."""
    numbers: Any = field(default_factory=lambda: count(2), repr=False)

    def __post_init__(self) -> None:
        known = CONDITIONS + RULES + DEFAULTS + ALIVE
        if self.without is not None and self.without not in known:
            raise ValueError(f"{self.without!r} is not a condition; there are {', '.join(known)}")

    def new_id(self, name: str) -> str:
        """Return an id that no table has had."""
        return f"{name} {next(self.numbers)}"

    def make_table(self, region: str) -> None:
        """Make a region's tables as far as there are none."""
        if region not in self.tables:
            self.tables[region] = SimulatedTable(self.new_id(region))
        self.receipts.setdefault(region, SimulatedReceipts())

    def delete_table(self, region: str) -> None:
        """Delete a region's counters table with all that is in it."""
        self.tables.pop(region, None)
        self.stray.discard(region)

    def delete_receipts(self, region: str) -> None:
        """Delete a region's receipts table with all that is in it."""
        self.receipts.pop(region, None)

    def mint(self, region: str, counter: str = "c") -> int | None:
        """Mint one integer, as `CounterTable.mint` does. Return None if no item or no integer is left."""
        item = self.item(region, counter)
        if item is None or not self._holds("mint: below the ceiling", item.issued < item.ceiling):
            return None
        integer = item.issued + item.stride
        self.tables[region].items[counter] = replace(item, issued=integer)
        return integer

    def mint_block(self, region: str, count: int, counter: str = "c") -> list[int]:
        """Mint a block, as `CounterTable.mint_block` does. Return no integers if fewer than `count` are left."""
        item = self.item(region, counter)
        if item is None:
            return []
        last = item.issued + count * item.stride
        if not self._holds("mint: below the ceiling", last <= item.ceiling):
            return []
        self.tables[region].items[counter] = replace(item, issued=last)
        return list(range(item.issued + item.stride, last + 1, item.stride))

    def _stray(self, table: str) -> dict[str, Any]:
        return {"ordrs": Absent.STRAY} if table in self.stray else {}

    def item(self, region: str, counter: str) -> Item | None:
        """Return a region's item of a counter, if there is one."""
        table = self.tables.get(region)
        return table.items.get(counter) if table else None

    def issued(self, region: str, counter: str) -> int | None:
        """Return the last integer issued of a counter in a region; None if there is no item."""
        item = self.item(region, counter)
        return item.issued if item else None

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation and answer as `operations.py` says."""
        if hasattr(operation, "region"):
            return self._in_region(operation)
        table = "mirror" if isinstance(operation, AT_THE_MIRROR) else "layouts"
        if self.denied.get(table) == kind_of(operation) and not isinstance(operation, ELSEWHERE):
            raise Refused(f"home: the home region's tables can't be used: {table}")
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
                    if self.without == DEFAULTS[2]:
                        new = replace(new, default_before="")
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
            case op.DeleteRegister(old):
                held = self._holds("delete: register unchanged", self.layouts.registers.get(old.counter) == old)
                if held:
                    self.layouts.registers.pop(old.counter, None)
                return held
            case op.DeleteCopy(old):
                counter = old.original.counter
                held = self._holds("delete: copy unchanged", self.mirror.copies.get(counter) == old)
                if held:
                    self.mirror.copies.pop(counter, None)
                return held
            case op.DescribeArchive() | op.ReadDeleted() | op.WriteDeleted() | op.ReadArchive() | op.WriteArchive():
                return Absent.GONE if self.archive is None else self._on_archive(self.archive, operation)
            case _:
                raise TypeError(f"{operation} is not an operation")

    def _on_archive(self, archive: Archive, operation: op.OnArchive) -> Any:
        match operation:
            case op.DescribeArchive():
                return self._id("identity: of the archive", archive.id)
            case op.ReadDeleted(counter):
                return archive.deleted.get(counter)
            case op.WriteDeleted(counter, deleted):
                there = archive.deleted.get(counter)
                held = self._holds("delete: no later mark", there is None or there.epoch < deleted.epoch)
                if held:
                    archive.deleted[counter] = deleted
                return held
            case op.ReadArchive(counter):
                return archive.layouts.get(counter, ())
            case op.WriteArchive(counter, layouts):
                held = self._holds("archive: newer", _newer(archive.layouts.get(counter, ()), layouts))
                if held:
                    archive.layouts[counter] = layouts
                return held

    def _in_region(self, operation: Any) -> Any:
        if operation.region in self.unreachable or self.denied.get(operation.region) == kind_of(operation):
            return Absent.UNREACHABLE
        if isinstance(operation, op.OnRecord):
            receipts = self.receipts.get(operation.region)
            denied = self.denied.get(f"receipts {operation.region}") == kind_of(operation)
            return Absent.GONE if receipts is None or denied else self._on_record(receipts, operation)
        table = self.tables.get(operation.region)
        if table is None:
            return Absent.GONE
        if isinstance(operation, op.DescribeTable):
            return self._id("identity: of a counters table", table.id)
        if isinstance(operation, op.ScanItems):
            return table.items | self._stray(operation.region)
        item = table.items.get(operation.counter)
        if isinstance(operation, op.ReadItem):
            return item
        if isinstance(operation, op.DeleteItem):
            held = item is not None and self._holds("delete: no later item", item.epoch <= operation.epoch)
            if held:
                del table.items[operation.counter]
            return held
        return self._write(table.items, item, operation)

    def _on_record(self, receipts: SimulatedReceipts, operation: op.OnRecord) -> Any:
        there = receipts.recorded.get(operation.counter)
        if isinstance(operation, op.ReadRecorded):
            return None if there is None else there.layouts
        layouts, issued = there or Recorded()
        held = self._holds("layouts: newer", _newer(layouts, operation.layouts))
        if held:
            if operation.past is not None:
                over, last = operation.past
                dropped = forgotten(over, operation.layouts[-1].epoch)
                issued = {**{epoch: known for epoch, known in issued.items() if epoch not in dropped}, over: last}
                if over < operation.layouts[-1].epoch - MAX_PAST:
                    del issued[over]
            receipts.recorded[operation.counter] = Recorded(operation.layouts, issued)
        return held

    def _write(self, items: dict[str, Item], item: Item | None, operation: op.PutItem | op.ItemUpdate) -> bool | int:
        if isinstance(operation, op.PutItem):
            instead_of = operation.instead_of
            free = item is None if instead_of is None else item is not None and item.opening == instead_of
            held = self._holds("put: no item or the other's", free)
            after = operation.item
        else:
            after = None if item is None else self._updated(item, operation)
            held = after is not None
        if after is not None and held:
            items[operation.counter] = after
            return after.ceiling if isinstance(operation, op.FenceItem | op.AdoptItem) else True
        return False

    def _updated(self, item: Item, operation: op.ItemUpdate) -> Item | None:
        """Return the item after an update, or None if a condition doesn't hold."""
        after = item
        match operation:
            case op.RenewItem(_, _, new, over):
                held = self._holds("renew: that epoch", item.epoch == over)
                held = held and self._holds("renew: not being opened", item.opening is None)
                if held:
                    past = over, item.issued
                    after = replace(new, ceiling=self._limited(new.ceiling, new.stride), past=past)
            case op.OpenItem(_, _, token, ceiling):
                held = self._holds("open: own token", item.opening == token)
                if held:
                    ceiling = self._limited(ceiling, item.stride)
                    after = replace(item, ceiling=ceiling, fenced=False, opening=None)
            case op.RaiseItem(_, _, epoch, ceiling):
                held = self._holds("raise: this epoch", item.epoch == epoch)
                held = held and self._holds("raise: not fenced", not item.fenced)
                held = held and self._holds("raise: upwards", item.ceiling < ceiling)
                if held:
                    after = replace(item, ceiling=ceiling)
            case op.FenceItem(_, _, epoch, by, most):
                held = self._holds("fence: this epoch", item.epoch == epoch)
                held = held and self._holds("fence: not fenced", not item.fenced)
                held = held and (by is None or self._holds("fence: issued within", item.issued <= most))
                if held:
                    after = replace(item, ceiling=item.ceiling if by is None else item.issued + by, fenced=True)
            case op.AdoptItem(_, _, over, epoch):
                held = self._holds("adopt: that epoch", item.epoch == over)
                held = held and self._holds("adopt: not being opened", item.opening is None)
                after = replace(item, epoch=epoch)
            case op.CloseItem(_, _, over, epoch, deleted):
                held = self._holds("close: that epoch", item.epoch == over)
                if held:
                    past = (over, item.issued) if over < epoch else item.past
                    after = replace(item, ceiling=item.issued, epoch=epoch, fenced=True, opening=None, past=past)
                    after = replace(after, deleted=deleted or item.deleted)
        return after if held else None

    def _holds(self, name: str, condition: bool) -> bool:
        return condition or name == self.without

    def _id(self, name: str, id_: str) -> str:
        return id_.split()[0] if name == self.without else id_

    def _limited(self, ceiling: int, stride: int) -> int:
        if self.without != "limit: no ceiling above it":
            return ceiling
        return MAX_INTEGER - (MAX_INTEGER - ceiling) % stride


def _newer(there: tuple[Layout, ...], layouts: tuple[Layout, ...]) -> bool:
    return not there or there[-1].epoch < layouts[-1].epoch
