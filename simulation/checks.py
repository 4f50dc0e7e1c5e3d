"""A simulated world that fails if a rule is broken, and checks of what must be true in the end."""

from dataclasses import dataclass, field, replace
from random import Random
from typing import Any, cast

from coordinate.protocol.operations import Operation, WriteRecord, WriteRegister
from coordinate.run import RunResult
from mint.model import CounterItem, NoItem, RequestError
from mint.owner import owner_document
from mint.table import CounterTable

from global_integers_core.lattice import Layout, places

from .world import Layouts, Mirror, World


def reads(operation: Operation) -> bool:
    """Return whether an operation writes nothing."""
    return type(operation).__name__.startswith(("Read", "Describe", "Scan", "Clock", "MayBegin", "TakeRunLock"))


class MintedTwice(AssertionError):
    """An integer was minted twice."""


class Unasked(AssertionError):
    """A layout was begun that the last admitted deployment didn't ask for."""


@dataclass
class CheckedWorld(World):
    """A World that remembers every integer it has minted, and where.

    What a restored table mints before a run has seen to it is excepted: no coordinator can know of the restoration
    before it looks. Such integers are kept apart.
    """

    minted: dict[tuple[str, int], str] = field(default_factory=dict[tuple[str, int], str])
    excepted: set[tuple[str, int]] = field(default_factory=set[tuple[str, int]])
    restored: dict[str, int] = field(default_factory=dict[str, int])
    """The regions whose integers are excepted, and when their table was restored."""
    forgotten: dict[str, int] = field(default_factory=dict[str, int])
    """The regions whose table was restored at any time, and the last epoch of which it may have forgotten integers."""
    epochs: int = 0
    """The highest epoch of any register so far."""
    backups: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]], repr=False)
    """What each table had at every moment: a region's name, `layouts`, or `mirror`."""

    def mint(self, region: str, counter: str = "c") -> int | None:
        """Mint one integer, or raise `MintedTwice`."""
        self._back_up(region)
        integer = super().mint(region, counter)
        if integer is not None:
            self._note(region, counter, integer)
        return integer

    def mint_block(self, region: str, count: int, counter: str = "c") -> list[int]:
        """Mint a block, or raise `MintedTwice`."""
        self._back_up(region)
        integers = super().mint_block(region, count, counter)
        for integer in integers:
            self._note(region, counter, integer)
        return integers

    def _note(self, region: str, counter: str, integer: int) -> None:
        key = (counter, integer)
        if region in self.restored:
            self.excepted.add(key)
        elif key in self.minted:
            raise MintedTwice(f"{counter} {integer} was minted in {self.minted[key]} and again in {region}")
        else:
            self.minted[key] = region

    def carry_out(self, operation: Operation) -> Any:
        """Carry out one operation, or raise `Unasked`."""
        if not reads(operation):
            at_home = "layouts" if isinstance(operation, WriteRegister | WriteRecord) else "mirror"
            self._back_up(getattr(operation, "region", at_home))
        held = super().carry_out(operation)
        if held and isinstance(operation, WriteRegister):
            new, record = operation.new, self.layouts.record
            self.epochs = max(self.epochs, new.epoch)
            known = operation.old is not None and operation.old.epoch == new.epoch
            here = new.layouts_id == self.layouts.id and (record is None or record.layouts_id == self.layouts.id)
            advanced = operation.old is not None and not known and operation.old.layouts_id == new.layouts_id
            if here and advanced and (record is None or record.desired.regions != new.regions):
                raise Unasked(f"{new.regions} begun, asked for is {record and record.desired.regions}")
        return held

    def _back_up(self, name: str) -> None:
        content = self._content(name)
        backups = self.backups.setdefault(name, [])
        if content is not None and (not backups or backups[-1] != content):
            backups.append(content)

    def _content(self, name: str) -> Any:
        match name:
            case "layouts":
                return self.layouts.record, dict(self.layouts.registers)
            case "mirror":
                return self.mirror.record, dict(self.mirror.copies)
            case _:
                table = self.tables.get(name)
                return {counter: replace(entry) for counter, entry in table.counters.items()} if table else None

    def delete_table(self, region: str) -> None:
        """Delete a region's table with all that is in it. Nothing minted there is excepted any more."""
        super().delete_table(region)
        self.restored.pop(region, None)

    def lose(self, name: str, how: str, random: Random) -> None:
        """Lose a table, a region's, `layouts` or `mirror`: `gone`, `recreated` empty, or `restored` to any moment."""
        self._back_up(name)
        content = random.choice(self.backups[name])
        nothing: tuple[Any, dict[str, Any]] = (None, {})
        match name:
            case "layouts":
                record, registers = content if how == "restored" else nothing
                self.layouts = Layouts(self.new_id(name), record, dict(registers))
                if self.without == "mirror: written before anything is done":
                    record, copies = self.backups.get("mirror", [nothing])[-2:][0]
                    self.mirror.copies = dict(copies)
            case "mirror":
                record, copies = content if how == "restored" else nothing
                self.mirror = Mirror(self.new_id(name), record, dict(copies))
            case _:
                self.delete_table(name)
                if how != "gone":
                    self.make_table(name)
                if how == "restored":
                    self.tables[name].counters = {counter: replace(entry) for counter, entry in content.items()}
                    self.restored[name] = self.now
                    self.forgotten[name] = self.epochs


class Stuck(AssertionError):
    """Left alone, the system did not reconcile."""


def check_reconciled(world: CheckedWorld, result: RunResult) -> None:
    """Raise `Stuck` unless every counter has the layout that was asked for, in every region that answers, and mints."""
    record = world.layouts.record
    if record is None or record.layouts_id != world.layouts.id or not record.reconciled:
        raise Stuck(f"the record isn't reconciled: {record}")
    for counter, outcome in result.outcomes.items():
        register = world.layouts.registers[counter]
        if register.layouts_id != world.layouts.id or register.regions != record.desired.regions:
            raise Stuck(f"not what was asked for: {register}, {record}")
        copy = world.mirror.copies.get(counter)
        if copy is None or copy.original != register or copy.mirror_id != world.mirror.id:
            raise Stuck(f"the mirror has {copy}, the layouts table {register}")
        for (region, place), id_ in zip(places(register.regions).items(), register.ids, strict=True):
            table = world.tables.get(region)
            if table is None or region in world.unreachable:
                if region not in outcome.pending:
                    raise Stuck(f"{region} doesn't answer, but isn't pending")
                continue
            item = table.counters[counter].item
            if item is None or item.fenced or item.opening or (item.epoch, table.id) != (register.epoch, id_):
                raise Stuck(f"{region} has {item} in {table.id}, the register is {register}")
            if table.counters[counter].layouts != register.layouts:
                raise Stuck(f"{region} has outdated layouts on record: {table.counters[counter].layouts}")
            if item.ceiling > register.limit:
                raise Stuck(f"{region} has {item}, above the limit of {register}")
            for _ in range(5):
                integer = world.mint(region, counter)
                if integer is None or integer < register.base or (integer - place.offset) % place.stride:
                    raise Stuck(f"{region} mints {integer} of {register}")
        for region in record.desired.leaving:
            table = world.tables.get(region)
            entry = table.counters.get(counter) if table else None
            if region not in world.unreachable and entry and entry.item and entry.item.issued < entry.item.ceiling:
                raise Stuck(f"{region} has left, but mints: {entry.item}")


class FalseOwner(AssertionError):
    """A region said something wrong about an integer."""


def ask(world: CheckedWorld, region: str, counter: str, integer: int) -> dict[str, Any] | None:
    """Ask a region about an integer, by the minting function's own code. Return its answer; None if it doesn't know.

    What a restored table says is excepted, like what it mints. It doesn't know what was minted after the backup, so
    later too it may say of such an integer that it wasn't minted.
    """
    table = cast("CounterTable", _Table(world, region))
    try:
        document = owner_document(table, region, counter, integer)
    except RequestError:
        return None
    where = world.minted.get((counter, integer))
    if region in world.restored or (counter, integer) in world.excepted:
        return document
    if where is not None and where != document["region"]:
        raise FalseOwner(f"{region} says of {counter} {integer}, which {where} has minted: {document}")
    forgotten = document["epoch"] <= world.forgotten.get(region, 0) and not document["minted"]
    if document["minted"] is not None and document["minted"] != (where == region) and not forgotten:
        raise FalseOwner(f"{region} says of {counter} {integer}, minted in {where}: {document}")
    return document


class _Table:
    def __init__(self, world: CheckedWorld, region: str) -> None:
        table = world.tables.get(region)
        self._counters = table.counters if table else {}

    def layouts(self, counter: str) -> tuple[Layout, ...]:
        entry = self._counters.get(counter)
        return entry.layouts if entry else ()

    def item(self, counter: str) -> CounterItem:
        entry = self._counters.get(counter)
        if entry is None or entry.item is None:
            raise NoItem
        item = entry.item
        return CounterItem(item.issued, item.stride, item.ceiling, item.epoch, item.fenced, entry.attributes())
