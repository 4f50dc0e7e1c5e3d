"""What is kept of the past, and what becomes of it where a receipts table is lost. On tables in memory."""

from typing import Any

import pytest
from coordinate.protocol.model import Absent
from coordinate.protocol.operations import MayBegin, Operation, ReadRecorded, RecordLayouts
from coordinate.protocol.run import ScheduledRun

from global_integers_core.lattice import Layout
from global_integers_core.records import Recorded
from proof.simulation.checks import CheckedWorld, ask
from tests.lambda_.coordinate.simulated_runs import begun, deployed, deployment, scheduled_run


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


def on_record(world: CheckedWorld, region: str) -> list[int]:
    return epochs(world.recorded(region).get("c", Recorded()).layouts)


def owners(world: CheckedWorld, region: str) -> list[bool | str | None]:
    """Return what a region says of each integer that it has minted: whether it was, or that no owner is known."""
    asked = [ask(world, region, "c", integer) for (_, integer), by in sorted(world.minted.items()) if by == region]
    return ["no owner" if said is None else said["minted"] for said in asked]


@pytest.mark.parametrize("answer", [Absent.GONE, Absent.UNREACHABLE, Absent.STRAY])
def test_a_change_does_without_the_past(answer: Absent) -> None:
    world = changed("ab", "ba")
    deploying = deployment(world, "ab", "without")
    deploying.finish(lambda operation: answer if isinstance(operation, ReadRecorded) else world.carry_out(operation))

    assert world.registers["c"].regions == ("a", "b")
    assert on_record(world, "a") == [3], "what is before has no known owner"
    assert owners(world, "a") == ["no owner", "no owner"]
    change(world, "ba")
    assert on_record(world, "a") == [3, 4], "a history has no hole"
    assert owners(world, "a") == ["no owner", "no owner", True]


@pytest.mark.parametrize("left", ["ab", "b", ""])
def test_the_longest_record_of_any_region_is_the_past(left: str) -> None:
    world = changed("ab", "ba")
    for region in {*"ab"} - {*left}:
        world.make(f"receipts {region}")
    change(world, "ab")

    known = [1, 2] if left else []
    assert on_record(world, "a") == on_record(world, "b") == [*known, 3]
    assert not left or owners(world, "b") == [True] * 3


def test_a_region_that_leaves_has_the_past_too() -> None:
    """Where a receipts table was lost, it may be the only one."""
    world = changed("ab", "ba")
    world.make("receipts a")
    deployed(world, "a", leaving="b")

    assert on_record(world, "a") == on_record(world, "b") == [1, 2, 3]


@pytest.mark.parametrize("interrupted", [MayBegin, RecordLayouts])
def test_what_is_recorded_again_is_complete_or_repeated(interrupted: type[Operation]) -> None:
    world = CheckedWorld()
    for region in "ab":
        world.make_table(region)
    deployment(world, "ab", "first", counters=["c", "d", "e"]).finish(world.carry_out)
    world.make("receipts a")
    seen: list[Operation] = []

    def once(operation: Operation) -> Any:
        if isinstance(operation, interrupted):
            seen.append(operation)
            if len(seen) == 2:
                return False if interrupted is MayBegin else Absent.UNREACHABLE
        return world.carry_out(operation)

    begun(ScheduledRun(), "interrupted").finish(once)
    assert "c" not in world.recorded("a"), "it shows that something is missing"
    scheduled_run(world)
    assert world.recorded("a").keys() == {"c", "d", "e"}
