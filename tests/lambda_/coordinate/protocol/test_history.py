"""What becomes of the past where a receipts table is lost, and a run ends too early. On tables in memory."""

from typing import Any

import pytest
from coordinate.protocol.model import Absent
from coordinate.protocol.operations import MayBegin, Operation, RecordLayouts
from coordinate.protocol.run import ScheduledRun

from proof.simulation.checks import CheckedWorld
from tests.lambda_.coordinate.simulated_runs import begun, deployed, scheduled_run, world_with


def test_a_region_that_leaves_has_the_past_too() -> None:
    """Where a receipts table was lost, it may be the only one."""
    world = CheckedWorld()
    for regions in ("ab", "ba"):
        deployed(world, *regions)
    world.make("receipts a")
    deployed(world, "a", leaving="b")

    for region in "ab":
        assert [layout.epoch for layout in world.recorded(region)["c"].layouts] == [1, 2, 3]


@pytest.mark.parametrize(("interrupted", "answer"), [(MayBegin, False), (RecordLayouts, Absent.UNREACHABLE)])
def test_what_is_recorded_again_is_complete_or_repeated(interrupted: type[Operation], answer: object) -> None:
    world = world_with("a", "b", counters=["c", "d", "e"])
    world.make("receipts a")
    seen: list[Operation] = []

    def once(operation: Operation) -> Any:
        seen.extend([operation] if isinstance(operation, interrupted) else [])
        return answer if len(seen) == 2 and operation is seen[1] else world.carry_out(operation)

    begun(ScheduledRun(), "interrupted").finish(once)
    assert "c" not in world.recorded("a"), "it shows that something is missing"
    scheduled_run(world)
    assert world.recorded("a").keys() == {"c", "d", "e"}
