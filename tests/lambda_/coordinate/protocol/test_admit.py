"""Which deployment is admitted, and how the record is kept: on tables in memory."""

from contextlib import nullcontext
from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol.admit import admit, finish
from coordinate.protocol.model import Absent, Copy, Deploy, DeploymentRecord, Item, Refused, Register
from coordinate.protocol.operations import (
    DescribeStream,
    Operation,
    ReadRegister,
    ScanCopies,
    ScanItems,
    WriteRecord,
    WriteRegister,
)

from global_integers_core.records import ADMITTED_KEY, Recorded
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.sample_records import NOW, desired, items_of, record, register

NEW = "run/0"
"""The token of what a run writes first, in these tests."""


def deployment(*regions: str, follows: str = "", **settings: object) -> Deploy:
    return Deploy(desired(*regions, **settings), follows, NOW)


def admitted(world: World, deployment: Deploy | None, now: int = NOW, run: str = "run") -> DeploymentRecord | None:
    world.now = now
    return SimulatedCoordinator(admit(deployment, run)).finish(world.carry_out)


def finished(world: World, record: DeploymentRecord, report: str | None = "a report") -> DeploymentRecord:
    return SimulatedCoordinator(finish(record, report, world.mirror.id)).finish(world.carry_out)


def refusal(world: World, deployment: Deploy | None, now: int = NOW) -> str:
    before = repr((world.layouts, world.mirror))
    with pytest.raises(Refused) as refused:
        admitted(world, deployment, now)
    assert repr((world.layouts, world.mirror)) == before, "nothing was written"
    return str(refused.value)


def refused_with(world: World, deployment: Deploy, run: str = "run") -> str:
    """Return the refusal of a loss, which a first run has also written into registers."""
    with pytest.raises(Refused) as refused:
        admitted(world, deployment, run=run)
    assert world.record is None or world.record.layouts_id != world.layouts.id
    return str(refused.value)


@pytest.fixture
def world() -> World:
    """A world in which the third deployment is reconciled."""
    world = World()
    for region in "abc":
        world.make_table(region)
    world.record = replace(record("a", "b", number=3, follows=2), reconciled=True)
    world.registers["c"] = register("a", "b")
    world.copies["c"] = Copy(register("a", "b"), "mirror 1")
    world.record_copy = Copy(world.record, "mirror 1")
    return world


@pytest.mark.parametrize("follows", ["", "2", "4"])
def test_a_deployment_that_follows_another_record_is_refused(world: World, follows: str) -> None:
    assert "another deployment for a, b was admitted since" in refusal(world, deployment("a", follows=follows))
    elsewhere = deployment("a", follows=follows, layoutsLabel="home another")
    assert "was admitted since" in refusal(world, elsewhere), "nothing was restored"


def test_a_repeated_one_is_the_one_that_was_admitted(world: World) -> None:
    assert admitted(world, deployment("a", "b", follows="2")) == world.record
    assert "was admitted since" in refusal(world, deployment("a", "b", follows="2", floors={"c": 5})), "not the same"


def test_a_mirror_that_is_lost_before_the_first_record_stood_is_no_loss() -> None:
    world = World()
    interrupted = SimulatedCoordinator(admit(deployment("a"), "interrupted"))
    run_to(interrupted, WriteRecord, world.carry_out)
    world.mirror.id = "mirror 2"  # restored

    assert admitted(world, None) is None
    assert admitted(world, deployment("b")) == replace(record("b", number=2, token=NEW), term=1)


def test_a_record_with_nothing_beside_it_is_written_again(world: World) -> None:
    """Somebody has deleted what identifies it."""
    stood = world.record
    del world.layouts.items[ADMITTED_KEY]

    assert admitted(world, None) == stood
    assert world.admitted == (stood and stood.admitted)


def test_floors_name_counters_of_which_something_is_there(world: World) -> None:
    floors = {"x": 5, "y": 5, "z": 5}
    assert "there is no counter x, y, z;" in refusal(world, deployment("a", follows="3", floors=floors))
    world.registers["x"] = replace(register("a"), counter="x")
    world.copies["y"] = Copy(replace(register("a"), counter="y"), "mirror 1")
    assert "there is no counter z;" in refusal(world, deployment("a", follows="3", floors=floors))
    del floors["z"]
    assert admitted(world, deployment("a", follows="3", floors={**floors, "c": 5, "*": 5})) is not None


def test_one_that_recreated_the_layouts_follows_the_copy_of_the_record(world: World) -> None:
    """The record is put back as it was."""
    world.make("layouts")
    with pytest.raises(Refused, match="another deployment for a, b was admitted since"):
        admitted(world, deployment("b", follows="2", layoutsLabel="home layouts 2"))

    found = admitted(world, deployment("a", follows="3", layoutsLabel="home layouts 2"))
    assert found is not None
    assert (found.number, found.desired.regions) == (4, ("a",))


NEW_TABLE = "layouts 2"
OLDER = register("a")
LATER = replace(OLDER, epoch=4)


@pytest.mark.parametrize(
    ("found", "copied", "expected"),
    [
        (None, None, None),
        (None, Copy(LATER, "mirror 1"), LATER),
        (OLDER, Copy(LATER, "mirror 1"), LATER),
        (None, Copy(LATER, "mirror 0"), None),  # what the counter's next look finds is a loss
        (OLDER, Copy(LATER, "mirror 0"), OLDER),
        (OLDER, None, OLDER),
        (replace(OLDER, layouts_id=NEW_TABLE), Copy(LATER, "mirror 1"), LATER),
        (replace(OLDER, layouts_id=NEW_TABLE), None, replace(OLDER, layouts_id=NEW_TABLE)),
    ],
)
def test_registers_are_put_back_before_the_record(
    world: World, found: Register | None, copied: Copy[Register] | None, expected: Register | None
) -> None:
    """Where the record is, all are as the mirror has them: nothing was done by a register before its copy was there."""
    world.make("layouts", NEW_TABLE)
    world.registers.clear()
    world.copies.clear()
    if found is not None:
        world.registers["c"] = found
    if copied is not None:
        world.copies["c"] = copied
        here = copied.mirror_id == world.mirror.id
        expected = replace(LATER, layouts_id=NEW_TABLE) if here and expected == LATER else expected
    interrupted = SimulatedCoordinator(admit(None, "a run"))
    run_to(interrupted, WriteRecord, world.carry_out)
    assert world.registers.get("c") == expected
    assert world.record is None

    interrupted.finish(world.carry_out)
    assert world.record is not None
    assert world.record.layouts_id == world.layouts.id == NEW_TABLE


def test_what_is_beside_a_lost_record_must_be_readable(world: World) -> None:
    """Every write of a register compares it. Once it is deleted, the coordinator writes it with the record."""
    world.make("layouts")
    world.layouts.items[ADMITTED_KEY] = {"counter": {"S": ADMITTED_KEY}}
    assert "Delete it, and deploy again" in refusal(world, None)

    del world.layouts.items[ADMITTED_KEY]
    assert admitted(world, None) is not None


@pytest.mark.parametrize("spoilt", ["layouts", "mirror"])
def test_what_cannot_be_read_is_left_to_who_reads_it_next(world: World, spoilt: str) -> None:
    world.make("layouts")
    world.registers["c"], world.copies["c"] = OLDER, Copy(LATER, "mirror 1")
    world.table(spoilt).items["c"] = {"counter": {"S": "c"}}  # pyright: ignore[reportOptionalMemberAccess]

    assert admitted(world, None) is not None
    assert world.carry_out(ReadRegister("c")) == (Absent.STRAY if spoilt == "layouts" else OLDER)


@pytest.mark.parametrize("lost", ["layouts", "mirror"])
def test_what_was_scanned_in_another_table_is_not_put_back(world: World, lost: str) -> None:
    """The table is restored meanwhile, and what it had may be older than what another one had."""
    world.make("layouts")

    def carry_out(operation: Operation) -> Any:
        answer = world.carry_out(operation)
        if isinstance(operation, ScanCopies) and not changed:
            world.table(lost).id = "another one"  # pyright: ignore[reportOptionalMemberAccess]
            changed.append(lost)
        return answer

    changed: list[str] = []
    with pytest.raises(Refused, match="nor its mirror has") if lost == "mirror" else nullcontext():
        SimulatedCoordinator(admit(None, "a run")).finish(carry_out)
    put_back = {} if lost == "mirror" else {"c": register("a", "b", layouts_id="another one")}
    assert {**world.registers} == put_back


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
    world, old = World(), register("a", layouts_id="layouts 0")
    world.make_table("a")
    match left:
        case "a record":
            world.record = record("a", layouts_id="layouts 0")
        case "a register":
            world.registers["c"] = old
        case "a copy":
            world.copies["c"] = Copy(old, "mirror 0")
        case "the record's copy":
            world.record_copy = Copy(record("a", layouts_id="layouts 0"), "mirror 0")
        case "layouts on record":
            world.recorded("a")["c"] = Recorded((old.layout,))
        case "an item":
            world.items("a")["c"] = items_of(old)["a"]
        case _:
            pass
    return world


@pytest.mark.parametrize("left", TRACES)
def test_with_both_lost_whatever_is_left_is_named(left: str) -> None:
    """A deployment marks all registers as lost by one loss, and is refused with its id, however often it is sent."""
    world = with_both_lost(left)
    first: dict[str, Any] = {"firstLayoutsLabel": "home its-label"} if left == "Pulumi's state" else {}
    asked = deployment("a", **first)
    if left not in ("Pulumi's state", "layouts on record", "an item"):  # the schedule doesn't know of any region
        assert "Deploy: the refusal says how to go on.\n  " in refusal(world, None)

    refused = [refused_with(world, asked, run) for run in ("run", "later")]

    assert refused[0].startswith("Neither the layouts table (layouts 1) nor its mirror has the deployment record")
    assert "if a table there is gone, deploy with `--refresh`" in refused[0]
    assert f"\n  {TRACES[left]}" in refused[0]
    assert "recovery: {loss: loss-run" in refused[0]
    assert "recovery: {loss: loss-run" in refused[1]
    loss = world.registers["c"].lost
    assert ([*world.registers], loss.startswith("loss-run-")) == (["c"], True)
    assert world.copies == {"c": Copy(world.registers["c"], "mirror 1")}

    found = admitted(world, deployment("a", **first, recovery={"loss": loss, "above": 2_500}))
    assert found is not None
    assert (found.answered, found.above, found.first_base) == (loss, 2_500, 2_501)
    assert found.first_epoch == world.registers["c"].epoch >= NOW


def test_a_floor_of_a_lost_counter_hides_no_loss() -> None:
    world = with_both_lost("an item")
    world.items("a")["e"] = world.items("a")["c"]
    assert "recovery: {loss: loss-run" in refused_with(world, deployment("a", floors={"e": 5}))
    assert "there is no counter e;" in refusal(World(), deployment(floors={"e": 5}))


def test_a_register_that_cannot_be_read_is_refused_before_it_is_marked() -> None:
    """It is a counter's if anything else shows one; otherwise nobody's."""
    for table in ("layouts", "mirror"):
        world = with_both_lost("an item")
        world.spoil(table)
        refused_with(world, deployment("a"))
        assert {*world.registers} == {"c"}
        world.items("a")["ordrs"] = Item(1, 2, 3, 1)

        assert "ordrs: the item of this counter in the " in refusal(world, deployment("a"))


@pytest.mark.parametrize("left", ["an item", "a register"])
def test_two_runs_that_find_the_same_loss_agree_on_its_id(left: str) -> None:
    world = with_both_lost(left)
    world.items("a")["other"] = Item(1, 2, 3, 1)
    late = SimulatedCoordinator(admit(deployment("a"), "late"))
    run_to(late, WriteRegister, world.carry_out)
    late.step(world.carry_out)
    refused_with(world, deployment("a"), "faster")

    with pytest.raises(Refused) as refused:
        late.finish(world.carry_out)
    (loss,) = {each.lost for each in world.registers.values()}
    assert f"recovery: {{loss: {loss}" in str(refused.value)


@pytest.mark.parametrize("leaving", [False, True])
def test_a_regions_items_show_that_there_was_a_deployment(leaving: bool) -> None:
    world = World()
    for region in "ab":
        world.make_table(region)
    world.items("b")["c"] = replace(items_of(register("b"))["b"], issued=1_234)
    world.spoil("b")
    asked = deployment("a", leaving=["b"]) if leaving else deployment("a", "b")

    assert "\n  c: in the layouts table, the mirror, b\n  ordrs: in b" in refused_with(world, asked)


@pytest.mark.parametrize("asked", [deployment("a", "b"), deployment("a", leaving=["b"])])
def test_every_region_must_answer_at_the_first_deployment(asked: Deploy) -> None:
    world = World(unreachable={"b"})
    world.make_table("a")

    assert "b must answer, with items that can be read" in refusal(world, asked)
    world.unreachable.clear()
    assert admitted(world, asked) is not None, "it is empty, or there is none"


def test_a_first_deployment_finds_no_trace_of_a_faster_one() -> None:
    """What it has found is the work of the other one, so it looks again."""
    world = World()
    world.make_table("a")
    late = SimulatedCoordinator(admit(deployment("a"), "late"))
    run_to(late, ScanItems, world.carry_out)
    assert admitted(world, deployment("a", window=5)) is not None
    world.items("a")["c"] = items_of(register("a"))["a"]

    with pytest.raises(Refused, match="another deployment for a was admitted since"):
        late.finish(world.carry_out)


def test_a_layouts_table_without_a_stream_is_not_the_first_one() -> None:
    """Somebody has made it by hand, or restored it."""
    world = World()

    def without_a_stream(operation: Operation) -> object:
        return "" if isinstance(operation, DescribeStream) else world.carry_out(operation)

    with pytest.raises(Refused, match="in Pulumi's state"):
        SimulatedCoordinator(admit(deployment("a"), "run")).finish(without_a_stream)
