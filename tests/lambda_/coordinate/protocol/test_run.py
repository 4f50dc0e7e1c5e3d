"""A whole run, on tables in memory: what a counter that is refused, or that isn't begun, leaves for the next loss."""

from random import Random
from typing import Any

import pytest
from coordinate.protocol import operations as op
from coordinate.protocol.model import Absent, Refused
from coordinate.protocol.run import Delete, ScheduledRun

from global_integers_core.names import CHECK_COUNTER
from proof.simulation.checks import CheckedWorld
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.simulated_runs import answering, begun, deployed, deployment, scheduled_run, world_with


def refused(world: CheckedWorld, regions: str = "x", leaving: str = "ab", **settings: Any) -> list[str]:
    """Deploy regions that are unreachable as soon as the deployment was admitted. Return the refusal's lines."""
    for region in regions + leaving:
        world.make_table(region)

    def carry_out(operation: op.Operation) -> Any:
        world.unreachable |= {*regions} if isinstance(operation, op.TakeRunLock) else set()
        return world.carry_out(operation)

    with pytest.raises(Refused, match=f"none of {', '.join(regions)} answers") as said:
        deployment(world, regions, "refused", leaving=leaving, **settings).finish(carry_out)
    return str(said.value).splitlines()


def test_nothing_may_be_deleted_while_no_region_could_mint() -> None:
    world = world_with("a", "b", "x")
    deployed(world, "a", "b", leaving="x")
    refused(world, "ab", leaving="xy")


def test_a_mirror_is_whole_again_although_a_counter_is_refused() -> None:
    world = world_with("a", "b")
    refused(world)
    world.make("mirror")
    for _ in ("writes the copies", "sees that all are there"):
        with pytest.raises(Refused, match="none of x answers"):
            scheduled_run(world)
    world.make("layouts")
    world.unreachable.clear()

    assert scheduled_run(world).outcomes["c"].pending == ()


def test_a_mirror_is_whole_again_although_time_runs_out() -> None:
    world = world_with("a", "b")
    world.make("mirror")
    scheduled_run(world)  # writes the copies
    world.record_copy = None
    with pytest.raises(Refused, match="0 of 1 counters are done; time ran out"):
        deployment(world, "ba", "second").finish(answering(world, op.MayBegin, False))
    assert world.record_copy is not None
    assert world.record_copy.original.desired.regions == ("b", "a")


def test_what_is_nobodys_leaves_the_mirror_whole() -> None:
    world = world_with("a", "b")
    world.spoil("mirror")
    world.record_copy = None
    refused(world)

    assert world.record_copy is not None


@pytest.mark.parametrize("number", [10, 11])
def test_no_more_than_ten_refusals_are_shown(number: int) -> None:
    counters = [f"c{n}" for n in range(number)]
    world = world_with("a", counters=counters)

    said = refused(world, counters=counters)
    assert len(said) == number
    assert (said[-1] == "… and 1 more") == (number > 10)


def test_nothing_is_said_of_a_mirror_that_lacks_a_copy() -> None:
    world = world_with("a", "b")
    world.record_copy = None
    del world.copies["c"]
    with pytest.raises(Refused, match="can't be read"):
        begun(ScheduledRun(), "schedule").finish(answering(world, op.ReadCopy, Absent.STRAY))
    assert world.record_copy is None


@pytest.mark.parametrize("chosen", [0, -1])
def test_a_new_table_gets_the_check_counter_last(chosen: int) -> None:
    """While it is missing, callers hear that the table is new, and not that there is no such counter."""
    world = world_with("a", "b", counters=("c", CHECK_COUNTER, "d"))
    world.lose("b", "recreated", Random(0))
    opened: list[str] = []

    def carry_out(operation: op.Operation) -> Any:
        if isinstance(operation, op.OpenItem) and operation.region == "b":
            opened.append(operation.counter)
        return world.carry_out(operation)

    healing = begun(ScheduledRun(), "healing")
    while not healing.ended:
        healing.step(carry_out, lambda n: chosen % n)
    assert sorted(opened[:-1]) == ["c", "d"]
    assert opened[-1] == CHECK_COUNTER


def test_a_region_that_never_answers_again_is_left_out() -> None:
    """The answer was admitted while it still did, so it covers what this region may mint."""
    world = world_with("a", "b")
    world.make("layouts")
    world.make("mirror")
    with pytest.raises(Refused) as refused:
        deployed(world, "a", "b")
    loss = str(refused.value).partition("{loss: ")[2].partition(",")[0]
    answer = {"loss": loss, "above": 10_000}
    run_to(deployment(world, "ab", "answer", recovery=answer), op.ScanRegisters, world.carry_out)
    world.unreachable = {"b"}
    with pytest.raises(Refused, match="b must answer"):
        deployed(world, "a", "b", recovery=answer)

    deployed(world, "a", recovery=answer)
    assert world.mint("a") == 10_001


def test_an_item_without_a_register_is_a_loss() -> None:
    """A region that goes on minting it would run out without anybody being told."""
    world = world_with("a", "b")
    world.items("b")["ghost"] = world.items("b")["c"]

    with pytest.raises(Refused, match=r"^ghost: .* lost, .* \(b has an item of epoch 1\)"):
        scheduled_run(world)
    assert world.mint("b", "ghost"), "it mints on"
    begun(Delete(("ghost",)), "deletion").finish(world.carry_out)
    assert scheduled_run(world).outcomes.keys() == {"c"}
