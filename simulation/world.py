"""The tables in memory: the same operations and conditions as on DynamoDB, each of which can be taken out."""

from dataclasses import dataclass, field, replace
from typing import Any

from coordinate.model import Item, Refused, Register
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

CONDITIONS = (
    "create: none exists",
    "create: standing",
    "replace: unchanged",
    "decide: standing",
    "renew: that epoch",
    "renew: not being opened",
    "place: none or the other's",
    "open: own token",
    "fence: this epoch",
    "fence: not fenced",
    "fence: issued within",
)
"""Every condition of every write, by name."""


class Duplicate(AssertionError):
    """An integer was minted twice."""


class NoTable(Refused):
    """A write to a region whose table is gone: only a coordinator out of date tries that."""


@dataclass
class World:
    """One counter: its register and its item in every region that has a table (None: a table without the item)."""

    without: str | None = None
    standing: tuple[str, ...] | None = None
    register: Register | None = None
    tables: dict[str, Item | None] = field(default_factory=dict[str, Item | None])
    minted: dict[int, str] = field(default_factory=dict[int, str])
    tokens: int = 0

    def holds(self, name: str, condition: bool) -> bool:
        return condition or name == self.without

    def mint(self, region: str) -> int | None:
        """The one write of the request path. None: no item, or the ceiling is reached."""
        item = self.tables.get(region)
        if item is None or item.issued >= item.ceiling:
            return None
        integer = item.issued + item.stride
        self.tables[region] = replace(item, issued=integer)
        if integer in self.minted:
            raise Duplicate(f"{integer} was minted in {self.minted[integer]} and again in {region}")
        self.minted[integer] = region
        return integer

    def carry_out(self, operation: Operation) -> Any:
        match operation:
            case ReadStanding():
                return self.standing
            case ReadRegister():
                return self.register
            case ReadItem(region, _):
                return self.tables.get(region)
            case CreateRegister(register):
                held = self.holds("create: none exists", self.register is None)
                held = held and self.holds("create: standing", self.standing == register.regions)
                if held:
                    self.register = register
                return held
            case ReplaceRegister(old, new, standing):
                held = self.holds("replace: unchanged", self.register == old)
                held = held and self.holds("decide: standing", standing is None or self.standing == standing)
                if held:
                    self.register = new
                return held
            case RecordLayouts(region):  # for those who ask; nothing here goes by it
                if region not in self.tables:
                    raise NoTable(region)
                return True
            case _:
                return self._write_item(operation)

    def _write_item(self, operation: RenewItem | PlaceItem | OpenItem | FenceItem) -> bool:
        region = operation.region
        if region not in self.tables:
            raise NoTable(region)
        item = self.tables[region]
        match operation:
            case RenewItem(_, _, new, over):
                held = item is not None and self.holds("renew: that epoch", item.epoch == over)
                held = held and item is not None and self.holds("renew: not being opened", item.opening is None)
                after = new
            case PlaceItem(_, _, new, instead_of):
                there = item.opening if item is not None else None
                same = item is None if instead_of is None else there == instead_of
                held = self.holds("place: none or the other's", same)
                after = new
            case OpenItem(_, _, token, ceiling):
                held = item is not None and self.holds("open: own token", item.opening == token)
                after = replace(item, ceiling=ceiling, fenced=False, opening=None) if item else None
            case FenceItem(_, _, epoch, ceiling):
                held = item is not None
                if item is not None:
                    held = self.holds("fence: this epoch", item.epoch == epoch)
                    held = held and self.holds("fence: not fenced", not item.fenced)
                    held = held and self.holds("fence: issued within", item.issued <= ceiling)
                after = replace(item, ceiling=ceiling, fenced=True) if item else None
        if held:
            self.tables[region] = after
            if isinstance(operation, FenceItem):
                self._check_fence(after)
        return held

    def _check_fence(self, item: Item | None) -> None:
        """An epoch that nobody has decided to end would stand still once its headroom is minted."""
        register = self.register
        if register is None or register.next is None or (item is not None and register.epoch < item.epoch):
            raise AssertionError("an epoch was fenced that nobody had decided to end")
