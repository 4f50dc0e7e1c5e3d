"""One counter is reconciled step by step, on tables in memory: what is done before what, and what is refused."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol import operations as op
from coordinate.protocol.epochs import begin_next_epoch, fence, lost_register, recover
from coordinate.protocol.model import Absent, DeploymentRecord, Item, Refused, Register
from coordinate.protocol.plan import Asked
from coordinate.protocol.reconcile import Outcome, reconcile

from global_integers_core.names import DELETED
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World
from tests.lambda_.coordinate.sample_records import NOW, items_of, record, register
from tests.lambda_.coordinate.simulated_runs import answering


def world_for(*regions: str, register: Register | None = None, **settings: Any) -> World:
    """Return a world in which a deployment of these regions is admitted, and c has this register."""
    world = World()
    for region in ("a", "b"):
        world.make_table(region)
    world.record, world.now = record(*regions, **settings), NOW
    if register is not None:
        world.registers["c"] = register
    return world


def begun(world: World, observation: op.Observation | None = None, **asked: bool) -> SimulatedCoordinator:
    assert world.record is not None
    return SimulatedCoordinator(reconcile("c", world.new_id("run"), world.record, observation, Asked(**asked)))


def reconciled(world: World, observation: op.Observation | None = None) -> Outcome:
    return begun(world, observation).finish(world.carry_out)


def test_what_a_scan_found_of_another_register_is_read_again() -> None:
    world = world_for("a", "b")
    first = reconciled(world)
    stale = op.Observation(replace(first.register, limit=5), {"a": None, "b": None}, {"a": "a 9", "b": "b 9"})

    assert reconciled(world, stale) == Outcome(first.register, ())


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (op.ReadRegister, "c: the item of this counter in the layouts table can't be read"),
        (op.ReadCopy, "c: the item of this counter in the mirror can't be read"),
        (op.ReadItem, ("b",)),
    ],
)
def test_what_cannot_be_read_is_refused_or_pending(kind: type[op.Operation], expected: str | tuple[str, ...]) -> None:
    world = world_for("a", "b")
    reconciled(world)

    def unreadable(operation: op.Operation) -> Any:
        stray = isinstance(operation, kind) and getattr(operation, "region", "b") == "b"
        return Absent.STRAY if stray else world.carry_out(operation)

    if isinstance(expected, str):
        with pytest.raises(Refused, match=expected):
            begun(world).finish(unreadable)
    else:
        assert begun(world).finish(unreadable).pending == expected


@pytest.mark.parametrize("found", [None, record("a", layouts_id="layouts 0")])
@pytest.mark.parametrize("delete", [False, True])
def test_nothing_is_begun_without_a_record(found: DeploymentRecord | None, delete: bool) -> None:
    world = world_for("a")
    run = begun(world, delete=delete)
    world.record = found
    with pytest.raises(Refused, match="The layouts table was lost while the coordinator ran"):
        run.finish(world.carry_out)
    assert not world.registers


FRESH = register("a", layouts_id="layouts 0", ids=(None,))


def test_a_register_by_which_nothing_was_done_begins_again() -> None:
    """Its run was interrupted before it wrote the copy. The layouts table was restored meanwhile, or just before."""
    world = world_for("a", register=FRESH, counters=["d"])  # callers have created c
    outcome = reconciled(world)
    assert outcome.created
    present = outcome.register
    assert (present.epoch, present.base, present.ids) == (FRESH.epoch + 1, FRESH.limit + 1, ("a 2",))

    for found in (replace(FRESH, ids=("a 1",)), replace(FRESH, lost="loss-1")):
        world = world_for("a", register=found, counters=["d"])
        with pytest.raises(Refused, match=r"^c: its register .* lost"):
            reconciled(world)


def test_no_run_goes_on_for_ever() -> None:
    world = world_for("a")
    with pytest.raises(Refused, match="c: other runs were faster 100 times"):
        begun(world).finish(answering(world, op.WriteRegister, False))


JOINING = register("a", "b", ids=("a 1", None))


@pytest.mark.parametrize(
    ("changes", "is_ahead"),
    [
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
def test_a_copy_is_ahead_if_it_is_later_in_the_same_table(changes: dict[str, Any], is_ahead: bool) -> None:
    assert replace(JOINING, **changes).is_ahead_of(JOINING) is is_ahead


@pytest.mark.parametrize("described", [Absent.UNREACHABLE, "b 2"])
def test_what_is_lost_goes_on_only_if_every_fence_counts(described: str | Absent) -> None:
    """A table that can't be described has no id, and a register that named it would take any other one for lost."""
    lost = register("a", "b", lost="loss-1")
    answered = replace(record("a", "b"), answered="loss-1", above=10_000)
    found: dict[str, str | Absent] = {"a": "a 1", "b": Absent.UNREACHABLE}

    def carry_out(operation: op.Operation) -> Any:
        match operation:
            case op.DescribeTable():
                return described if operation.region == "b" else "a 1"
            case op.Clock():
                return NOW
            case op.ReadItem():
                return items_of(lost)[operation.region]
            case _:
                return 600  # the ceiling of a fence

    steps = recover(lost, answered, op.Observation(lost, items_of(lost), found, NOW))
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
    world, found = busy(before, used, seconds, NOW - 2)
    changing = begin_next_epoch(found.register, record("b", window=1000), found, doubted=False)
    SimulatedCoordinator(changing).finish(world.carry_out)

    fenced = world.item("a", "c")
    assert fenced is not None
    assert fenced.fenced
    assert fenced.ceiling - fenced.issued == left


def test_what_a_scan_found_is_as_old_as_the_scan() -> None:
    world, found = busy(98_000, 100_000, 1_000, NOW - 5)
    assert reconciled(world, found).register.regions == ("b",)

    fenced = world.item("a", "c")
    assert fenced is not None
    assert fenced.ceiling - fenced.issued == 10 * 2_000 // 4


def busy(before: int | Absent, used: int, seconds: int, at: int) -> tuple[World, op.Observation]:
    """Return a world in which a counter is to leave `a`, and what was found of it before, when `before` were used."""
    held = register("a", window=200_000, granted=NOW - seconds, limit=500 + 200_000)
    world = world_for("b", register=held, window=1000)
    item = items_of(held)["a"]
    world.items("a")["c"] = replace(item, issued=item.issued + used)
    seen = before if isinstance(before, Absent) else replace(item, issued=item.issued + before)
    return world, op.Observation(held, {"a": seen}, {"a": "a 1"}, at)


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
def test_an_item_is_fenced_as_it_is_found(item: Item, epoch: int, left: int, left_into: int) -> None:
    """Left are the integers up to its ceiling. `left_into` if nobody was given any of this epoch."""
    for into in (False, True):
        world = world_for()
        world.items("a")["c"] = item
        fencing = fence("c", {"a": item}, epoch, {"a": 10}, into=into)
        unread = answering(world, op.ReadItem, Absent.UNREACHABLE)  # what a write answers is enough
        found = SimulatedCoordinator(fencing).finish(unread)

        after = world.item("a", "c")
        assert found == {"a": after}
        assert after is not None
        assert (after.epoch, after.fenced, after.held) == (epoch, True, "")
        assert after.ceiling - after.issued == (left_into if into else left)


@pytest.mark.parametrize(
    ("left", "expected"),
    [
        ([], register("a", epoch=NOW, base=1, ids=(None,), limit=0)),
        # The clock was set back.
        ([register("b", epoch=NOW + 5)], register("a", epoch=NOW + 6, ids=(None,), limit=1500)),
        ([Item(1, 1, 2, NOW + 5)], register("a", epoch=NOW + 6, base=1, ids=(None,), limit=0)),
        ([register(epoch=7, limit=90), Item(1, 1, 2, 6)], register(epoch=NOW, limit=90)),
        # It was created again.
        ([register(epoch=7), Item(1, 1, 2, 8)], register("a", epoch=NOW, ids=(None,), limit=500)),
        ([Item(1, 1, 1, 7, held=DELETED), Item(1, 1, 2, 6)], register(epoch=NOW, base=1, limit=0)),
    ],
)
def test_a_lost_register_keeps_what_is_known(left: list[Register | Item], expected: Register) -> None:
    """And a counter that was deleted last stays deleted."""
    new = register("a", epoch=1, base=9, granted=NOW)

    assert lost_register(new, "loss-1", left, NOW) == replace(expected, lost="loss-1")
