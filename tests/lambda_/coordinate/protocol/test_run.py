"""A whole run, on tables in memory: what a counter that is refused, or that isn't begun, leaves for the next loss."""

from typing import Any

import pytest
from coordinate.protocol.model import Refused
from coordinate.protocol.operations import MayBegin, Operation

from simulation.checks import CheckedWorld
from simulation.world import Layouts, Mirror
from tests.simulation.test_conditions_by_hand import deployed, deployment, scheduled_run


def test_a_mirror_is_whole_again_although_a_counter_is_refused() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    world.unreachable.add("x")
    with pytest.raises(Refused, match="none of x answers"):
        deployed(world, "x", leaving="ab")
    world.mirror = Mirror("mirror 2")
    for _ in ("writes the copies", "sees that all are there"):
        with pytest.raises(Refused, match="none of x answers"):
            scheduled_run(world)
    world.layouts = Layouts("layouts 2")
    world.unreachable.clear()

    assert scheduled_run(world).outcomes["c"].pending == ()


def test_a_mirror_is_whole_again_although_time_runs_out() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    world.mirror = Mirror("mirror 2")
    scheduled_run(world)  # writes the copies
    world.mirror.record = None

    def out_of_time(operation: Operation) -> Any:
        return False if isinstance(operation, MayBegin) else world.carry_out(operation)

    with pytest.raises(Refused, match="0 of 1 counters are done; time ran out"):
        deployment(world, "ba", "second").finish(out_of_time)
    assert world.mirror.record is not None
    assert world.mirror.record.original.desired.regions == ("b", "a")


def test_nothing_is_said_of_a_mirror_that_may_lack_a_copy() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    world.stray = {"mirror"}
    world.mirror.record = None
    world.unreachable.add("x")
    with pytest.raises(Refused, match="none of x answers"):
        deployed(world, "x", leaving="ab")

    assert world.mirror.record is None
