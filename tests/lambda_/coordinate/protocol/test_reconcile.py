"""One counter is reconciled step by step, on tables in memory: what is done before what, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol.deletion import may_be_remainder, note_mark
from coordinate.protocol.epochs import EPOCHS_SKIPPED, closing
from coordinate.protocol.model import Absent, Copy, Deleted, DeploymentRecord, Item, Refused, Register
from coordinate.protocol.operations import (
    Observation,
    Operation,
    ReadCopy,
    ReadItem,
    ReadRegister,
    WriteRecord,
    WriteRegister,
)
from coordinate.protocol.reconcile import Outcome, delete, reconcile

from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World
from tests.lambda_.coordinate.sample_records import NOW, record, register


class Scene:
    """A world in which deployments are admitted, and what was written in it."""

    def __init__(self, *regions: str, **settings: Any) -> None:
        self.world = World()
        self.writes: list[Operation] = []
        self.runs = 0
        for region in ("a", "b", "d"):
            self.world.make_table(region)
        self.ask_for(*regions, **settings)

    def ask_for(self, *regions: str, **settings: Any) -> DeploymentRecord:
        present = self.world.layouts.record
        number = present.number + 1 if present else 1
        self.world.layouts.record = record(*regions, number=number, **settings)
        return self.world.layouts.record

    def begin(self, now: int = NOW) -> SimulatedCoordinator:
        self.runs += 1
        self.world.now = now
        present = self.world.layouts.record
        assert present is not None
        return SimulatedCoordinator(reconcile("c", f"run {self.runs}", present))

    def reconcile(self, now: int = NOW) -> Outcome:
        return self.begin(now).finish(self.carry_out)

    def carry_out(self, operation: Operation) -> Any:
        if not type(operation).__name__.startswith(("Read", "Describe", "Clock")):
            self.writes.append(operation)
        return self.world.carry_out(operation)

    def written(self) -> list[str]:
        """Return the kinds of the writes since the last time, the region's name with them if there is one."""
        names = [" ".join([type(w).__name__, getattr(w, "region", "")]).strip() for w in self.writes]
        self.writes.clear()
        return names

    def register(self) -> Register:
        return self.world.layouts.registers["c"]

    def item(self, region: str) -> Item:
        item = self.world.carry_out(ReadItem(region, "c"))
        assert isinstance(item, Item)
        return item


def test_what_a_scan_has_found_of_another_register_is_looked_at_again() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    stale = Observation(replace(scene.register(), limit=5), {"a": None, "b": None}, {"a": "a 9", "b": "b 9"})
    present = scene.world.layouts.record
    assert present is not None

    assert SimulatedCoordinator(reconcile("c", "run", present, stale)).finish(scene.carry_out) == Outcome(
        scene.register(), ()
    )


@pytest.mark.parametrize("table", ["the layouts table", "the mirror"])
def test_a_register_that_cannot_be_read_is_refused(table: str) -> None:
    scene = Scene("a", "b")
    scene.reconcile()

    def unreadable(operation: Operation) -> Any:
        kind = ReadRegister if table == "the layouts table" else ReadCopy
        return Absent.STRAY if isinstance(operation, kind) else scene.carry_out(operation)

    with pytest.raises(Refused, match=f"c: the item of this counter in {table} can't be read"):
        scene.begin().finish(unreadable)


def test_an_item_that_cannot_be_read_is_pending() -> None:
    scene = Scene("a", "b")
    scene.reconcile()

    def unreadable(operation: Operation) -> Any:
        return Absent.STRAY if operation == ReadItem("b", "c") else scene.carry_out(operation)

    assert scene.begin().finish(unreadable).pending == ("b",)


def test_nothing_is_begun_without_a_record() -> None:
    scene = Scene("a")
    run = scene.begin()
    scene.world.layouts.record = None
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        run.finish(scene.carry_out)
    scene.world.layouts.record = record("a", layouts_id="layouts 0")
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        scene.reconcile()
    assert scene.written() == []


@pytest.mark.parametrize("whole", [True, False])
def test_a_counter_is_new_only_if_the_mirror_is_whole(whole: bool) -> None:
    scene = Scene("a")
    present = replace(record("a"), restored=True)
    scene.world.layouts.record = present
    if whole:
        scene.world.mirror.record = Copy(present, scene.world.mirror.id)
        assert scene.reconcile().created
    else:
        with pytest.raises(Refused, match="c: there was a register of this counter"):
            scene.reconcile()


def test_a_region_that_is_ahead_needs_a_floor() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    ahead = Item(700, 2, 900, 5)
    scene.world.tables["b"].items["c"] = ahead

    with pytest.raises(Refused, match=r"c: b has an item of epoch 5, but the register is in epoch 1.* at least 701"):
        scene.reconcile()
    assert scene.item("b") == ahead
    scene.ask_for("a", "b", floors={"c": 800})
    outcome = scene.reconcile()
    assert (outcome.register.epoch, outcome.pending) == (NOW + 1, ())
    assert outcome.register.base > 720


def test_what_a_joining_region_has_is_fenced_beyond_a_floor() -> None:
    scene = Scene("a")
    scene.reconcile()
    scene.world.tables["d"].items["c"] = Item(700, 2, 900, 5)
    scene.ask_for("a", "d")
    with pytest.raises(Refused, match="c: d has an item of epoch 5"):
        scene.reconcile()

    scene.ask_for("a", "d", floors={"c": 100})
    scene.reconcile()
    scene.world.mint("d")
    assert scene.register().base > 720
    assert scene.item("d").issued >= scene.register().base


def test_no_run_goes_on_for_ever() -> None:
    scene = Scene("a")

    def always_late(operation: Operation) -> Any:
        return False if isinstance(operation, WriteRegister) else scene.world.carry_out(operation)

    with pytest.raises(Refused, match="c: other runs were faster 100 times"):
        scene.begin().finish(always_late)


def test_a_later_epoch_though_the_clock_was_set_back() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    scene.world.layouts.registers.clear()
    scene.world.mirror.copies.clear()
    scene.ask_for("a", "b", floors={"c": 5})
    scene.world.tables["b"].items["c"] = replace(scene.item("b"), epoch=700)

    assert scene.reconcile(now=5).register.epoch == 700 + EPOCHS_SKIPPED + 1


JOINING = register("a", "b", ids=("a 1", None))


@pytest.mark.parametrize(
    ("changes", "is_ahead"),
    [
        ({}, False),
        ({"epoch": 4, "limit": 1}, True),
        ({"epoch": 2, "limit": 9_999, "ids": ("a 1", "b 1")}, False),
        ({"limit": JOINING.limit + 1}, True),
        ({"limit": JOINING.limit - 1}, False),
        ({"ids": ("a 1", "b 1")}, True),
        ({"ids": (None, None)}, False),
        ({"layouts_id": "layouts 0", "epoch": 4}, False),
        ({"layouts_id": "layouts 0", "limit": 9_999}, False),
    ],
)
def test_an_older_register_that_is_put_back_in_place_is_replaced(changes: dict[str, Any], is_ahead: bool) -> None:
    """By its copy, if that is of the same layouts table."""
    copied = replace(JOINING, **changes)
    assert copied.is_ahead_of(JOINING) is is_ahead

    scene = Scene("a", "b")
    scene.world.layouts.registers["c"] = JOINING
    scene.world.mirror.copies["c"] = Copy(copied, "mirror 1")
    run = scene.begin()
    while not scene.writes:
        run.step(scene.carry_out)
    assert scene.written() == ["WriteRegister" if is_ahead else "WriteCopy"] if changes else ["PutItem b"]


@pytest.mark.parametrize("opening", [None, "token"])
def test_an_item_is_closed_as_the_coordinator_goes_on_with_it(opening: str | None) -> None:
    world, item = World(), Item(issued=7, stride=2, ceiling=99, epoch=3, opening=opening)
    world.make_table("a")
    world.tables["a"].items["c"] = item
    operation, after = closing("a", "c", item, 4)
    world.carry_out(operation)
    assert world.carry_out(ReadItem("a", "c")) == after


@pytest.mark.parametrize("left", [None, record("a", layouts_id="layouts 0")])
def test_what_was_lost_notes_no_deletion(left: DeploymentRecord | None) -> None:
    scene = Scene("a")
    scene.world.layouts.record = left
    assert not SimulatedCoordinator(note_mark("archive 1", Deleted(3, 100))).finish(scene.carry_out)
    assert scene.writes == []


@pytest.mark.parametrize("mirror_id", ["", "mirror 0"])
def test_a_mirror_that_is_not_whole_notes_no_deletion(mirror_id: str) -> None:
    scene = Scene("a")
    present = scene.world.layouts.record
    assert present is not None
    scene.world.mirror.record = Copy(present, mirror_id) if mirror_id else None
    assert not SimulatedCoordinator(note_mark("archive 1", Deleted(3, 100))).finish(scene.carry_out)
    assert scene.writes == []


def test_a_deletion_that_cannot_be_noted_is_left_to_the_next_run() -> None:
    scene = Scene("a")
    present = scene.world.layouts.record
    assert present is not None
    scene.world.mirror.record = Copy(present, "mirror 1")

    def faster(operation: Operation) -> Any:
        return False if isinstance(operation, WriteRecord) else scene.carry_out(operation)

    assert not SimulatedCoordinator(note_mark("archive 1", Deleted(3, 100))).finish(faster)
    assert SimulatedCoordinator(note_mark("archive 1", Deleted(3, 100))).finish(scene.carry_out)


@pytest.mark.parametrize(
    ("epoch", "ceiling", "may_be"), [(3, 100, True), (2, 99, True), (4, 100, False), (3, 101, False)]
)
def test_an_item_may_be_left_of_a_counter_up_to_the_mark(epoch: int, ceiling: int, may_be: bool) -> None:
    assert may_be_remainder(Item(1, 1, ceiling, epoch), Deleted(3, 100)) == may_be


def test_nothing_is_deleted_once_its_record_is_lost() -> None:
    scene = Scene("a")
    scene.world.layouts.record = None
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        SimulatedCoordinator(delete("c", "a run")).finish(scene.carry_out)


def test_what_was_reported_counts_from_a_later_epoch_on() -> None:
    reported = replace(record("a"), report='{"counters": {"c": {"epoch": 2}}}')
    assert [reported.has_reported("c", after) for after in (0, 1, 2)] == [True, True, False]
    assert not reported.has_reported("d")
