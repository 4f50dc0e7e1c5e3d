"""A whole run, on tables in memory: what a counter that is refused, or that isn't begun, leaves for the next loss."""

from typing import Any

import pytest
from coordinate.accept import Deployment
from coordinate.model import Refused
from coordinate.operations import MayBegin, Operation
from coordinate.report import Result
from coordinate.request import Watch
from coordinate.run import run

from simulation.checked import CheckedWorld
from simulation.coordinator import CarryOut, Coordinator
from simulation.pulumi import decoded, wish
from simulation.world import Layouts, Mirror
from tests.lambda_.coordinate.made_up import NOW


def deployed(world: CheckedWorld, regions: str, leaving: str = "") -> Result:
    for region in regions:
        world.make_table(region)
    follows = world.layouts.record.number if world.layouts.record else 0
    asked = decoded(wish(regions, leaving, home=world.layouts.id))
    return Coordinator(run(Deployment(asked, follows, NOW), f"deployment {follows}", Result())).finish(world.carry_out)


def watched(world: CheckedWorld, carry_out: CarryOut | None = None) -> Result:
    return Coordinator(run(Watch(), "watch", Result())).finish(carry_out or world.carry_out)


def test_a_mirror_is_whole_again_although_a_counter_is_refused() -> None:
    world = CheckedWorld()
    deployed(world, "ab")
    world.away.add("x")
    with pytest.raises(Refused, match="none of x answers"):
        deployed(world, "x", leaving="ab")
    world.mirror = Mirror("mirror 2")
    for _ in ("writes the copies", "sees that all are there"):
        with pytest.raises(Refused, match="none of x answers"):
            watched(world)
    world.layouts = Layouts("layouts 2")
    world.away.clear()

    assert watched(world).outcomes["c"].pending == ()


def test_a_mirror_is_whole_again_although_time_runs_out() -> None:
    world = CheckedWorld()
    deployed(world, "ab")
    world.mirror = Mirror("mirror 2")
    watched(world)  # writes the copies
    world.mirror.record = None
    deployed_again = decoded(wish("ba", home=world.layouts.id))

    def out_of_time(operation: Operation) -> Any:
        return False if isinstance(operation, MayBegin) else world.carry_out(operation)

    with pytest.raises(Refused, match="0 of 1 counters are done; time ran out"):
        Coordinator(run(Deployment(deployed_again, 1, NOW), "second", Result())).finish(out_of_time)
    assert world.mirror.record is not None
    assert world.mirror.record.record.wish.regions == ("b", "a")


def test_nothing_is_said_of_a_mirror_that_may_lack_a_copy() -> None:
    world = CheckedWorld()
    deployed(world, "ab")
    world.stray = {"mirror"}
    world.mirror.record = None
    world.away.add("x")
    with pytest.raises(Refused, match="none of x answers"):
        deployed(world, "x", leaving="ab")

    assert world.mirror.record is None
