"""A simulated world that fails if a rule is broken, and checks of what must be true in the end."""

from dataclasses import dataclass, field, replace
from math import inf
from random import Random
from typing import Any

from aws_client.service import ServiceError
from coordinate.protocol import operations as op
from coordinate.protocol.model import Claim, Copy, Item, Register
from coordinate.protocol.run import RunResult, pending_regions
from mint.model import RequestError
from mint.owner import owner_document

from global_integers_core.lattice import Layout, places
from global_integers_core.records import Recorded

from .world import ITEMS, LAYOUTS, MIRROR, RECEIPTS, Attributes, World, kind_of, name_of, place_of

Snapshot = dict[str, Attributes]
"""What a table had at some moment, by key."""

Minted = tuple[str, int]
"""A counter and one of its integers."""

Lineage = tuple[Layout, ...]
"""A counter's layouts since its history began, the oldest first."""


NEVER, UNSEEN = inf, 1e30
"""Above every epoch, also above one that a clock has shown."""


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

    minted: dict[Minted, str] = field(default_factory=dict[Minted, str])
    excepted: dict[Minted, tuple[str, float]] = field(default_factory=dict[Minted, tuple[str, float]])
    """Where, and from which epoch on nothing may mint it again: from none (`UNSEEN`) until a run has seen to the table,
    or ever (`NEVER`)."""
    lost: dict[str, int] = field(default_factory=dict[str, int])
    """The counters tables that no run has seen to since they were lost, `layouts` and `mirror`, and when."""
    restored: set[str] = field(default_factory=set[str])
    """The regions whose integers are excepted: their table was restored."""
    home_lost: int = 0
    """How often a table at home was lost."""
    forgotten: dict[str, int] = field(default_factory=dict[str, int])
    """The regions whose table was restored at any time, and the last epoch of which it may have forgotten integers."""
    epochs: int = 0
    """The highest epoch of any register so far."""
    largest: int = 0
    """The largest block that any region has asked for."""
    backups: dict[str, list[Snapshot]] = field(default_factory=dict[str, list[Snapshot]], repr=False)
    """What each table had at every moment."""
    before: dict[str, int] = field(default_factory=dict[str, int])
    """How many backups are of tables that were lost, or of what a restored one had."""
    only_backups: set[str] = field(default_factory=set[str])
    """The tables of which no later backup is made."""
    lineages: dict[str, Lineage] = field(default_factory=dict[str, Lineage])
    begun: dict[str, set[Layout]] = field(default_factory=dict[str, set[Layout]])
    """Each counter's layouts that were begun at any time."""
    lost_lineages: dict[str, tuple[int, Lineage]] = field(default_factory=dict[str, tuple[int, Lineage]])
    """What each lineage was before a loss, and the epoch in which the register says that it is lost."""
    deleting: dict[str, int] = field(default_factory=dict[str, int])
    """The counters being deleted, and in what epoch. They may be as before, if that is lost with the register."""
    unrecorded: set[str] = field(default_factory=set[str])
    """The regions whose receipts table was lost at any time, or couldn't be used."""

    def mint_block(self, region: str, count: int | None, counter: str = "c") -> list[int]:
        """Mint by the region's warm function, or raise `MintedTwice`.

        What the table has issued and nobody got, since the function found that the table went back, is excepted.
        """
        self._back_up(region)
        table = self.table(region)
        before = table and table.items.get(counter)
        integers = super().mint_block(region, count, counter)
        for integer in integers:
            self._note(region, counter, integer)
        if not integers and before and table and (after := table.items[counter]) is not before:
            issued, stride = (int(after[name]["N"]) for name in ("issued", "stride"))
            wasted = range(int(before["issued"]["N"]) + stride, issued + 1, stride)
            for integer in wasted:
                self.excepted.setdefault((counter, integer), (region, NEVER))
        return integers

    def restart(self, region: str) -> None:
        """Replace the region's function, which has forgotten all then."""
        self.warm.pop(region, None)

    def _note(self, region: str, counter: str, integer: int) -> None:
        key = (counter, integer)
        where, epoch = self.excepted.get(key, ("", NEVER))
        if region in self.restored:
            self.excepted[key] = region, min(epoch, UNSEEN)
            return
        if epoch < UNSEEN and (item := self.item(region, counter)) and item.epoch >= epoch:
            raise MintedTwice(f"{counter} {integer} was minted by a restored {where} and again in {region}")
        if key in self.minted:
            raise MintedTwice(f"{counter} {integer} was minted in {self.minted[key]} and again in {region}")
        self.minted[key] = region

    def ended(self, result: RunResult, begun: int) -> None:
        """Note which tables a run of all counters has seen to that began then: those that were lost before."""
        if result.record is None or result.unfinished:
            return
        desired = result.record.desired
        seen = {LAYOUTS, MIRROR, *desired.regions, *desired.leaving} - {*pending_regions(result.outcomes.values())}
        for name in sorted(seen & {name for name, since in self.lost.items() if begun > since}):
            del self.lost[name]
            if name in self.restored:
                self.seen_to(name)

    def seen_to(self, region: str) -> None:
        """Note that a run has seen to a restored table: from the present epochs on, nothing repeats what it minted."""
        self.restored.remove(region)
        self.before[region] = len(self.backups.get(region, ()))
        for (counter, integer), (where, epoch) in self.excepted.items():
            if (where, epoch) == (region, UNSEEN) and (register := self.registers.get(counter)):
                self.excepted[counter, integer] = region, register.epoch

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation, or raise `Unasked` or `Stuck` for a register that must not be."""
        if kind_of(operation) == "writes":
            for place in self.database.tables:
                self._back_up(name_of(*place))
        held = super().carry_out(operation)
        if held and isinstance(operation, op.WriteRegister):
            new = operation.new
            if not new.lost or self.at == self.home:  # a loss that a former one finds says nothing of the present
                self._note_layout(new)
            self.epochs = max(self.epochs, new.epoch)
            known = self.begun.setdefault(new.counter, set())
            if operation.old is not None and operation.old.layouts_id == new.layouts_id:  # else it is put back
                self._check_register(operation.old, new, known=new.layout in known, claimed=operation.admitted)
            known.add(new.layout)
        return held

    def _check_register(self, old: Register, new: Register, *, known: bool, claimed: object) -> None:
        record = self.record
        if new.epoch == old.epoch and not new.lost and not isinstance(claimed, Claim):
            most = (record.desired.window if record else 0, old.lately + old.window, 12 * old.window, 2 * self.largest)
            require(new.window <= max(most), f"a window has grown too much: {old}, {new}")
        here = new.layouts_id == self.layouts.id and (record is None or record.layouts_id == self.layouts.id)
        begun = new.epoch != old.epoch and bool(new.regions) and not new.lost and not known
        if here and begun and (record is None or record.desired.regions != new.regions):
            raise Unasked(f"{new.regions} begun, asked for is {record and record.desired.regions}")

    def keep(self, name: str) -> None:
        """Keep what a table has now as its only backup."""
        table = self.table(name)
        self.backups[name] = [dict(table.items)] if table else []
        self.only_backups.add(name)

    def _note_layout(self, register: Register) -> None:
        """Add a layout to the lineage. One that nothing was done by, since the register was lost, is taken out."""
        counter = register.counter
        if not register.regions:
            self.deleting[counter] = register.epoch
            return
        another = register.epoch > self.deleting.pop(counter, register.epoch)
        lost, lineage = self.lost_lineages.pop(counter, (0, ()))
        if register.epoch < lost:  # a late run has written the loss, and its table was put back
            self.lineages[counter] = lineage
        if another or register.lost:  # then nobody knows what layout its items had
            self.lost_lineages[counter] = register.epoch, self.lineages.get(counter) or lineage
            self.lineages[counter] = ()
        if not register.lost:
            before = tuple(layout for layout in self.lineages.get(counter, ()) if layout.epoch < register.epoch)
            self.lineages[counter] = (*before, register.layout)

    def _back_up(self, name: str) -> None:
        table, backups = self.table(name), self.backups.setdefault(name, [])
        if table is not None and name not in self.only_backups and (not backups or backups[-1] != table.items):
            backups.append(dict(table.items))

    def delete(self, name: str) -> None:
        """Delete a table with all that is in it. Nothing minted there is excepted any more."""
        super().delete(name)
        self.before[name] = len(self.backups.get(name, ()))
        self.restored.discard(name)
        self.lost.pop(name, None)
        self.excepted |= {key: (name, NEVER) for key, found in self.excepted.items() if found == (name, UNSEEN)}

    def lose(self, name: str, how: str, random: Random) -> None:
        """Lose a table: `gone`, `recreated` empty, or `restored` to any moment.

        The layouts table and the mirror can't be `gone`.
        """
        self._back_up(name)
        content = random.choice(self.backups[name] or [{}])
        homes = place_of(name)[1] in (LAYOUTS, MIRROR)
        self.home_lost += homes
        self.delete(name)
        if how != "gone":
            self.make(name).items |= content if how == "restored" else {}
        if name.startswith(RECEIPTS):
            self.unrecorded.add(name.removeprefix(f"{RECEIPTS} "))
            return
        self.lost[place_of(name)[1] if homes else name] = self.now
        if how == "restored" and not homes:
            self.restored.add(name)
            self.forgotten[name] = self.epochs

    def put_back(self, region: str, counter: str, random: Random, *, any_epoch: bool = False) -> bool:
        """Write an older state of an item into the same table. Return whether there is one.

        What was minted since then is excepted: if the function is replaced, nobody can know of it. By default, only
        the integers that are issued differ. With `any_epoch`, it is any earlier state in this table.
        """
        table, now = self.table(region), self.item(region, counter)
        if table is None or now is None or region in self.restored or now.fenced or now.held:
            return False
        states = [items[counter] for items in self.backups[region][self.before.get(region, 0) :] if counter in items]
        older = [
            (state, found.issued)
            for state in states
            if isinstance(found := ITEMS(state), Item) and found.issued < now.issued and not found.held
            if any_epoch or replace(found, issued=0, ceiling=0) == replace(now, issued=0, ceiling=0)
        ]
        if older:
            table.items[counter], issued = random.choice(older)
            excepted = [(key, where) for key, (where, _) in self.excepted.items()]
            for key, where in [*self.minted.items(), *excepted]:  # two regions may have minted what is excepted
                if where == region and key[0] == counter and key[1] > issued:
                    self.excepted[key] = region, NEVER
                    self.minted.pop(key, None)
            self.forgotten[region] = self.epochs
        return bool(older)


class Stuck(AssertionError):
    """Left alone, the system did not reconcile."""


def require(held: object, problem: str) -> None:
    """Raise `Stuck` unless something holds."""
    if not held:
        raise Stuck(problem)


LOST = "Neither the layouts table"
"""How the refusal begins of a loss of everything."""


def check_reconciled(world: CheckedWorld, result: RunResult) -> None:
    """Raise `Stuck` unless every counter has the layout that was asked for, in every region that answers, and mints."""
    record = world.record
    assert record is not None
    require(record.layouts_id == world.layouts.id and record.reconciled, f"the record isn't reconciled: {record}")
    for counter, outcome in result.outcomes.items():
        register = world.registers[counter]
        there = (register.layouts_id, register.regions)
        require(there == (world.layouts.id, record.desired.regions), f"not what was asked for: {register}, {record}")
        copy = world.copies.get(counter)
        require(copy == Copy(register, world.mirror.id), f"the mirror has {copy}, the layouts table {register}")
        for (region, place), id_ in zip(places(register.regions).items(), register.ids, strict=True):
            table = world.tables.get(region)
            if table is None or region in world.unreachable:
                require(region in outcome.pending, f"{region} doesn't answer, but isn't pending")
                continue
            item = world.item(region, counter)
            opened = item and not item.fenced and (item.epoch, item.held, table.id) == (register.epoch, "", id_)
            require(opened, f"{region} has {item} in {table.id}, the register is {register}")
            if world.table(f"{RECEIPTS} {region}") is not None:
                recorded = world.recorded(region).get(counter, Recorded()).layouts
                # If it was lost during a change, only the counter that shows a loss is sure to be recorded again.
                forgiven = region in world.unrecorded and counter != record.desired.counters[0]
                current = recorded[-1:] == (register.layout,)
                require(current or forgiven, f"{region} has outdated layouts on record: {recorded}")
                lineage = world.lineages[counter]
                whole = not current or recorded == lineage[-len(recorded) :]
                require(whole, f"{region} has a hole in its layouts: {recorded}, {lineage}")
            require(item and item.ceiling <= register.limit, f"{region} has {item}, above the limit of {register}")
            for _ in range(5):
                integer = world.mint(region, counter) or 0
                rightly = integer >= register.base and (integer - place.offset) % place.stride == 0
                require(rightly, f"{region} mints {integer} of {register}")
        for region in record.desired.leaving:
            item = world.item(region, counter)
            mints = region not in world.unreachable and item and item.issued < item.ceiling
            require(not mints, f"{region} has left, but mints: {item}")


class FalseOwner(AssertionError):
    """A region said something wrong about an integer."""


def ask(world: CheckedWorld, region: str, counter: str, integer: int) -> dict[str, Any] | None:
    """Ask a region about an integer, by the minting function's own code. Return its answer; None if it doesn't know.

    What a restored table says is excepted, like what it mints. It doesn't know what was minted after the backup, so
    later too it may say of such an integer that it wasn't minted. What it has minted since may lie above where the next
    epochs begin, so it may say of an integer below that it was.
    """
    try:
        document = owner_document(world.function(region), region, counter, integer)
    except (RequestError, ServiceError):
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
