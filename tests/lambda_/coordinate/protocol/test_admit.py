"""Which deployment is admitted, and how the record is kept: on tables in memory."""

from dataclasses import replace

import pytest
from coordinate.protocol.admit import LATEST, admit, finish
from coordinate.protocol.model import Copy, Deploy, DeploymentRecord, Refused
from coordinate.protocol.operations import WriteRecord, WriteRecordCopy

from simulation.coordinator import SimulatedCoordinator
from simulation.world import Layouts, Mirror, World
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.sample_records import NOW, desired, record, register


def deployment(*regions: str, follows: int = 0, **settings: object) -> Deploy:
    return Deploy(desired(*regions, **settings), follows, NOW)


def admitted(world: World, deployment: Deploy | None, now: int = NOW) -> DeploymentRecord | None:
    world.now = now
    return SimulatedCoordinator(admit(deployment)).finish(world.carry_out)


def finished(world: World, record: DeploymentRecord, report: str | None = "a report") -> DeploymentRecord:
    return SimulatedCoordinator(finish(record, report, world.mirror.id)).finish(world.carry_out)


def refusal(world: World, deployment: Deploy | None, now: int = NOW) -> str:
    before = repr((world.layouts, world.mirror))
    with pytest.raises(Refused) as refused:
        admitted(world, deployment, now)
    assert repr((world.layouts, world.mirror)) == before, "nothing was written"
    return str(refused.value)


@pytest.fixture
def world() -> World:
    """A world in which the third deployment is reconciled."""
    world = World()
    world.layouts.record = replace(record("a", "b", number=3, follows=2), reconciled=True)
    world.layouts.registers["c"] = register("a", "b")
    world.mirror.copies["c"] = Copy(register("a", "b"), "mirror 1")
    world.mirror.record = Copy(world.layouts.record, "mirror 1")
    return world


def test_the_first_deployment_has_number_one() -> None:
    world = World()

    assert admitted(world, deployment("a")) == record("a") == world.layouts.record


def test_the_next_one_must_follow_what_is_admitted(world: World) -> None:
    assert admitted(world, deployment("a", follows=3)) == record("a", number=4, follows=3)
    assert "another deployment for a was admitted since" in refusal(world, deployment("b", follows=3))


@pytest.mark.parametrize("follows", [0, 2, 4])
def test_one_that_follows_another_is_refused(world: World, follows: int) -> None:
    assert "another deployment for a, b was admitted since" in refusal(world, deployment("a", follows=follows))
    elsewhere = deployment("a", follows=follows, layoutsLabel="another label")
    assert "was admitted since" in refusal(world, elsewhere), "nothing was restored"


def test_an_earlier_deployment_overrules_nothing(world: World) -> None:
    assert admitted(world, deployment("a", "b", follows=0)) is world.layouts.record


def test_a_repeated_one_is_the_one_that_was_admitted(world: World) -> None:
    assert admitted(world, deployment("a", "b", follows=2)) is world.layouts.record
    assert "was admitted since" in refusal(world, deployment("a", "b", follows=2, floors={"c": 5})), "not the same"


def test_of_two_at_the_same_time_one_is_admitted(world: World) -> None:
    runs = [SimulatedCoordinator(admit(deployment(region, follows=3))) for region in ("a", "b")]
    for run in runs:
        run_to(run, WriteRecord, world.carry_out)
    assert runs[0].finish(world.carry_out).desired.regions == ("a",)
    with pytest.raises(Refused, match="another deployment for a was admitted since"):
        runs[1].finish(world.carry_out)


def test_one_that_is_late_is_refused_and_one_in_time_is_not(world: World) -> None:
    late = deployment("a", follows=3)

    assert "it may be outdated" in refusal(world, late, NOW + LATEST + 1)
    assert admitted(world, late, NOW + LATEST) is not None


def test_one_that_requests_the_same_is_admitted_at_any_age(world: World) -> None:
    assert admitted(world, deployment("a", "b", follows=2), NOW + 100 * LATEST) is world.layouts.record
    assert admitted(world, deployment("a", "b", follows=0), NOW - 100 * LATEST) is world.layouts.record


def test_the_first_record_is_in_the_mirror_before_it_is_admitted() -> None:
    world = World()
    run = SimulatedCoordinator(admit(deployment("a")))
    run_to(run, WriteRecord, world.carry_out)

    assert (world.layouts.record, world.mirror.record) == (None, Copy(record("a"), "mirror 1"))


def test_a_loss_before_the_first_deployment_has_finished_needs_no_operator() -> None:
    world = World()
    begun = admitted(world, deployment("a", "b"))
    assert begun is not None
    register_of_c = register("a", "b", epoch=1, base=1)
    world.layouts.registers["c"] = register_of_c
    world.mirror.copies["c"] = Copy(register_of_c, "mirror 1")
    world.layouts = Layouts("layouts 2")

    assert admitted(world, None) == replace(begun, layouts_id="layouts 2", restored=True)


def test_a_mirror_that_is_lost_before_the_first_record_stood_is_no_loss() -> None:
    world = World()
    interrupted = SimulatedCoordinator(admit(deployment("a")))
    run_to(interrupted, WriteRecord, world.carry_out)
    world.mirror = replace(world.mirror, id="mirror 2")  # restored

    assert admitted(world, None) is None
    assert admitted(world, deployment("b")) == record("b", number=2)


def test_a_first_deployment_that_was_interrupted_has_lost_nothing() -> None:
    world = World()
    interrupted = SimulatedCoordinator(admit(deployment("a")))
    run_to(interrupted, WriteRecord, world.carry_out)

    assert admitted(world, None) == record("a"), "it isn't restored: no register can be missing"


def test_a_record_with_nothing_beside_it_is_written_again(world: World) -> None:
    """Somebody has deleted what identifies it."""
    stood = world.layouts.record
    world.layouts.without_admitted = True

    assert admitted(world, None) == stood
    assert world.layouts.admitted == (stood and stood.admitted)


def test_floors_name_counters_of_the_settings_or_of_registers(world: World) -> None:
    assert "there is no counter x, y;" in refusal(world, deployment("a", follows=3, floors={"x": 5, "y": 5}))
    world.layouts.registers["x"] = replace(register("a"), counter="x")
    world.mirror.copies["y"] = Copy(replace(register("a"), counter="y"), "mirror 1")
    assert admitted(world, deployment("a", follows=3, floors={"x": 5, "y": 5, "c": 5, "*": 5})) is not None


def test_the_schedule_carries_out_what_is_admitted(world: World) -> None:
    assert admitted(world, None) is world.layouts.record
    assert admitted(World(), None) is None


def test_a_lost_record_is_put_back_from_the_mirror(world: World) -> None:
    before = world.layouts.record
    assert before is not None
    world.layouts = Layouts("layouts 2")

    assert admitted(world, None) == replace(before, layouts_id="layouts 2", restored=True)
    found = admitted(world, deployment("a", follows=3))
    assert found is not None
    assert (found.number, found.restored) == (4, True), "it is remembered until all registers are there"


def test_a_restored_record_is_not_the_one_that_stood_last(world: World) -> None:
    world.layouts = replace(world.layouts, id="layouts 2", record=record("b"))

    found = admitted(world, None)
    assert found is not None
    assert (found.number, found.desired.regions) == (3, ("a", "b"))


def test_one_that_recreated_the_layouts_is_not_outdated(world: World) -> None:
    world.layouts = Layouts("layouts 2")
    asked = deployment("a", follows=0, layoutsLabel="the new label")

    found = admitted(world, asked)
    assert found is not None
    assert (found.number, found.desired, found.restored) == (4, asked.desired, True)
    outdated = deployment("b", follows=0, layoutsLabel="the new label")
    assert "another deployment for a was admitted since" in refusal(world, outdated)


def test_a_deployment_of_the_table_before_is_outdated_still(world: World) -> None:
    world.layouts = Layouts("layouts 2")
    admitted(world, None)

    assert "was admitted since" in refusal(world, deployment("a", follows=2))


@pytest.mark.parametrize("asked", [None, deployment("a"), deployment("a", floors={"c": 5})])
@pytest.mark.parametrize("left", ["a record", "a register", "a copy", "the record's copy"])
def test_with_both_lost_whatever_is_left_is_named(left: str, asked: Deploy | None) -> None:
    """The tables are others than those in which it was written."""
    world = World()
    match left:
        case "a record":
            world.layouts.record = record("a", layouts_id="layouts 0")
        case "a register":
            world.layouts.registers["c"] = register("a", layouts_id="layouts 0")
        case "a copy":
            world.mirror.copies["c"] = Copy(register("a", layouts_id="layouts 0"), "mirror 0")
        case _:
            world.mirror.record = Copy(record("a", layouts_id="layouts 0"), "mirror 0")

    assert "both were lost, or the home region was changed" in refusal(world, asked)


def test_a_floor_for_all_counters_is_the_way_back() -> None:
    world = World()
    world.layouts.record = record("a", number=7, layouts_id="layouts 0")

    assert "both were lost" in refusal(world, deployment("a", "b", follows=7, floors={"c": 5}))
    found = admitted(world, deployment("a", "b", follows=7, floors={"*": 5}))
    assert found == record("a", "b", number=8, follows=7, floors={"*": 5})


def test_a_stack_that_has_stood_elsewhere_is_refused() -> None:
    assert "If `aws:region` was changed" in refusal(World(), deployment("a", firstLayoutsLabel="another label"))
    assert admitted(World(), deployment("a", firstLayoutsLabel="")) is not None
    assert admitted(World(), deployment("a", firstLayoutsLabel="another label", floors={"*": 5})) is not None


def test_a_reconciled_record_is_reported_and_mirrored(world: World) -> None:
    asked = admitted(world, deployment("a", follows=3))
    assert asked is not None

    done = finished(world, asked)
    assert done == replace(asked, reconciled=True, report="a report") == world.layouts.record
    assert world.mirror.record == Copy(done, "mirror 1")
    assert finished(world, asked) == done


def test_an_unreconciled_record_is_mirrored_too(world: World) -> None:
    asked = admitted(world, deployment("a", follows=3))
    assert asked is not None

    assert finished(world, asked, None) == asked == world.layouts.record
    assert world.mirror.record == Copy(asked, "mirror 1")


def test_a_restoration_is_over_when_every_register_was_seen(world: World) -> None:
    world.layouts = Layouts("layouts 2")
    restored = admitted(world, None)
    assert restored is not None

    assert not finished(world, restored).restored


def test_a_run_that_was_overtaken_reconciles_nothing(world: World) -> None:
    asked = admitted(world, deployment("a", follows=3))
    assert asked is not None
    late = SimulatedCoordinator(finish(asked, "a report", world.mirror.id))
    run_to(late, WriteRecord, world.carry_out)
    admitted(world, deployment("b", follows=4))

    with pytest.raises(Refused, match="another deployment for b was admitted since"):
        late.finish(world.carry_out)
    assert world.layouts.record is not None
    assert not world.layouts.record.reconciled


def test_a_layouts_table_that_is_lost_in_between_reconciles_nothing(world: World) -> None:
    asked = admitted(world, deployment("a", follows=3))
    assert asked is not None

    for lost in (Layouts("layouts 2"), replace(world.layouts, id="layouts 2")):
        world.layouts = lost
        with pytest.raises(Refused):
            finished(world, asked)


def test_a_copy_in_a_lost_mirror_is_no_copy(world: World) -> None:
    world.mirror = Mirror("mirror 2", record=world.mirror.record)
    stood = world.layouts.record
    assert stood is not None
    run = SimulatedCoordinator(finish(stood, stood.report, "mirror 2"))
    run_to(run, WriteRecordCopy, world.carry_out)
    run.finish(world.carry_out)

    assert world.mirror.record == Copy(stood, "mirror 2")


def test_a_mirror_that_is_lost_in_between_reconciles_nothing(world: World) -> None:
    stood = world.layouts.record
    assert stood is not None
    world.mirror = Mirror("mirror 2")

    with pytest.raises(Refused, match="The mirror was lost while the coordinator ran"):
        SimulatedCoordinator(finish(stood, stood.report, "mirror 1")).finish(world.carry_out)
    assert world.mirror.record is None


def test_one_for_a_table_that_is_gone_begins_nothing() -> None:
    world = World(layouts=Layouts("layouts 2"), mirror=Mirror("mirror 2"))  # both were recreated, and all regions too

    assert "its mirror has no copy" in refusal(
        world, deployment("c", layoutsLabel="layouts 1", firstLayoutsLabel="layouts 1")
    )
    floored = deployment("c", layoutsLabel="layouts 1", firstLayoutsLabel="layouts 1", floors={"*": 100})
    assert admitted(world, floored) == world.layouts.record is not None
