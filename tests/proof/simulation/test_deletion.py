"""Counters are deleted and created again, by late runs and in another order."""

from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.run import Create, Delete

from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from tests.lambda_.coordinate.interrupted_runs import run_to
from tests.lambda_.coordinate.simulated_runs import begun, scheduled_run
from tests.proof.simulation.test_conditions_by_hand import deployed


def create(world: CheckedWorld, counter: str = "e") -> None:
    begun(Create((counter,)), world.new_id("creation")).finish(world.carry_out)


def delete(world: CheckedWorld, counter: str = "e") -> None:
    begun(Delete((counter,)), world.new_id("deletion")).finish(world.carry_out)


def mint(world: CheckedWorld, most: int = 5) -> list[int]:
    """Mint some integers of e in both regions."""
    integers = [world.mint(region, "e") for region in "ab" for _ in range(most)]
    return [integer for integer in integers if integer is not None]


def created() -> CheckedWorld:
    """Return a world with two regions, in which e was created and minted."""
    world = CheckedWorld()
    deployed(world, "a", "b")
    create(world)
    assert len(mint(world)) == 10
    return world


def stopped_before(world: CheckedWorld, kind: type[op.Operation], request: Create | Delete) -> SimulatedCoordinator:
    late = begun(request, world.new_id("late"))
    run_to(late, kind, world.carry_out)
    return late


def test_a_restored_first_register_begins_the_counter_again() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    stopped_before(world, op.WriteCopy, Create(("e",)))
    world.keep("layouts")
    world.lose("layouts", "restored", Random(0))
    for name in ("first", "second"):
        assert set(scheduled_run(world, name).outcomes) == {"c", "e"}
    assert len(mint(world)) == 10


def test_a_late_hold_and_its_opening_mint_nothing_again() -> None:
    """Both may be carried out twice, minutes after each other, and after the deletion."""
    world = CheckedWorld()
    deployed(world, "a", "b")
    writes: list[op.Operation] = []

    def noted(operation: op.Operation) -> Any:
        writes.extend([operation] if isinstance(operation, op.HoldItem | op.OpenItem) else [])
        return world.carry_out(operation)

    begun(Create(("e",)), "creation").finish(noted)
    mint(world)
    delete(world)
    assert [world.carry_out(write) for write in writes] == [False] * 4
    world.warm.clear()
    assert mint(world) == []


def test_a_creation_that_is_late_does_not_begin_again() -> None:
    """It has read that there is no register. Meanwhile another run has created the counter, and one has deleted it."""
    world = CheckedWorld()
    deployed(world, "a", "b")
    late = stopped_before(world, op.WriteRegister, Create(("e",)))
    create(world)
    mint(world)
    delete(world)
    late.finish(world.carry_out)
    world.warm.clear()
    assert len(mint(world)) == 10


def test_a_deletion_that_is_late_deletes_nothing_newer() -> None:
    """It is about to hold the items. Meanwhile the counter was created again."""
    world = created()
    late = stopped_before(world, op.HoldItem, Delete(("e",)))
    create(world)
    for *_, hold in late.todo:
        assert world.carry_out(hold) is False
    assert len(mint(world)) == 10
