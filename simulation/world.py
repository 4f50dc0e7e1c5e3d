"""The tables in memory: the same operations, conditions and answers as on DynamoDB, for one counter.

`coordinate/store.py` and `mint/table.py` make the same writes on DynamoDB. tests/simulation/test_world.py
runs random operations on both and compares every answer and every record.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from coordinate.model import MAX_PAST, Item, Refused, Register
from coordinate.operations import (
    CreateRegister,
    FenceItem,
    OpenItem,
    Operation,
    PlaceItem,
    ReadItem,
    ReadRegister,
    ReadStanding,
    RecordLayouts,
    RenewItem,
    ReplaceRegister,
)

from integers.layouts import Layout

CONDITIONS = (
    "mint: below the ceiling",
    "create: no register",
    "create: regions stand",
    "replace: unchanged",
    "replace: regions stand",
    "renew: that epoch",
    "renew: not being opened",
    "record: newer",
    "place: no item or the other's",
    "open: own token",
    "fence: this epoch",
    "fence: not fenced",
    "fence: issued within",
)
"""Every condition of every write, by name. Any one can be taken out, to see that it is needed."""


class NoTable(Refused):
    """A write to a region whose table does not exist: DynamoDB answers it with an error, and the store refuses."""


@dataclass(slots=True)
class Table:
    """One region's counters table, as far as one counter is concerned."""

    item: Item | None = None
    issued_in: dict[int, int] = field(default_factory=dict[int, int])
    """The last integer issued in each past epoch, which the item keeps for questions about owners."""
    layouts: tuple[Layout, ...] = ()
    """The layouts recorded beside the item. Neither minting nor the protocol reads them."""


@dataclass
class World:
    """One counter's register, and the table of every region that has one.

    `without` names a condition that always holds, whatever is found.
    """

    without: str | None = None
    standing: tuple[str, ...] | None = None
    register: Register | None = None
    tables: dict[str, Table] = field(default_factory=dict[str, Table])

    def __post_init__(self) -> None:
        if self.without is not None and self.without not in CONDITIONS:
            raise ValueError(f"{self.without!r} is not a condition; there are {', '.join(CONDITIONS)}")

    def make_table(self, region: str) -> None:
        """Make a region's table if there is none."""
        if region not in self.tables:
            self.tables[region] = Table()

    def delete_table(self, region: str) -> None:
        """Delete a region's table with all that is in it."""
        self.tables.pop(region, None)

    def stand(self, regions: tuple[str, ...]) -> None:
        """Record the regions that a deployment asks for, as `Store.stand` does."""
        self.standing = regions

    def mint(self, region: str) -> int | None:
        """Mint one integer, as `CounterTable.mint` does. Return None if no item or no integer is left."""
        table = self.tables.get(region)
        if table is None or (item := table.item) is None:
            return None
        if not self._holds("mint: below the ceiling", item.issued < item.ceiling):
            return None
        integer = item.issued + item.stride
        table.item = replace(item, issued=integer)
        return integer

    def carry_out(self, operation: Operation) -> Any:
        """Carry out one operation and answer as `operations.py` says.

        Raises:
            NoTable: a write to a region that has no table.
        """
        match operation:
            case ReadStanding():
                return self.standing
            case ReadRegister():
                return self.register
            case ReadItem(region, _):
                table = self.tables.get(region)
                return None if table is None else table.item
            case CreateRegister(register):
                held = self._holds("create: no register", self.register is None)
                held = held and self._holds("create: regions stand", self.standing == register.regions)
                if held:
                    self.register = register
                return held
            case ReplaceRegister(old, new, standing):
                held = self._holds("replace: unchanged", self.register == old)
                held = held and self._holds("replace: regions stand", standing is None or self.standing == standing)
                if held:
                    self.register = new
                return held
            case _:
                table = self.tables.get(operation.region)
                if table is None:
                    raise NoTable(operation.region)
                return self._write(table, operation)

    def _write(self, table: Table, operation: RenewItem | RecordLayouts | PlaceItem | OpenItem | FenceItem) -> bool:
        match operation:
            case RecordLayouts(_, _, layouts):
                newer = not table.layouts or table.layouts[-1].epoch < layouts[-1].epoch
                held = self._holds("record: newer", newer)
                if held:
                    table.layouts = layouts
                return held
            case PlaceItem(_, _, new, instead_of):
                item = table.item
                free = item is None if instead_of is None else item is not None and item.opening == instead_of
                held = self._holds("place: no item or the other's", free)
                if held:
                    table.item, table.issued_in = new, {}
                return held
            case _:
                return table.item is not None and self._update(table, table.item, operation)

    def _update(self, table: Table, item: Item, operation: RenewItem | OpenItem | FenceItem) -> bool:
        match operation:
            case RenewItem(_, _, new, over):
                held = self._holds("renew: that epoch", item.epoch == over)
                held = held and self._holds("renew: not being opened", item.opening is None)
                if held:
                    table.item = new
                    table.issued_in = _remembered(table.issued_in, over, new.epoch) | {over: item.issued}
            case OpenItem(_, _, token, ceiling):
                held = self._holds("open: own token", item.opening == token)
                if held:
                    table.item = replace(item, ceiling=ceiling, fenced=False, opening=None)
            case FenceItem(_, _, epoch, ceiling):
                held = self._holds("fence: this epoch", item.epoch == epoch)
                held = held and self._holds("fence: not fenced", not item.fenced)
                held = held and self._holds("fence: issued within", item.issued <= ceiling)
                if held:
                    table.item = replace(item, ceiling=ceiling, fenced=True)
        return held

    def _holds(self, name: str, condition: bool) -> bool:
        return condition or name == self.without


def _remembered(issued_in: dict[int, int], over: int, epoch: int) -> dict[int, int]:
    """Return what an item still remembers in `epoch`, which comes after `over`: at most `MAX_PAST` epochs back."""
    return {past: issued for past, issued in issued_in.items() if not over - MAX_PAST <= past < epoch - MAX_PAST}
