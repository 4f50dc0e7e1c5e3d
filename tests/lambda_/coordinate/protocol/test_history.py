"""What is kept of the past, and what becomes of it where a table of it is lost. On tables in memory."""

from random import Random
from typing import Any

import pytest
from coordinate.protocol.model import Absent
from coordinate.protocol.operations import MayBegin, Operation, ReadArchive, RecordLayouts, WriteArchive
from coordinate.protocol.run import RunResult, ScheduledRun, run

from global_integers_core.lattice import Layout
from global_integers_core.records import Recorded
from proof.simulation.checks import CheckedWorld, ask
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import SimulatedReceipts
from tests.proof.simulation.test_conditions_by_hand import deployed, deployment, scheduled_run


def changed(*changes: str) -> CheckedWorld:
    """Return a world after these deployments, in each of which every region has minted."""
    world = CheckedWorld()
    for regions in changes:
        change(world, regions)
    return world


def change(world: CheckedWorld, regions: str) -> None:
    deployed(world, *regions)
    for region in regions:
        assert world.mint(region)


def epochs(layouts: tuple[Layout, ...]) -> list[int]:
    return [layout.epoch for layout in layouts]


def archived(world: CheckedWorld) -> list[int]:
    assert world.archive is not None
    return epochs(world.archive.layouts.get("c", ()))


def on_record(world: CheckedWorld, region: str) -> list[int]:
    return epochs(world.receipts[region].recorded.get("c", Recorded()).layouts)


def owners(world: CheckedWorld, region: str) -> list[bool | str | None]:
    """Return what a region says of each integer that it has minted: whether it was, or that no owner is known."""
    asked = [ask(world, region, "c", integer) for (_, integer), by in sorted(world.minted.items()) if by == region]
    return ["no owner" if said is None else said["minted"] for said in asked]


@pytest.mark.parametrize("answer", [Absent.GONE, Absent.UNREACHABLE, Absent.STRAY])
@pytest.mark.parametrize("kind", [ReadArchive, WriteArchive])
def test_a_change_does_without_the_archive(kind: type[Operation], answer: Absent) -> None:
    world = changed("ab", "ba")
    deploying = deployment(world, "ab", "without")
    deploying.finish(lambda operation: answer if isinstance(operation, kind) else world.carry_out(operation))

    assert world.layouts.registers["c"].regions == ("a", "b")
    assert on_record(world, "a") == [3], "what is before has no known owner"
    assert owners(world, "a") == ["no owner", "no owner"]
    change(world, "ba")
    assert on_record(world, "a") == [3, 4], "a history has no hole"
    assert owners(world, "a") == ["no owner", "no owner", True]


def test_an_archive_that_has_a_layout_already_serves_both_epochs() -> None:
    """A run has archived a layout, and ended before its epoch did."""
    world = changed("ab", "ba")
    late = deployment(world, "ab", "late")
    while archived(world) != [1, 2]:
        late.step(world.carry_out)
    world.receipts["a"] = SimulatedReceipts()
    deployed(world, "b", "a")

    assert world.layouts.registers["c"].epoch == 2
    assert on_record(world, "a") == [1, 2]
    change(world, "ab")
    assert on_record(world, "a") == [1, 2, 3]


@pytest.mark.parametrize("left", ["ab", "b", ""])
def test_a_lost_archive_is_filled_again_from_a_region(left: str) -> None:
    world = changed("ab", "ba")
    world.lose("archive", "recreated", Random(0))
    for region in {*"ab"} - {*left}:
        world.receipts[region] = SimulatedReceipts()
    change(world, "ab")

    known = [1, 2] if left else [2]
    assert archived(world) == known
    assert on_record(world, "a") == on_record(world, "b") == [*known, 3]
    assert not left or owners(world, "b") == [True] * 3


@pytest.mark.parametrize("interrupted", [MayBegin, RecordLayouts])
def test_what_is_recorded_again_is_complete_or_repeated(interrupted: type[Operation]) -> None:
    world = CheckedWorld()
    for region in "ab":
        world.make_table(region)
    deployment(world, "ab", "first", counters=["c", "d", "e"]).finish(world.carry_out)
    world.receipts["a"] = SimulatedReceipts()
    seen: list[Operation] = []

    def once(operation: Operation) -> Any:
        if isinstance(operation, interrupted):
            seen.append(operation)
            if len(seen) == 2:
                return False if interrupted is MayBegin else Absent.UNREACHABLE
        return world.carry_out(operation)

    SimulatedCoordinator(run(ScheduledRun(), "interrupted", RunResult())).finish(once)
    assert "c" not in world.receipts["a"].recorded, "it shows that something is missing"
    scheduled_run(world)
    assert world.receipts["a"].recorded.keys() == {"c", "d", "e"}
