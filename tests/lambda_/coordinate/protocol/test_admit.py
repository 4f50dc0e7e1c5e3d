"""Which deployment is admitted, and how the record is kept: on tables in memory."""

from dataclasses import replace
from itertools import product

import pytest
from coordinate.protocol.admit import admit, check_default, finish, note_default
from coordinate.protocol.model import Copy, Deleted, Deletions, Deploy, DeploymentRecord, Item, Refused
from coordinate.protocol.operations import DescribeStream, Operation, ScanItems, WriteRecord
from coordinate.protocol.run import RunResult, run

from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import Layouts, World
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.sample_records import NOW, desired, items_of, record, register

NEW = "run/0"
"""The token of what a run writes first, in these tests; `LATER` if it has put a lost record back before."""

LATER = "run/1"


def deployment(*regions: str, follows: str = "", **settings: object) -> Deploy:
    return Deploy(desired(*regions, **settings), follows, NOW)


def admitted(world: World, deployment: Deploy | None, now: int = NOW, run: str = "run") -> DeploymentRecord | None:
    world.now = now
    return SimulatedCoordinator(admit(deployment, run)).finish(world.carry_out)


def finished(world: World, record: DeploymentRecord, report: str | None = "a report") -> DeploymentRecord:
    return SimulatedCoordinator(finish(record, report, world.mirror.id)).finish(world.carry_out)


def default(world: World, counter: str, *, chosen: bool = False) -> str:
    """Note a default counter for region a. Return what is refused."""
    try:
        SimulatedCoordinator(note_default("a", counter, chosen=chosen)).finish(world.carry_out)
    except Refused as refused:
        return str(refused)
    return ""


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
    for region in "abc":
        world.make_table(region)
    world.layouts.record = replace(record("a", "b", number=3, follows=2), reconciled=True)
    world.layouts.registers["c"] = register("a", "b")
    world.mirror.copies["c"] = Copy(register("a", "b"), "mirror 1")
    world.mirror.record = Copy(world.layouts.record, "mirror 1")
    return world


@pytest.mark.parametrize("follows", ["", "2", "4"])
def test_a_deployment_that_follows_another_record_is_refused(world: World, follows: str) -> None:
    assert "another deployment for a, b was admitted since" in refusal(world, deployment("a", follows=follows))
    elsewhere = deployment("a", follows=follows, layoutsLabel="another label")
    assert "was admitted since" in refusal(world, elsewhere), "nothing was restored"


def test_a_repeated_one_is_the_one_that_was_admitted(world: World) -> None:
    assert admitted(world, deployment("a", "b", follows="2")) is world.layouts.record
    assert "was admitted since" in refusal(world, deployment("a", "b", follows="2", floors={"c": 5})), "not the same"


def test_a_mirror_that_is_lost_before_the_first_record_stood_is_no_loss() -> None:
    world = World()
    interrupted = SimulatedCoordinator(admit(deployment("a"), "interrupted"))
    run_to(interrupted, WriteRecord, world.carry_out)
    world.mirror = replace(world.mirror, id="mirror 2")  # restored

    assert admitted(world, None) is None
    assert admitted(world, deployment("b")) == record("b", number=2, token=NEW)


def test_a_record_with_nothing_beside_it_is_written_again(world: World) -> None:
    """Somebody has deleted what identifies it."""
    stood = world.layouts.record
    world.layouts.without_admitted = True

    assert admitted(world, None) == stood
    assert world.layouts.admitted == (stood and stood.admitted)


def test_floors_name_counters_of_which_something_is_there(world: World) -> None:
    floors = {"x": 5, "y": 5, "z": 5}
    assert "there is no counter x, y, z;" in refusal(world, deployment("a", follows="3", floors=floors))
    world.layouts.registers["x"] = replace(register("a"), counter="x")
    world.mirror.copies["y"] = Copy(replace(register("a"), counter="y"), "mirror 1")
    assert "there is no counter z;" in refusal(world, deployment("a", follows="3", floors=floors))
    world.tables["a"].items["z"] = Item(3, 1, 3, 1, fenced=True)
    assert admitted(world, deployment("a", follows="3", floors={**floors, "c": 5, "*": 5})) is not None


def test_one_that_recreated_the_layouts_is_not_outdated(world: World) -> None:
    world.layouts = Layouts("layouts 2")
    asked = deployment("a", follows="", layoutsLabel="a layouts 2")

    found = admitted(world, asked)
    assert found is not None
    assert (found.number, found.desired, found.restored) == (4, asked.desired, True)
    outdated = deployment("b", follows="", layoutsLabel="a layouts 2")
    assert found.token == LATER
    assert "another deployment for a was admitted since" in refusal(world, outdated)


TRACES = {
    "a record": "/deployment: a record of another layouts table",
    "a register": "c: a register of epoch 3",
    "a register that is stray": "ordrs: a register that can't be read",
    "a copy": "c: a copy of its register, of epoch 3",
    "a copy that is stray": "ordrs: a copy that can't be read",
    "the record's copy": "/deployment: a record of another layouts table",
}


def with_both_lost(left: str) -> World:
    """Return a world in which one thing is left. The tables are others than those in which it was written."""
    world = World()
    match left:
        case "a record":
            world.layouts.record = record("a", layouts_id="layouts 0")
        case "a register":
            world.layouts.registers["c"] = register("a", layouts_id="layouts 0")
        case "a copy":
            world.mirror.copies["c"] = Copy(register("a", layouts_id="layouts 0"), "mirror 0")
        case "the record's copy":
            world.mirror.record = Copy(record("a", layouts_id="layouts 0"), "mirror 0")
        case "a register that is stray":
            world.stray.add("layouts")
        case _:
            world.stray.add("mirror")
    return world


@pytest.mark.parametrize("asked", [None, deployment("a"), deployment("a", floors={"c": 5})])
@pytest.mark.parametrize("left", TRACES)
def test_with_both_lost_whatever_is_left_is_named(left: str, asked: Deploy | None) -> None:
    refused = refusal(with_both_lost(left), asked)

    assert "Neither the layouts table (layouts 1) nor its mirror has the deployment record" in refused
    assert f"Nothing was changed.\n  {TRACES[left]}" in refused


@pytest.mark.parametrize("left", TRACES)
def test_with_both_lost_counters_without_a_trace_begin_at_the_floor(left: str) -> None:
    world = with_both_lost(left)

    found = admitted(world, deployment("a", floors={"*": 5}))
    assert found is not None
    assert (found.first_base, found.first_epoch, found.restored) == (5, NOW, False)


@pytest.mark.parametrize("leaving", [False, True])
def test_a_regions_items_show_that_there_was_a_deployment(leaving: bool) -> None:
    world = World()
    for region in "ab":
        world.make_table(region)
    world.tables["b"].items = {"c": replace(items_of(register("b"))["b"], issued=1_234)}
    world.stray.add("b")
    asked = deployment("a", leaving=["b"]) if leaving else deployment("a", "b")

    refused = refusal(world, asked)
    assert "\n  c: b may have minted up to 1,234\n  ordrs: b has an item that can't be read" in refused
    assert admitted(world, None) is None, "the schedule doesn't know of any region"


def test_a_loss_that_one_region_shows_says_so() -> None:
    world = World()
    world.make_table("a")
    world.tables["a"].items = {"c": items_of(register("a"))["a"]}

    assert default(world, "c").endswith("\n  other regions than a were not asked")


@pytest.mark.parametrize("asked", [deployment("a", "b"), deployment("a", leaving=["b"])])
def test_every_region_must_answer_at_the_first_deployment(asked: Deploy) -> None:
    world = World(unreachable={"b"})
    world.make_table("a")

    assert "b must answer, since there is no deployment record" in refusal(world, asked)
    assert "b must answer" in refusal(world, replace(asked, desired=desired("a", "b", floors={"*": 5}))), "nor a floor"
    world.unreachable.clear()
    assert admitted(world, asked) is not None, "it is empty, or there is none"


def test_a_first_deployment_finds_no_trace_of_a_faster_one() -> None:
    """What it has found is the work of the other one, so it looks again."""
    world = World()
    world.make_table("a")
    late = SimulatedCoordinator(admit(deployment("a"), "late"))
    run_to(late, ScanItems, world.carry_out)
    assert admitted(world, deployment("a", window=5)) is not None
    world.tables["a"].items = items_of(register("a"))

    with pytest.raises(Refused, match="another deployment for a was admitted since"):
        late.finish(world.carry_out)


def test_where_counters_begin_is_kept_by_later_deployments(world: World) -> None:
    assert world.layouts.record is not None
    found = replace(world.layouts.record, first_epoch=NOW, first_base=5)

    cases: list[tuple[dict[str, int], int]] = [({}, 5), ({"*": 4}, 5), ({"c": 9}, 5), ({"*": 9}, 9), ({}, 9)]
    for window, (floors, expected) in enumerate(cases, 1):
        world.layouts.record = replace(found, token="3")
        found = admitted(world, deployment("a", "b", follows="3", floors=floors, window=window))
        assert found is not None
        assert (found.first_epoch, found.first_base) == (NOW, expected), "a floor may be corrected"


def test_what_is_known_of_deleted_counters_outlives_both_tables_at_home() -> None:
    high, higher = Deleted(3, 90), Deleted(5, 50)
    for archive_id, lost in (("archive 1", Deleted(0, 0)), ("archive 0", Deleted(5, 90))):
        world = World()
        known = replace(record("a", number=7, layouts_id="layouts 0"), deletions=Deletions(archive_id, high))
        world.layouts.record = known
        world.mirror.record = Copy(replace(known, deletions=Deletions(archive_id, higher)), "mirror 0")

        found = admitted(world, deployment("a", follows="7", floors={"*": 5}))
        assert found is not None
        assert found.deletions == Deletions("archive 1", Deleted(5, 90), lost)


def test_a_layouts_table_without_a_stream_is_not_the_first_one() -> None:
    """Somebody has made it by hand, or restored it."""
    world = World()

    def without_a_stream(operation: Operation) -> object:
        return "" if isinstance(operation, DescribeStream) else world.carry_out(operation)

    with pytest.raises(Refused, match="Pulumi's state: the first layouts table"):
        SimulatedCoordinator(admit(deployment("a"), "run")).finish(without_a_stream)


def test_a_stack_that_has_stood_elsewhere_is_refused() -> None:
    elsewhere = deployment("a", firstLayoutsLabel="a-region its-label")

    refused = refusal(World(), elsewhere)
    assert "If `aws:region` was changed" in refused
    assert "\n  Pulumi's state: the first layouts table of this stack, of its-label in a-region" in refused
    floored = deployment("a", firstLayoutsLabel="a-region its-label", floors={"*": 5})
    assert admitted(World(), floored) is not None


def test_a_check_beside_the_first_deployment_is_not_refused() -> None:
    """A slow check, which a part of the deployment overtakes: from its beginning on, or up to its end."""
    length = _beside_the_first_deployment(0, 0, 0)
    parts = {(0, within) for within in range(length)} | {(before, length) for before in range(length)}
    for (before, within), read in product(sorted(parts), range(CHECK_OPERATIONS + 1)):
        _beside_the_first_deployment(before, read, within)


CHECK_OPERATIONS = 5
"""Of the check of a region's default counter, before any deployment: two reads, two descriptions and a scan."""


def _beside_the_first_deployment(before: int, read: int, within: int) -> int:
    """Let a deployment take so many steps, then the check so many, the deployment some more, and the check the rest.

    Return how many steps the whole deployment has. The check must not raise.
    """
    world = World()
    world.make_table("a")
    world.now = NOW
    first = SimulatedCoordinator(run(deployment("a"), "first", RunResult()))
    check = SimulatedCoordinator(check_default("a", "c", chosen=False))
    steps = _advance(first, before, world)
    _advance(check, read, world)
    steps += _advance(first, within, world)
    if not check.ended:
        check.finish(world.carry_out)
    return steps + _advance(first, 1000, world)


def _advance(simulated: SimulatedCoordinator, most: int, world: World) -> int:
    for number in range(most):
        if simulated.ended:
            return number
        simulated.step(world.carry_out)
    return most


def test_a_record_of_the_table_before_has_no_default(world: World) -> None:
    """A restored layouts table may have a default that has been changed since."""
    default(world, "d", chosen=True)
    world.layouts.record, world.layouts.id = record("a", "b", number=2), "layouts 2"

    assert default(world, "d", chosen=True) == ""
    assert "/ mints from d" in default(world, "c")
