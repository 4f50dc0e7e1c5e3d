"""Counters are deleted and created again, by late runs and in another order."""

from random import Random
from typing import Any

from coordinate.protocol import operations as op
from coordinate.protocol.run import Create

from tests.lambda_.coordinate.simulated_runs import begun, scheduled_run, world_with
from tests.proof.simulation.by_hand import delete, mint, stopped_before


def test_a_restored_first_register_begins_the_counter_again() -> None:
    world = world_with("a", "b")
    stopped_before(world, op.WriteCopy, begun(Create(("e",)), "late"))
    world.keep("layouts")
    world.lose("layouts", "restored", Random(0))
    for name in ("first", "second"):
        assert set(scheduled_run(world, name).outcomes) == {"c", "e"}
    assert len(mint(world)) == 10


def test_a_late_hold_and_its_opening_mint_nothing_again() -> None:
    """Both may be carried out twice, minutes after each other, and after the deletion."""
    world = world_with("a", "b")
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
