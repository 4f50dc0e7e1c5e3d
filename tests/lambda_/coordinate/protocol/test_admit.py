"""Which deployment is accepted, and how the record is kept: on tables in memory."""

from dataclasses import replace

import pytest
from coordinate.protocol.admit import LATEST, admit, finish
from coordinate.protocol.model import Copy, Deploy, DeploymentRecord, Refused
from coordinate.protocol.operations import WriteRecord, WriteRecordCopy

from simulation.coordinator import SimulatedCoordinator
from simulation.world import Layouts, Mirror, World
from tests.lambda_.coordinate.made_up import NOW, desired, record, register
from tests.lambda_.coordinate.stopped import run_to


def deployment(*regions: str, follows: int = 0, **settings: object) -> Deploy:
    return Deploy(desired(*regions, **settings), follows, NOW)


def accepted(world: World, deployment: Deploy | None, now: int = NOW) -> DeploymentRecord | None:
    world.now = now
    return SimulatedCoordinator(admit(deployment)).finish(world.carry_out)


def finished(world: World, record: DeploymentRecord, report: str | None = "a report") -> DeploymentRecord:
    return SimulatedCoordinator(finish(record, report, world.mirror.id)).finish(world.carry_out)


def refusal(world: World, deployment: Deploy | None, now: int = NOW) -> str:
    before = repr((world.layouts, world.mirror))
    with pytest.raises(Refused) as refused:
        accepted(world, deployment, now)
    assert repr((world.layouts, world.mirror)) == before, "nothing was written"
    return str(refused.value)


@pytest.fixture
def stands() -> World:
    """A world in which the third deployment is reconciled."""
    world = World()
    world.layouts.record = replace(record("a", "b", number=3, follows=2), reconciled=True)
    world.layouts.registers["c"] = register("a", "b")
    world.mirror.copies["c"] = Copy(register("a", "b"), "mirror 1")
    world.mirror.record = Copy(world.layouts.record, "mirror 1")
    return world


def test_the_first_deployment_has_number_one() -> None:
    world = World()

    assert accepted(world, deployment("a")) == record("a") == world.layouts.record


def test_the_next_one_must_follow_what_stands(stands: World) -> None:
    assert accepted(stands, deployment("a", follows=3)) == record("a", number=4, follows=3)
    assert "another deployment has since asked for a" in refusal(stands, deployment("b", follows=3))


@pytest.mark.parametrize("follows", [0, 2, 4])
def test_one_that_follows_another_is_refused(stands: World, follows: int) -> None:
    assert "another deployment has since asked for a, b" in refusal(stands, deployment("a", follows=follows))
    elsewhere = deployment("a", follows=follows, home="another label")
    assert "another deployment has since asked" in refusal(stands, elsewhere), "nothing was restored"


def test_an_earlier_deployment_overrules_nothing(stands: World) -> None:
    assert accepted(stands, deployment("a", "b", follows=0)) is stands.layouts.record


def test_a_repeated_one_is_the_one_that_stands(stands: World) -> None:
    assert accepted(stands, deployment("a", "b", follows=2)) is stands.layouts.record
    assert "another deployment" in refusal(stands, deployment("a", "b", follows=2, floors={"c": 5})), "another wish"


def test_of_two_at_the_same_time_one_is_accepted(stands: World) -> None:
    runs = [SimulatedCoordinator(admit(deployment(region, follows=3))) for region in ("a", "b")]
    for run in runs:
        run_to(run, WriteRecord, stands.carry_out)
    assert runs[0].finish(stands.carry_out).desired.regions == ("a",)
    with pytest.raises(Refused, match="another deployment has since asked for a"):
        runs[1].finish(stands.carry_out)


def test_one_that_is_late_is_refused_and_one_in_time_is_not(stands: World) -> None:
    late = deployment("a", follows=3)

    assert "it may be outdated" in refusal(stands, late, NOW + LATEST + 1)
    assert accepted(stands, late, NOW + LATEST) is not None


def test_one_that_asks_for_the_same_is_accepted_at_any_age(stands: World) -> None:
    assert accepted(stands, deployment("a", "b", follows=2), NOW + 100 * LATEST) is stands.layouts.record
    assert accepted(stands, deployment("a", "b", follows=0), NOW - 100 * LATEST) is stands.layouts.record


def test_the_first_record_is_in_the_mirror_before_it_is_accepted() -> None:
    world = World()
    run = SimulatedCoordinator(admit(deployment("a")))
    run_to(run, WriteRecord, world.carry_out)

    assert (world.layouts.record, world.mirror.record) == (None, Copy(record("a"), "mirror 1"))


def test_a_loss_before_the_first_deployment_has_finished_needs_no_operator() -> None:
    world = World()
    begun = accepted(world, deployment("a", "b"))
    assert begun is not None
    register_of_c = register("a", "b", epoch=1, base=1)
    world.layouts.registers["c"] = register_of_c
    world.mirror.copies["c"] = Copy(register_of_c, "mirror 1")
    world.layouts = Layouts("layouts 2")

    assert accepted(world, None) == replace(begun, home="layouts 2", restored=True)


def test_a_mirror_that_is_lost_before_the_first_record_stood_is_no_loss() -> None:
    world = World()
    interrupted = SimulatedCoordinator(admit(deployment("a")))
    run_to(interrupted, WriteRecord, world.carry_out)
    world.mirror = replace(world.mirror, id="mirror 2")  # restored

    assert accepted(world, None) is None
    assert accepted(world, deployment("b")) == record("b", number=2)


def test_a_first_deployment_that_was_interrupted_has_lost_nothing() -> None:
    world = World()
    interrupted = SimulatedCoordinator(admit(deployment("a")))
    run_to(interrupted, WriteRecord, world.carry_out)

    assert accepted(world, None) == record("a"), "it isn't restored: no register can be missing"


def test_a_record_with_nothing_beside_it_is_written_again(stands: World) -> None:
    """Somebody has deleted what identifies it."""
    stood = stands.layouts.record
    stands.layouts.without_accepted = True

    assert accepted(stands, None) == stood
    assert stands.layouts.accepted == (stood and stood.accepted)


def test_floors_name_counters_of_the_settings_or_of_registers(stands: World) -> None:
    assert "there is no counter x, y;" in refusal(stands, deployment("a", follows=3, floors={"x": 5, "y": 5}))
    stands.layouts.registers["x"] = replace(register("a"), counter="x")
    stands.mirror.copies["y"] = Copy(replace(register("a"), counter="y"), "mirror 1")
    assert accepted(stands, deployment("a", follows=3, floors={"x": 5, "y": 5, "c": 5, "*": 5})) is not None


def test_the_schedule_carries_out_what_stands(stands: World) -> None:
    assert accepted(stands, None) is stands.layouts.record
    assert accepted(World(), None) is None


def test_a_lost_record_is_put_back_from_the_mirror(stands: World) -> None:
    before = stands.layouts.record
    assert before is not None
    stands.layouts = Layouts("layouts 2")

    assert accepted(stands, None) == replace(before, home="layouts 2", restored=True)
    found = accepted(stands, deployment("a", follows=3))
    assert found is not None
    assert (found.number, found.restored) == (4, True), "it is remembered until all registers are there"


def test_a_restored_record_is_not_the_one_that_stood_last(stands: World) -> None:
    stands.layouts = replace(stands.layouts, id="layouts 2", record=record("b"))

    found = accepted(stands, None)
    assert found is not None
    assert (found.number, found.desired.regions) == (3, ("a", "b"))


def test_one_that_recreated_the_layouts_is_not_outdated(stands: World) -> None:
    stands.layouts = Layouts("layouts 2")
    asked = deployment("a", follows=0, home="the new label")

    found = accepted(stands, asked)
    assert found is not None
    assert (found.number, found.desired, found.restored) == (4, asked.desired, True)
    outdated = deployment("b", follows=0, home="the new label")
    assert "another deployment has since asked for a" in refusal(stands, outdated)


def test_a_deployment_of_the_table_before_is_outdated_still(stands: World) -> None:
    stands.layouts = Layouts("layouts 2")
    accepted(stands, None)

    assert "another deployment has since asked" in refusal(stands, deployment("a", follows=2))


@pytest.mark.parametrize("asked", [None, deployment("a"), deployment("a", floors={"c": 5})])
@pytest.mark.parametrize("left", ["a record", "a register", "a copy", "the record's copy"])
def test_with_both_lost_whatever_is_left_is_named(left: str, asked: Deploy | None) -> None:
    """The tables are others than those in which it was written."""
    world = World()
    match left:
        case "a record":
            world.layouts.record = record("a", home="layouts 0")
        case "a register":
            world.layouts.registers["c"] = register("a", home="layouts 0")
        case "a copy":
            world.mirror.copies["c"] = Copy(register("a", home="layouts 0"), "mirror 0")
        case _:
            world.mirror.record = Copy(record("a", home="layouts 0"), "mirror 0")

    assert "both were lost, or the home region was changed" in refusal(world, asked)


def test_a_floor_for_all_counters_is_the_way_back() -> None:
    world = World()
    world.layouts.record = record("a", number=7, home="layouts 0")

    assert "both were lost" in refusal(world, deployment("a", "b", follows=7, floors={"c": 5}))
    found = accepted(world, deployment("a", "b", follows=7, floors={"*": 5}))
    assert found == record("a", "b", number=8, follows=7, floors={"*": 5})


def test_a_stack_that_has_stood_elsewhere_is_refused() -> None:
    assert "If `aws:region` was changed" in refusal(World(), deployment("a", first="another label"))
    assert accepted(World(), deployment("a", first="")) is not None
    assert accepted(World(), deployment("a", first="another label", floors={"*": 5})) is not None


def test_a_settled_record_is_reported_and_mirrored(stands: World) -> None:
    asked = accepted(stands, deployment("a", follows=3))
    assert asked is not None

    done = finished(stands, asked)
    assert done == replace(asked, reconciled=True, report="a report") == stands.layouts.record
    assert stands.mirror.record == Copy(done, "mirror 1")
    assert finished(stands, asked) == done


def test_an_unsettled_record_is_mirrored_too(stands: World) -> None:
    asked = accepted(stands, deployment("a", follows=3))
    assert asked is not None

    assert finished(stands, asked, None) == asked == stands.layouts.record
    assert stands.mirror.record == Copy(asked, "mirror 1")


def test_a_restoration_is_over_when_every_register_was_seen(stands: World) -> None:
    stands.layouts = Layouts("layouts 2")
    restored = accepted(stands, None)
    assert restored is not None

    assert not finished(stands, restored).restored


def test_a_run_that_was_overtaken_settles_nothing(stands: World) -> None:
    asked = accepted(stands, deployment("a", follows=3))
    assert asked is not None
    late = SimulatedCoordinator(finish(asked, "a report", stands.mirror.id))
    run_to(late, WriteRecord, stands.carry_out)
    accepted(stands, deployment("b", follows=4))

    with pytest.raises(Refused, match="another deployment has since asked for b"):
        late.finish(stands.carry_out)
    assert stands.layouts.record is not None
    assert not stands.layouts.record.reconciled


def test_a_layouts_table_that_is_lost_in_between_settles_nothing(stands: World) -> None:
    asked = accepted(stands, deployment("a", follows=3))
    assert asked is not None

    for lost in (Layouts("layouts 2"), replace(stands.layouts, id="layouts 2")):
        stands.layouts = lost
        with pytest.raises(Refused):
            finished(stands, asked)


def test_a_copy_in_a_lost_mirror_is_no_copy(stands: World) -> None:
    stands.mirror = Mirror("mirror 2", record=stands.mirror.record)
    stood = stands.layouts.record
    assert stood is not None
    run = SimulatedCoordinator(finish(stood, stood.report, "mirror 2"))
    run_to(run, WriteRecordCopy, stands.carry_out)
    run.finish(stands.carry_out)

    assert stands.mirror.record == Copy(stood, "mirror 2")


def test_a_mirror_that_is_lost_in_between_settles_nothing(stands: World) -> None:
    stood = stands.layouts.record
    assert stood is not None
    stands.mirror = Mirror("mirror 2")

    with pytest.raises(Refused, match="The mirror was lost while the coordinator ran"):
        SimulatedCoordinator(finish(stood, stood.report, "mirror 1")).finish(stands.carry_out)
    assert stands.mirror.record is None


def test_one_for_a_table_that_is_gone_begins_nothing() -> None:
    world = World(layouts=Layouts("layouts 2"), mirror=Mirror("mirror 2"))  # both were recreated, and all regions too

    assert "its mirror has no copy" in refusal(world, deployment("c", home="layouts 1", first="layouts 1"))
    floored = deployment("c", home="layouts 1", first="layouts 1", floors={"*": 100})
    assert accepted(world, floored) == world.layouts.record is not None
