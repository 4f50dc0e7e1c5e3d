"""A simulated world that fails if a rule is broken, and checks of what must be true in the end."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Any, cast

from coordinate.dynamodb.encoding import item_values
from coordinate.protocol import operations as op
from coordinate.protocol.model import Item, Refused, Register
from coordinate.protocol.refusals import lost_layouts
from coordinate.protocol.run import RunResult
from mint.model import CounterItem, NoItem, RequestError, WentBackwards
from mint.owner import owner_document
from mint.table import CounterTable, HighestSeen, RollbackGuard

from global_integers_core.lattice import Layout, places
from global_integers_core.records import Recorded

from .world import AT_THE_MIRROR, Archive, Layouts, Mirror, SimulatedReceipts, SimulatedTable, World


def reads(operation: op.Operation) -> bool:
    """Return whether an operation writes nothing."""
    return type(operation).__name__.startswith(("Read", "Describe", "Scan", "Clock", "MayBegin", "TakeRunLock"))


class MintedTwice(AssertionError):
    """An integer was minted twice."""


class Unasked(AssertionError):
    """A layout was begun that the last admitted deployment didn't ask for, or `/` mints from another counter."""


class FalseAlarm(AssertionError):
    """A run said that the deployment record is lost, and it was in its place."""


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
    warm: dict[str, RollbackGuard] = field(default_factory=dict[str, RollbackGuard], repr=False)
    """What a function in each region has seen. It refuses what its table can't have (`mint/table.py`)."""
    backups: dict[str, list[Any]] = field(default_factory=dict[str, list[Any]], repr=False)
    """What each table had at every moment: a region's name, `layouts`, `mirror`, `archive`, or `receipts <region>`."""
    only_backups: set[str] = field(default_factory=set[str])
    """The tables of which no later backup is made."""
    lineages: dict[str, tuple[Layout, ...]] = field(default_factory=dict[str, "tuple[Layout, ...]"])
    """Each counter's layouts since its history began, the oldest first."""
    deleting: dict[str, int] = field(default_factory=dict[str, int])
    """The counters being deleted, and in what epoch. They may be as before, if that is lost with the register."""
    defaults: dict[str, str] = field(default_factory=dict[str, str])
    """What callers of each region's `/` reach."""
    asked: str | None = None
    """What callers of `/` were last given on purpose: the counter that was chosen, or from which it minted first."""
    before: dict[str, str] = field(default_factory=dict[str, str])
    """What they reached before the last release."""
    unasked: set[str] = field(default_factory=set[str])
    """The regions whose `/` leads to another counter than before, though nobody asked for that one."""
    unrecorded: set[str] = field(default_factory=set[str])
    """The regions whose receipts table was lost at any time, or couldn't be used."""

    def mint(self, region: str, counter: str = "c") -> int | None:
        """Mint one integer, or raise `MintedTwice`. Return None if the table or a warm function has none."""
        integers = self._seen(region, counter, lambda: [super(CheckedWorld, self).mint(region, counter)])
        return integers[0] if integers else None

    def mint_block(self, region: str, count: int, counter: str = "c") -> list[int]:
        """Mint a block, or raise `MintedTwice`."""
        return self._seen(region, counter, lambda: super(CheckedWorld, self).mint_block(region, count, counter))

    def _seen(self, region: str, counter: str, mint: Callable[[], Sequence[int | None]]) -> list[int]:
        """Mint by a warm function, as `CounterTable` does."""
        guard, before = self.warm.setdefault(region, RollbackGuard()), self.item(region, counter)
        self._back_up(region)
        last = guard.last(counter)
        if before is None or (guard.refused(counter) and not _accepts(guard, counter, last, before, before)):
            return []
        integers = [integer for integer in mint() if integer is not None]
        for integer in integers:
            self._note(region, counter, integer)  # minted, though the function may not hand it out
        after = self.item(region, counter)
        if after is None or (before.opening is None and not _accepts(guard, counter, last, before, after)):
            return []
        return integers

    def release(self, region: str, counter: str, *, chosen: bool) -> None:
        """Let callers of a region's `/` reach this counter."""
        if chosen:
            self.asked = counter
        if counter not in (self.asked or counter, self.defaults.get(region, self.asked)):
            self.unasked.add(region)
        elif counter == self.asked:
            self.unasked.discard(region)
        record = self.layouts.record or (self.mirror.record and self.mirror.record.original)
        known = (record.default_counter, record.default_before) if record else ()
        previous = self.defaults.get(region, counter)
        # Nothing could be minted from what was released before the first record, so nobody goes back to it.
        self.before[region] = previous if previous in known else counter
        self.defaults[region] = counter

    def back(self) -> None:
        """Let callers reach what they reached before the last release, as an operator wants it."""
        for region, counter in self.before.items():
            if self.defaults[region] != counter:
                self.asked = counter if self.asked is not None else None
                self.defaults[region] = counter
                self.unasked.discard(region)

    def mint_at_root(self, region: str) -> int | None:
        """Mint one integer at `/`, or raise `Unasked` if its callers were promised another counter."""
        counter = self.defaults.get(region)
        integer = self.mint(region, counter) if counter else None
        if integer is not None and region in self.unasked:
            raise Unasked(f"/ of {region} mints from {counter}, though {self.asked} was asked for")
        self.asked = self.asked or (counter if integer is not None else None)
        return integer

    def restart(self, region: str) -> None:
        """Replace the region's function, which has forgotten all then."""
        self.warm.pop(region, None)

    def _note(self, region: str, counter: str, integer: int) -> None:
        key = (counter, integer)
        if region in self.restored:
            self.excepted.add(key)
        elif key in self.minted:
            raise MintedTwice(f"{counter} {integer} was minted in {self.minted[key]} and again in {region}")
        else:
            self.minted[key] = region

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation, or raise `Unasked`."""
        if isinstance(operation, op.RecordLayouts):
            self._back_up(f"receipts {operation.region}")
        elif isinstance(operation, op.WriteArchive | op.WriteDeleted):
            self._back_up("archive")
        elif not reads(operation):
            at_home = "mirror" if isinstance(operation, AT_THE_MIRROR) else "layouts"
            self._back_up(getattr(operation, "region", at_home))
        held = super().carry_out(operation)
        if held and isinstance(operation, op.WriteRegister):
            new, record = operation.new, self.layouts.record
            self._note_layout(new)
            self.epochs = max(self.epochs, new.epoch)
            same = operation.old is not None and new.layouts_id == operation.old.layouts_id  # else it is put back
            if operation.old is not None and same and new.epoch == operation.old.epoch and operation.old.window:
                asked = self.layouts.record.desired.window if self.layouts.record else 0
                if new.window > max(asked, 3 * operation.old.window):
                    raise Stuck(f"a window has grown too much: {operation.old}, {new}")
            known = operation.old is not None and operation.old.epoch == new.epoch
            here = new.layouts_id == self.layouts.id and (record is None or record.layouts_id == self.layouts.id)
            advanced = operation.old is not None and not known and operation.old.layouts_id == new.layouts_id
            advanced = advanced and bool(new.window and new.regions)  # not if items were adopted, or it is deleted
            if here and advanced and (record is None or record.desired.regions != new.regions):
                raise Unasked(f"{new.regions} begun, asked for is {record and record.desired.regions}")
        return held

    def keep(self, name: str) -> None:
        """Keep what a table has now as its only backup."""
        self.backups[name] = [self._content(name)]
        self.only_backups.add(name)

    def _note_layout(self, register: Register) -> None:
        """Add a layout to the lineage. One that nothing was done by, since the register was lost, is taken out."""
        counter = register.counter
        if not register.regions:
            self.deleting[counter] = register.epoch
            return
        another = register.epoch > self.deleting.pop(counter, register.epoch)
        if another or not register.window:  # without a window, it is adopted: nobody knows what layout its items had
            self.lineages[counter] = ()
        if register.window:
            before = tuple(layout for layout in self.lineages.get(counter, ()) if layout.epoch < register.epoch)
            self.lineages[counter] = (*before, register.layout)

    def _back_up(self, name: str) -> None:
        if name in self.only_backups:
            return
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
            case "archive":
                return (dict(self.archive.layouts), dict(self.archive.deleted)) if self.archive else None
            case _ if name.startswith("receipts "):
                receipts = self.receipts.get(name.removeprefix("receipts "))
                return dict(receipts.recorded) if receipts else None
            case _:
                table = self.tables.get(name)
                return dict(table.items) if table else None

    def delete_table(self, region: str) -> None:
        """Delete a region's table with all that is in it. Nothing minted there is excepted any more."""
        super().delete_table(region)
        self.restored.pop(region, None)

    def lose(self, name: str, how: str, random: Random) -> None:
        """Lose a table: `gone`, `recreated` empty, or `restored` to any moment.

        The layouts table and the mirror can't be `gone`.
        """
        self._back_up(name)
        content = random.choice(self.backups[name] or [{}])
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
            case "archive":
                empty: tuple[dict[str, Any], dict[str, Any]] = ({}, {})
                layouts, deleted = content if how == "restored" and content else empty
                self.archive = None if how == "gone" else Archive(dict(layouts), dict(deleted), self.new_id(name))
            case _ if name.startswith("receipts "):
                region = name.removeprefix("receipts ")
                self.delete_receipts(region)
                self.unrecorded.add(region)
                if how != "gone":
                    self.receipts[region] = SimulatedReceipts(dict(content) if how == "restored" else {})
            case _:
                self.delete_table(name)
                if how != "gone":
                    self.tables[name] = SimulatedTable(self.new_id(name))
                if how == "restored":
                    self.tables[name].items = dict(content)
                    self.restored[name] = self.now
                    self.forgotten[name] = self.epochs


LOG = logging.getLogger("mint.table")
"""Where a function says that its table went backwards."""


def _accepts(guard: RollbackGuard, counter: str, last: HighestSeen, before: Item, after: Item) -> bool:
    silent, LOG.disabled = LOG.disabled, True
    try:
        seen = HighestSeen(before.epoch, before.issued), HighestSeen(after.epoch, after.issued)
        guard.add(counter, last, *seen)
    except WentBackwards:
        return False
    finally:
        LOG.disabled = silent
    return True


class Stuck(AssertionError):
    """Left alone, the system did not reconcile."""


def check_refusal(world: World, refusal: Refused) -> None:
    """Check that nobody is asked for a floor while the deployment record is in its place, or raise `FalseAlarm`."""
    layouts = world.layouts
    if str(refusal).startswith(LOST) and layouts.record is not None and layouts.record.layouts_id == layouts.id:
        raise FalseAlarm(str(refusal))


LOST = str(lost_layouts("")).split("(", maxsplit=1)[0]
"""How the refusal begins that asks for a floor."""


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
            item = table.items.get(counter)
            if item is None or item.fenced or item.opening or (item.epoch, table.id) != (register.epoch, id_):
                raise Stuck(f"{region} has {item} in {table.id}, the register is {register}")
            if region in world.receipts:
                recorded = world.receipts[region].recorded.get(counter, Recorded()).layouts
                # If it was lost during a change, only the counter that shows a loss is sure to be recorded again.
                forgiven = region in world.unrecorded and counter != record.desired.counters[0]
                current = recorded[-1:] == (register.layout,)
                if not (current or forgiven):
                    raise Stuck(f"{region} has outdated layouts on record: {recorded}")
                if current and recorded != world.lineages[counter][-len(recorded) :]:
                    raise Stuck(f"{region} has a hole in its layouts: {recorded}, {world.lineages[counter]}")
            if item.ceiling > register.limit:
                raise Stuck(f"{region} has {item}, above the limit of {register}")
            for _ in range(5):
                integer = world.mint(region, counter)
                if integer is None or integer < register.base or (integer - place.offset) % place.stride:
                    raise Stuck(f"{region} mints {integer} of {register}")
        for region in record.desired.leaving:
            table = world.tables.get(region)
            item = table.items.get(counter) if table else None
            if region not in world.unreachable and item and item.issued < item.ceiling:
                raise Stuck(f"{region} has left, but mints: {item}")


class FalseOwner(AssertionError):
    """A region said something wrong about an integer."""


def ask(world: CheckedWorld, region: str, counter: str, integer: int) -> dict[str, Any] | None:
    """Ask a region about an integer, by the minting function's own code. Return its answer; None if it doesn't know.

    What a restored table says is excepted, like what it mints. It doesn't know what was minted after the backup, so
    later too it may say of such an integer that it wasn't minted. What it has minted since may lie above where the next
    epochs begin, so it may say of an integer below that it was.
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
    if document["minted"] is None or document["minted"] == (where == region):
        return document
    forgotten = document["epoch"] <= world.forgotten.get(region, 0) and not document["minted"]
    above = any(name == counter and excepted > integer for name, excepted in world.excepted)
    if not forgotten and not (document["minted"] and region in world.forgotten and above):
        raise FalseOwner(f"{region} says of {counter} {integer}, minted in {where}: {document}")
    return document


class _Table:
    def __init__(self, world: CheckedWorld, region: str) -> None:
        table, receipts = world.tables.get(region), world.receipts.get(region)
        self._items = table.items if table else {}
        self._recorded = receipts.recorded if receipts else {}

    def recorded(self, counter: str) -> Recorded:
        return self._recorded.get(counter, Recorded())

    def item(self, counter: str) -> CounterItem:
        item = self._items.get(counter)
        if item is None:
            raise NoItem
        return CounterItem(item.issued, item.stride, item.ceiling, item.epoch, item.fenced, item_values(item))
