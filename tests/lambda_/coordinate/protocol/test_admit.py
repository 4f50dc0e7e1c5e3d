"""Which deployment is admitted, and how the record is kept: what transcripts can't show, on tables in memory."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol import operations as op
from coordinate.protocol.admit import admit
from coordinate.protocol.model import Absent, Copy, Deploy, DeploymentRecord, Item, Refused, Register

from global_integers_core.records import ADMITTED_KEY, Recorded
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.sample_records import NOW, desired, items_of, record, register
from tests.lambda_.coordinate.simulated_runs import answering


def deployment(*regions: str, follows: str = "", **settings: object) -> Deploy:
    return Deploy(desired(*regions, **settings), follows, NOW)


def admitted(world: World, deployment: Deploy | None, run: str = "run") -> DeploymentRecord | None:
    world.now = NOW
    return SimulatedCoordinator(admit(deployment, run)).finish(world.carry_out)


def refusal(world: World, deployment: Deploy | None, run: str = "run") -> str:
    with pytest.raises(Refused) as refused:
        admitted(world, deployment, run)
    return str(refused.value)


def with_one_deployed() -> World:
    """Return a world in which the third deployment is reconciled."""
    world = World()
    for region in "abc":
        world.make_table(region)
    world.record = replace(record("a", "b", number=3, follows=2), reconciled=True)
    world.registers["c"] = register("a", "b")
    world.copies["c"] = Copy(register("a", "b"), "mirror 1")
    world.record_copy = Copy(world.record, "mirror 1")
    return world


def test_a_record_with_nothing_beside_it_is_written_again() -> None:
    """Somebody has deleted what identifies it."""
    world = with_one_deployed()
    stood = world.record
    del world.layouts.items[ADMITTED_KEY]

    assert admitted(world, None) == stood
    assert world.admitted == (stood and stood.admitted)


def test_floors_name_counters_of_which_something_is_there() -> None:
    world, floors = with_one_deployed(), {"x": 5, "y": 5, "z": 5}
    world.registers["x"] = replace(register("a"), counter="x")
    world.copies["y"] = Copy(replace(register("a"), counter="y"), "mirror 1")
    assert "there is no counter z;" in refusal(world, deployment("a", follows="3", floors=floors))
    del floors["z"]
    assert admitted(world, deployment("a", follows="3", floors={**floors, "c": 5, "*": 5})) is not None


OLDER = register("a")
LATER = replace(OLDER, epoch=4)
RESTORED = replace(OLDER, layouts_id="layouts 2")
PUT_BACK = replace(LATER, layouts_id="layouts 2")


@pytest.mark.parametrize(
    ("found", "copied", "expected"),
    [
        (None, None, None),
        (None, Copy(LATER, "mirror 1"), PUT_BACK),
        (OLDER, Copy(LATER, "mirror 1"), PUT_BACK),
        (None, Copy(LATER, "mirror 0"), None),  # what the counter's next look finds is a loss
        (OLDER, Copy(LATER, "mirror 0"), OLDER),
        (OLDER, None, OLDER),
        (RESTORED, Copy(LATER, "mirror 1"), PUT_BACK),
        (RESTORED, None, RESTORED),
        (Absent.STRAY, Copy(LATER, "mirror 1"), Absent.STRAY),  # left to who reads it next
        (OLDER, Absent.STRAY, OLDER),
    ],
)
def test_registers_are_put_back_before_the_record(found: Any, copied: Any, expected: Register | None) -> None:
    """Where the record is, all are as the mirror has them: nothing was done by a register before its copy was there."""
    world = with_one_deployed()
    world.make("layouts", "layouts 2")
    world.copies.clear()
    for table, stored, content in ((world.layouts, world.registers, found), (world.mirror, world.copies, copied)):
        if content is Absent.STRAY:
            table.items["c"] = {"counter": {"S": "c"}}
        elif content is not None:
            stored["c"] = content
    interrupted = SimulatedCoordinator(admit(None, "a run"))
    run_to(interrupted, op.WriteRecord, world.carry_out)
    registers = world.carry_out(op.ScanRegisters())
    assert (registers.get("c"), world.record) == (expected, None)

    interrupted.finish(world.carry_out)
    assert world.record is not None
    assert world.record.layouts_id == "layouts 2"


def test_what_is_beside_a_lost_record_must_be_readable() -> None:
    """Every write of a register compares it. Once it is deleted, the coordinator writes it with the record."""
    world = with_one_deployed()
    world.make("layouts")
    world.layouts.items[ADMITTED_KEY] = {"counter": {"S": ADMITTED_KEY}}
    assert "Delete it, and deploy again" in refusal(world, None)

    del world.layouts.items[ADMITTED_KEY]
    assert admitted(world, None) is not None


@pytest.mark.parametrize("lost", ["layouts", "mirror"])
def test_what_was_scanned_in_another_table_is_not_put_back(lost: str) -> None:
    """The table is restored meanwhile, and what it had may be older than what another one had."""
    world = with_one_deployed()
    world.make("layouts")
    run = SimulatedCoordinator(admit(None, "a run"))
    run_to(run, op.ScanCopies, world.carry_out)
    run.step(world.carry_out)
    world.table(lost).id = "another one"  # pyright: ignore[reportOptionalMemberAccess]

    with pytest.raises(Refused, match="nor its mirror has") if lost == "mirror" else nullcontext():
        run.finish(world.carry_out)
    put_back = {} if lost == "mirror" else {"c": register("a", "b", layouts_id="another one")}
    assert {**world.registers} == put_back


OLD = register("a", layouts_id="layouts 0")
TRACES = {
    "a record": "/deployment: in another layouts table's record",
    "a register": "c: in the layouts table, the mirror",
    "a copy": "c: in the layouts table, the mirror",
    "the record's copy": "/deployment: in another layouts table's record",
    "Pulumi's state": "the layouts table of home its-label: in Pulumi's state",
    "layouts on record": "c: in the layouts table, the mirror, a's receipts",
    "an item": "c: in the layouts table, the mirror, a",
}


def with_both_lost(left: str) -> World:
    """Return a world in which one thing is left. The tables are others than those in which it was written."""
    world = World()
    world.make_table("a")
    match left:
        case "a record":
            world.record = record("a", layouts_id="layouts 0")
        case "a register":
            world.registers["c"] = OLD
        case "a copy":
            world.copies["c"] = Copy(OLD, "mirror 0")
        case "the record's copy":
            world.record_copy = Copy(record("a", layouts_id="layouts 0"), "mirror 0")
        case "layouts on record":
            world.recorded("a")["c"] = Recorded((OLD.layout,))
        case "an item":
            world.items("a")["c"] = items_of(OLD)["a"]
        case _:
            pass
    return world


@pytest.mark.parametrize("left", TRACES)
def test_with_both_lost_whatever_is_left_is_named(left: str) -> None:
    """A deployment marks all registers as lost by one loss, and is refused with its id, however often it is sent."""
    world = with_both_lost(left)
    first: dict[str, Any] = {"firstLayoutsLabel": "home its-label"} if left == "Pulumi's state" else {}
    if left not in ("Pulumi's state", "layouts on record", "an item"):  # the schedule doesn't know of any region
        assert "Deploy: the refusal says how to go on.\n  " in refusal(world, None)

    refused = [refusal(world, deployment("a", **first), run) for run in ("run", "later")]

    assert f"\n  {TRACES[left]}" in refused[0]
    loss = world.registers["c"].lost
    assert loss.startswith("loss-run-")
    assert all(f"recovery: {{loss: {loss}" in each for each in refused)
    assert world.copies == {"c": Copy(world.registers["c"], "mirror 1")}

    found = admitted(world, deployment("a", **first, recovery={"loss": loss, "above": 2_500}))
    assert found is not None
    assert (found.answered, found.above, found.first_base) == (loss, 2_500, 2_501)
    assert found.first_epoch == world.registers["c"].epoch >= NOW
    assert found.number == 1 + (left in ("a record", "the record's copy")), "no number of before comes again"


@pytest.mark.parametrize("table", ["layouts", "mirror"])
def test_a_register_that_cannot_be_read_is_not_marked(table: str) -> None:
    """It is a counter's if anything else shows one; otherwise nobody's."""
    world = with_both_lost("an item")
    world.spoil(table)
    refusal(world, deployment("a"))
    assert {*world.registers} == {"c"}
    world.items("a")["ordrs"] = Item(1, 2, 3, 1)

    assert "ordrs: the item of this counter in the " in refusal(world, deployment("a"))


def test_counters_of_two_losses_are_lost_by_one_from_then_on() -> None:
    """Whoever answers must know of all of them."""
    world = with_both_lost("nothing")
    for counter in ("c", "d"):
        marked = register("a", counter=counter, lost=f"loss-{counter}")
        world.registers[counter], world.copies[counter] = marked, Copy(marked, "mirror 1")

    refusal(world, deployment("a"))
    assert len({each.lost for each in world.registers.values()}) == 1


@pytest.mark.parametrize("asked", [deployment("a", "b"), deployment("a", leaving=["b"])])
def test_every_region_must_answer_at_the_first_deployment(asked: Deploy) -> None:
    world = World(unreachable={"b"})
    world.make_table("a")

    assert "b must answer, with items that can be read" in refusal(world, asked)
    assert (world.layouts.items, world.mirror.items) == ({}, {})
    world.unreachable.clear()
    assert admitted(world, asked) is not None, "it is empty, or there is none"


def test_a_first_deployment_finds_no_trace_of_a_faster_one() -> None:
    """What it has found is the work of the other one, so it looks again."""
    world = World()
    world.make_table("a")
    late = SimulatedCoordinator(admit(deployment("a"), "late"))
    run_to(late, op.ScanItems, world.carry_out)
    assert admitted(world, deployment("a", window=5)) is not None
    world.items("a")["c"] = items_of(register("a"))["a"]

    with pytest.raises(Refused, match="another deployment for a was admitted since"):
        late.finish(world.carry_out)


def test_a_layouts_table_without_a_stream_is_not_the_first_one() -> None:
    """Somebody has made it by hand, or restored it."""
    world = World()
    with pytest.raises(Refused, match="in Pulumi's state"):
        SimulatedCoordinator(admit(deployment("a"), "run")).finish(answering(world, op.DescribeStream, ""))
