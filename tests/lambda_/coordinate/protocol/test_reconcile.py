"""One counter is reconciled step by step, on tables in memory: what is done before what, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol.epochs import begin_next_epoch, fence, lost_register, recover
from coordinate.protocol.model import Absent, Copy, DeploymentRecord, Item, Refused, Register
from coordinate.protocol.operations import (
    Clock,
    DescribeTable,
    Observation,
    Operation,
    ReadCopy,
    ReadItem,
    ReadRegister,
    WriteRegister,
)
from coordinate.protocol.plan import Asked
from coordinate.protocol.reconcile import Outcome, reconcile

from global_integers_core.names import DELETED
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World
from tests.lambda_.coordinate.sample_records import NOW, items_of, record, register


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
        present = self.world.record
        number = present.number + 1 if present else 1
        self.world.record = record(*regions, number=number, **settings)
        return self.world.record

    def begin(self, now: int = NOW) -> SimulatedCoordinator:
        self.runs += 1
        self.world.now = now
        present = self.world.record
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
        return self.world.registers["c"]


def test_what_a_scan_has_found_of_another_register_is_looked_at_again() -> None:
    scene = Scene("a", "b")
    scene.reconcile()
    stale = Observation(replace(scene.register(), limit=5), {"a": None, "b": None}, {"a": "a 9", "b": "b 9"})
    present = scene.world.record
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
    scene.world.record = None
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        run.finish(scene.carry_out)
    scene.world.record = record("a", layouts_id="layouts 0")
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        scene.reconcile()
    assert scene.written() == []


FRESH = register("a", layouts_id="layouts 0", ids=(None,))


@pytest.mark.parametrize("found", [FRESH, replace(FRESH, ids=("a 1",)), replace(FRESH, lost="loss-1")])
def test_a_register_of_another_table_begins_again_if_nothing_was_done_by_it(found: Register) -> None:
    """Its run was interrupted before it wrote the copy. The layouts table was restored meanwhile, or just before."""
    scene = Scene("a", counters=["d"])  # callers have created c
    scene.world.registers["c"] = found
    if found == FRESH:
        assert scene.reconcile().created
        present = scene.register()
        assert (present.epoch, present.base, present.ids) == (FRESH.epoch + 1, FRESH.limit + 1, ("a 2",))
    else:
        with pytest.raises(Refused, match=r"^c: its register .* lost"):
            scene.reconcile()


def test_no_run_goes_on_for_ever() -> None:
    scene = Scene("a")

    def always_late(operation: Operation) -> Any:
        return False if isinstance(operation, WriteRegister) else scene.world.carry_out(operation)

    with pytest.raises(Refused, match="c: other runs were faster 100 times"):
        scene.begin().finish(always_late)


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
    scene.world.registers["c"] = JOINING
    scene.world.copies["c"] = Copy(copied, "mirror 1")
    run = scene.begin()
    while not scene.writes:
        run.step(scene.carry_out)
    assert scene.written() == ["WriteRegister" if is_ahead else "WriteCopy"] if changes else ["HoldItem b"]


def test_nothing_is_deleted_once_its_record_is_lost() -> None:
    scene = Scene("a")
    scene.world.record = None
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        SimulatedCoordinator(reconcile("c", "a run", record("a"), asked=Asked(delete=True))).finish(scene.carry_out)


@pytest.mark.parametrize("described", [Absent.UNREACHABLE, "b 2"])
def test_what_is_lost_goes_on_only_if_every_fence_is_in_the_table_that_was_found(described: str | Absent) -> None:
    """A table that can't be described has no id, and a register that named it would take any other one for lost."""
    lost = register("a", "b", lost="loss-1")
    answered = replace(record("a", "b"), answered="loss-1", above=10_000)
    found: dict[str, str | Absent] = {"a": "a 1", "b": Absent.UNREACHABLE}

    def carry_out(operation: Operation) -> Any:
        match operation:
            case DescribeTable():
                return described if operation.region == "b" else "a 1"
            case Clock():
                return NOW
            case ReadItem():
                return items_of(lost)[operation.region]
            case _:
                return 600  # the ceiling of a fence

    steps = recover(lost, answered, Observation(lost, items_of(lost), found, NOW))
    assert SimulatedCoordinator(steps).finish(carry_out) is None


@pytest.mark.parametrize(
    ("before", "used", "seconds", "left"),
    [
        (0, 0, 100, 100),  # idle: a tenth of the smallest window
        (99_000, 100_000, 100, 10_000),  # 1,000 a second since the last grant, and as many since the scan
        (98_000, 100_000, 1_000, 20_000),  # a peak that came later: 2,000 since the scan, one to two seconds ago
        (Absent.UNREACHABLE, 100_000, 100, 10_000),  # it answers only now
    ],
)
def test_a_fenced_region_mints_for_ten_seconds_at_its_rate(
    before: int | Absent, used: int, seconds: int, left: int
) -> None:
    busy = register("a", window=200_000, granted=NOW - seconds, limit=500 + 200_000)
    world = World()
    world.make_table("a")
    item = items_of(busy)["a"]
    world.items("a")["c"] = replace(item, issued=item.issued + used)
    world.now = NOW
    seen = before if isinstance(before, Absent) else replace(item, issued=item.issued + before)
    found = Observation(busy, {"a": seen}, {"a": "a 1"}, NOW - 2)
    changing = begin_next_epoch(busy, record("b", window=1000), found, doubted=False)
    SimulatedCoordinator(changing).finish(world.carry_out)

    fenced = world.item("a", "c")
    assert fenced is not None
    assert fenced.fenced
    assert fenced.ceiling - fenced.issued == left


HELD = Item(7, 2, 7, 3, fenced=True, held="token")


@pytest.mark.parametrize(
    ("item", "epoch", "left", "left_into"),
    [
        (Item(7, 2, 99, 3), 3, 20, 20),
        (Item(7, 2, 99, 3), 4, 0, 20),
        (Item(90, 2, 99, 3), 3, 9, 9),  # fewer are left than that: the ceiling stays
        (Item(7, 2, 30, 3, fenced=True), 4, 0, 23),
        (Item(7, 2, 30, 3, fenced=True), 3, 23, 23),
        (HELD, 3, 0, 0),
        (HELD, 4, 0, 0),
        (replace(HELD, held=DELETED), 4, 0, 0),
    ],
)
def test_an_item_is_fenced_as_the_coordinator_goes_on_with_it(
    item: Item, epoch: int, left: int, left_into: int
) -> None:
    """Left are the integers up to its ceiling. `left_into` if nobody was given any of this epoch."""
    for into in (False, True):
        world = World()
        world.make_table("a")
        world.items("a")["c"] = item
        fencing = fence("c", {"a": item}, epoch, {"a": 10}, into=into)
        found = SimulatedCoordinator(fencing).finish(world.carry_out)

        after = world.item("a", "c")
        assert found == {"a": after}
        assert after is not None
        assert (after.epoch, after.fenced, after.held) == (epoch, True, "")
        assert after.ceiling - after.issued == (left_into if into else left)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([], register("a", epoch=NOW, base=1, ids=(None,), limit=0)),
        (
            [register("b", epoch=NOW + 5)],
            register("a", epoch=NOW + 6, ids=(None,), limit=1500),
        ),  # the clock was set back
        ([Item(1, 1, 2, NOW + 5)], register("a", epoch=NOW + 6, base=1, ids=(None,), limit=0)),
        ([register(epoch=7, limit=90), Item(1, 1, 2, 6)], register(epoch=NOW, limit=90)),
        (
            [register(epoch=7), Item(1, 1, 2, 8)],
            register("a", epoch=NOW, ids=(None,), limit=500),
        ),  # it was created again
        ([Item(1, 1, 1, 7, held=DELETED), Item(1, 1, 2, 6)], register(epoch=NOW, base=1, limit=0)),
    ],
)
def test_a_lost_register_keeps_what_is_known(left: list[Register | Item], expected: Register) -> None:
    """And a counter that was deleted last stays deleted."""
    new = register("a", epoch=1, base=9, granted=NOW)

    assert lost_register(new, "loss-1", left, NOW) == replace(expected, lost="loss-1")
