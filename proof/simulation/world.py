"""A small world: a stack's tables in memory, the real store over them, and a real minting function in each region.

No call to a table fails, so the store never waits. What fails does so before it: a whole operation, and with it a
region or a table at home.
"""

import logging
from collections.abc import Callable, Iterator, Mapping, MutableMapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any, ClassVar, Generic, TypeVar

from aws_client.service import ServiceError
from coordinate.dynamodb import encoding
from coordinate.dynamodb.encoding import attributes_of, item_values
from coordinate.dynamodb.store import Store
from coordinate.protocol import operations as op
from coordinate.protocol.model import Absent, Admitted, Claim, Copy, DeploymentRecord, Item, Refused, Register
from mint.model import RequestError
from mint.table import CounterTable

from global_integers_core.records import (
    ADMITTED_KEY,
    HOME_KEY,
    RECORD_KEY,
    Recorded,
    history_text,
    issued_in,
    recorded_of,
)

from .dynamodb import Database, Table

T = TypeVar("T")
Attributes = dict[str, Any]

NOW = 1_795_000_000
"""When a world begins, in seconds since 1970."""

HOME, LAYOUTS, MIRROR, COUNTERS, RECEIPTS = "home", "layouts", "mirror", "counters", "receipts"
"""The first home region, and what the tables are called."""

STRAY = "ordrs"
"""The key of what an operator has written into a table by mistake."""

AT_THE_MIRROR = (op.ReadRecordCopy, op.WriteRecordCopy, op.ReadCopy, op.WriteCopy, op.ScanCopies, op.DescribeMirror)

THAT_STATE = ("epoch = :over", "attribute_not_exists(held)", "held = :holder")
"""Tests that are one condition: that an item is in the state in which it was read."""

LOG = logging.getLogger("mint.table")
"""Where a function says that its table went back."""


def kind_of(operation: op.Operation) -> str:
    """Return whether an operation `reads` or `writes`."""
    return _known(type(at_its_home(operation)))[0]


def at_its_home(operation: op.Operation) -> op.Operation:
    """Return what is carried out in another home region, or the operation itself."""
    return operation.operation if isinstance(operation, op.AtHome) else operation


def at_home(table: str, home: str) -> str:
    """Return what the simulation calls a table of a home region: those of the first one have no region in it."""
    return table if home == HOME else f"{table} {home}"


@cache
def _known(kind: type[op.Operation]) -> tuple[str, str]:
    """Return whether operations of a kind read or write, and which table at home."""
    reads = kind.__name__.startswith(("Read", "Describe", "Scan"))
    return "reads" if reads else "writes", MIRROR if kind in AT_THE_MIRROR else LAYOUTS


def place_of(name: str) -> tuple[str, str]:
    """Return the region of a table, and what it is called there.

    The simulation knows a region's counters table by the region, and the others as `receipts <region>`, `layouts`,
    `mirror`, and in another home region `layouts <region>`.
    """
    table, _, region = name.partition(" ")
    if table in (LAYOUTS, MIRROR):
        return region or HOME, table
    return (region, table) if region else (name, COUNTERS)


def name_of(region: str, table: str) -> str:
    """Return what the simulation calls a table of a region: the reverse of `place_of`."""
    return region if table == COUNTERS else at_home(table, region)


@dataclass
class Decoding(Generic[T]):
    """How the items of a table are decoded and encoded, and what their keys end with."""

    decode: Callable[[Mapping[str, Any]], T]
    encode: Callable[[Any], Attributes]
    end: str = ""

    def __call__(self, attributes: Attributes) -> T | Absent:
        """Return what they encode, or `Absent.STRAY`."""
        return encoding.decoded(self.decode, attributes)


def _recorded_values(recorded: Recorded) -> Attributes:
    past = {issued_in(epoch): {"N": str(last)} for epoch, last in recorded.issued.items()}
    return {"epoch": {"N": str(recorded.layouts[-1].epoch)}, "history": {"S": history_text(recorded.layouts)}, **past}


REGISTERS = Decoding(encoding.register_of, attributes_of)
COPIES = Decoding(encoding.copy_of(encoding.register_of), attributes_of)
RECORD = Decoding(encoding.record_of, attributes_of)
RECORD_COPY = Decoding(encoding.copy_of(encoding.record_of), attributes_of)
IDENTITY = Decoding(encoding.admitted_of, attributes_of)
ITEMS = Decoding(encoding.item_of, item_values)
RECORDED = Decoding(recorded_of, _recorded_values, "/layouts")


class Decoded(MutableMapping[str, T]):
    """What a table has, decoded, by counter. What can't be read isn't there."""

    def __init__(self, table: Table, decoding: Decoding[T]) -> None:
        self._table, self._decoding = table, decoding

    def __getitem__(self, counter: str) -> T:
        """Return what is there of a counter, or what has this key."""
        found = self._decoding(self._table.items[counter + self._decoding.end])
        if isinstance(found, Absent):
            raise KeyError(counter)
        return found

    def __setitem__(self, counter: str, value: T) -> None:
        """Put it there, whatever is there."""
        key = counter + self._decoding.end
        self._table.items[key] = {self._table.key: {"S": key}, **self._decoding.encode(value)}

    def __delitem__(self, counter: str) -> None:
        """Delete it."""
        del self._table.items[counter + self._decoding.end]

    def __iter__(self) -> Iterator[str]:
        """Return the counters."""
        names = [key.removesuffix(self._decoding.end) for key in self._table.items]
        return iter([name for name in names if "/" not in name and name in self])

    def __len__(self) -> int:
        """Return how many counters there are."""
        return sum(1 for _ in self)


@dataclass
class World:
    """The layouts table, its mirror, and the tables of every region that has some."""

    without: ClassVar[str] = ""
    """The condition of all worlds that always holds, whatever is found: one of `conditions`."""
    database: Database = field(default_factory=Database, repr=False)
    unreachable: set[str] = field(default_factory=set[str])
    """Regions that don't answer the coordinator. They mint all the same."""
    now: int = NOW
    """What every clock shows, in seconds since 1970."""
    denied: dict[str, str] = field(default_factory=dict[str, str])
    """Tables that may not be used → `reads` or `writes`."""
    warm: dict[str, CounterTable] = field(default_factory=dict[str, CounterTable], repr=False)
    """The region's functions that have minted. Each remembers what it has seen (`mint/table.py`)."""
    refusal: Exception | None = None
    """Why the last request to mint was refused; None if it wasn't."""
    ids: int = 1
    """How many ids there are."""
    at: str = HOME
    """In which home region the run is whose operation comes next."""
    stores: dict[str, Store] = field(default_factory=dict[str, Store], repr=False)
    """What carries out the operations of all runs in a home region."""

    def __post_init__(self) -> None:
        if self.without:
            write, test = self.without.split(": ", 1)
            tests = THAT_STATE if test == "that state" else (test,)
            self.database.without = frozenset(f"{write}: {each}" for each in tests)
        for name in (LAYOUTS, MIRROR):
            self.make(name, f"{name} 1")

    def __getstate__(self) -> dict[str, Any]:
        """Return what is pickled: not the stores, which have locks. They have nothing to remember: no call fails."""
        return vars(self) | {"stores": {}}

    @property
    def home(self) -> str:
        """The present home region: the one with the record of the last term; without a record, what regions know."""
        there = self.homes
        if len(there) == 1:
            return there[0]
        known = [(-1, 0, home) for home in there]
        known += [(claim.term, 0, claim.home) for claim in self.claims.values()]
        for (region, _), table in self.database.tables.items():
            if found := Decoded(table, RECORD).get(RECORD_KEY):
                known.append((found.term, 1, region))
        return max(each for each in known if each[2] in there)[2]

    @property
    def claims(self) -> dict[str, Claim]:
        """What regions have on record of the home region, by region."""
        tables = ((region, table) for (region, name), table in self.database.tables.items() if name == RECEIPTS)
        found = ((region, Decoded(table, IDENTITY).get(HOME_KEY)) for region, table in tables)
        return {region: claim for region, claim in found if isinstance(claim, Claim)}

    @property
    def homes(self) -> list[str]:
        """The regions with the tables of a home, the present one and others."""
        tables = self.database.tables
        return sorted(region for region, name in tables if name == LAYOUTS and (region, MIRROR) in tables)

    def conditions(self) -> set[str]:
        """Return all that writes have met so far, such as `Mint: issued < ceiling`."""
        met = (name.split(": ", 1) for name in self.database.tests)
        return {f"{write}: {'that state' if test in THAT_STATE else test}" for write, test in met}

    def new_id(self, name: str) -> str:
        """Return an id that no table has had."""
        self.ids += 1
        return f"{name} {self.ids}"

    def make(self, name: str, id_: str = "") -> Table:
        """Make a table, empty, in place of one that may be there."""
        region, table = place_of(name)
        id_ = id_ or (name if table == RECEIPTS else self.new_id(name))
        return self.database.create(region, table, "receipt" if table == RECEIPTS else "counter", id_, id_)

    def make_home(self, home: str) -> None:
        """Make the tables of a home region as far as there are none."""
        for name in (LAYOUTS, MIRROR):
            if (home, name) not in self.database.tables:
                self.make(at_home(name, home))

    def make_table(self, region: str) -> None:
        """Make a region's tables as far as there are none."""
        for name in (region, f"{RECEIPTS} {region}"):
            if self.table(name) is None:
                self.make(name)

    def layouts_label(self, home: str) -> str:
        """Return by what a deployment knows the layouts table of a home region."""
        return f"{home} {self.database.tables[home, LAYOUTS].stream}"

    def delete(self, name: str) -> None:
        """Delete a table with all that is in it."""
        self.database.tables.pop(place_of(name), None)

    def table(self, name: str) -> Table | None:
        """Return a table, if there is one."""
        return self.database.tables.get(place_of(name))

    @property
    def layouts(self) -> Table:
        """The layouts table of the present home region."""
        return self.database.tables[self.home, LAYOUTS]

    @property
    def mirror(self) -> Table:
        """The mirror there."""
        return self.database.tables[self.home, MIRROR]

    @property
    def tables(self) -> dict[str, Table]:
        """The counters tables, by region."""
        return {region: table for (region, name), table in self.database.tables.items() if name == COUNTERS}

    @property
    def registers(self) -> Decoded[Register]:
        """The registers, by counter."""
        return Decoded(self.layouts, REGISTERS)

    @property
    def copies(self) -> Decoded[Copy[Register]]:
        """The mirror's copies of them."""
        return Decoded(self.mirror, COPIES)

    @property
    def record(self) -> DeploymentRecord | None:
        """The record. With it, what identifies it is set."""
        return Decoded(self.layouts, RECORD).get(RECORD_KEY)

    @record.setter
    def record(self, record: DeploymentRecord | None) -> None:
        self._set(self.layouts, RECORD_KEY, record)
        self._set(self.layouts, ADMITTED_KEY, record and record.admitted)

    @property
    def admitted(self) -> Admitted | Claim | None:
        """What identifies the record, stored beside it."""
        return Decoded(self.layouts, IDENTITY).get(ADMITTED_KEY)

    @property
    def record_copy(self) -> Copy[DeploymentRecord] | None:
        """The mirror's copy of the record."""
        return Decoded(self.mirror, RECORD_COPY).get(RECORD_KEY)

    @record_copy.setter
    def record_copy(self, copy: Copy[DeploymentRecord] | None) -> None:
        self._set(self.mirror, RECORD_KEY, copy)

    def _set(self, table: Table, key: str, value: Any) -> None:
        table.items.pop(key, None)
        if value is not None:
            table.items[key] = attributes_of(value)

    def items(self, region: str) -> Decoded[Item]:
        """Return a region's items, by counter; none if it has no table."""
        return Decoded(self.table(region) or Table("", ""), ITEMS)

    def item(self, region: str, counter: str) -> Item | None:
        """Return a region's item of a counter, if there is one."""
        return self.items(region).get(counter)

    def recorded(self, region: str) -> Decoded[Recorded]:
        """Return the layouts that a region has on record, by counter; none if it has no table."""
        return Decoded(self.table(f"{RECEIPTS} {region}") or Table("", ""), RECORDED)

    def spoil(self, name: str) -> None:
        """Write something into a table by mistake."""
        table = self.table(name)
        assert table is not None
        table.items[STRAY] = {"counter": {"S": STRAY}, "issued": {"S": "?"}}

    def function(self, region: str) -> CounterTable:
        """Return what a new function of a region mints with."""
        return CounterTable(COUNTERS, self.database.client(region), RECEIPTS)

    def mint(self, region: str, counter: str = "c") -> int | None:
        """Mint one integer. Return None if that is refused."""
        return next(iter(self.mint_block(region, None, counter)), None)

    def mint_block(self, region: str, count: int | None, counter: str = "c") -> list[int]:
        """Mint a block of so many integers, or one, by the region's warm function. Return none if that is refused."""
        function = self.warm.get(region) or self.warm.setdefault(region, self.function(region))
        self.database.label, self.refusal = "Mint", None
        silent, LOG.disabled = LOG.disabled, True
        try:
            block = function.mint(counter) if count is None else function.mint_block(counter, count)
            return [block.first + number * block.stride for number in range(block.count)]
        except (RequestError, ServiceError) as refusal:
            self.refusal = refusal
            return []
        finally:
            LOG.disabled = silent

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation and answer as `operations.py` says."""
        if isinstance(operation, op.Clock):
            return self.now
        if isinstance(operation, op.TakeRunLock | op.MayBegin):  # whoever asks may go on: no integer may depend on it
            return True
        region: str | None = getattr(operation, "region", None)
        inner = at_its_home(operation)
        kind, table = _known(type(inner))
        where = region if inner is operation and region else at_home(table, region or self.at)
        if self.denied.get(where) == kind:
            if region is None:
                raise Refused(f"home: the home region's tables can't be used: {table}")
            return Absent.UNREACHABLE
        if region in self.unreachable:
            return Absent.UNREACHABLE
        if self.denied and isinstance(operation, op.OnRecord) and self.denied.get(f"{RECEIPTS} {region}") == kind:
            return Absent.GONE
        self.database.label = type(inner).__name__
        if self.at not in self.stores:
            self.stores[self.at] = Store(self.at, LAYOUTS, MIRROR, COUNTERS, RECEIPTS, client_of=self.database.client)
        return self.stores[self.at].carry_out(operation)
