"""Counters are deleted: by late runs, in another order, and with a condition taken out."""

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from coordinate.protocol import operations as op
from coordinate.protocol.deletion import GRACE
from coordinate.protocol.model import Absent, Refused
from coordinate.protocol.run import Create, Delete, RunResult, ScheduledRun, run

from proof.simulation.checks import CheckedWorld, MintedTwice
from proof.simulation.coordinator import SimulatedCoordinator
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all
from tests.proof.simulation.test_conditions_by_hand import deployed, deployment, scheduled_run


def starting(request: Create | Delete, name: str) -> SimulatedCoordinator:
    return SimulatedCoordinator(run(request, name, RunResult()))


def create(world: CheckedWorld, counter: str = "e") -> None:
    starting(Create((counter,)), world.new_id("creation")).finish(world.carry_out)


def delete(world: CheckedWorld, counter: str = "e") -> None:
    starting(Delete((counter,)), world.new_id("deletion")).finish(world.carry_out)


def mint(world: CheckedWorld, most: int = 5) -> list[int]:
    """Mint some integers of e in both regions."""
    integers = [world.mint(region, "e") for region in "ab" for _ in range(most)]
    return [integer for integer in integers if integer is not None]


def created(without: str | None = None) -> CheckedWorld:
    """Return a world with two regions, in which e was created and minted."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    create(world)
    assert len(mint(world)) == 10
    return world


def stopped_before(world: CheckedWorld, kind: type[op.Operation], request: Create | Delete) -> SimulatedCoordinator:
    late = starting(request, world.new_id("late"))
    run_to(late, kind, world.carry_out)
    return late


def removed(world: CheckedWorld, counter: str = "e") -> None:
    """Delete a counter, and an hour later what is left of it."""
    delete(world, counter)
    world.now += GRACE
    scheduled_run(world, world.new_id("removal"))
    assert counter not in world.layouts.registers
    assert not any(counter in table.items for table in world.tables.values())


def removal_stopped_before(world: CheckedWorld, kind: type[op.Operation]) -> SimulatedCoordinator:
    """Delete e. Return the run that deletes what is left of it, stopped before its first operation of this kind."""
    delete(world)
    world.now += GRACE
    late = SimulatedCoordinator(run(ScheduledRun(), "late", RunResult()))
    run_to(late, kind, world.carry_out)
    return late


def late_deletion_of_a_register(without: str | None) -> None:
    """A run that is late would delete the register of the counter that was created since."""
    world = created(without)
    late = removal_stopped_before(world, op.DeleteRegister)
    create(world)
    mint(world)
    step_all(late, world.carry_out)
    assert "e" in world.layouts.registers, "nobody sees to it any more"


def late_deletion_of_a_copy(without: str | None) -> None:
    """A run that is late would delete the copy of the counter that was created since."""
    world = created(without)
    late = removal_stopped_before(world, op.DeleteCopy)
    create(world)
    mint(world)
    step_all(late, world.carry_out)
    world.lose("layouts", "recreated", Random(0))
    scheduled_run(world)
    world.unreachable |= {"a", "b"}
    create(world)
    world.unreachable.clear()
    scheduled_run(world)


def late_deletion_of_an_item(without: str | None) -> None:
    """A run that is late would delete the item of the counter that was created since."""
    world = created(without)
    late = removal_stopped_before(world, op.DeleteItem)
    create(world)
    step_all(late, world.carry_out)
    assert len(mint(world)) == 10, "a region has stopped"


def late_mark(without: str | None) -> None:
    """A mark that is late would forget what was minted since."""
    world = created(without)
    removed(world)
    assert world.archive is not None
    late = op.WriteDeleted("e", world.archive.deleted["e"])
    create(world)
    mint(world)
    removed(world)
    world.carry_out(late)
    create(world)
    mint(world)


def lost_archive(without: str | None) -> None:
    """An archive that was lost would be taken for one in which e was never deleted."""
    world = created(without)
    removed(world)
    world.lose("archive", "recreated", Random(0))
    create(world)
    mint(world)


BY_HAND: dict[str, tuple[Callable[[str | None], None], type[Exception]]] = {
    "delete: register unchanged": (late_deletion_of_a_register, AssertionError),
    "delete: copy unchanged": (late_deletion_of_a_copy, Refused),
    "delete: no later item": (late_deletion_of_an_item, AssertionError),
    "delete: no later mark": (late_mark, MintedTwice),
    "identity: of the archive": (lost_archive, MintedTwice),
}


def test_a_restored_first_register_begins_the_counter_again() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    stopped_before(world, op.WriteCopy, Create(("e",)))
    world.keep("layouts")
    world.lose("layouts", "restored", Random(0))
    for name in ("first", "second"):
        assert set(scheduled_run(world, name).outcomes) == {"c", "e"}
    assert len(mint(world)) == 10


def test_a_late_put_and_its_opening_mint_nothing_again() -> None:
    """Both may be carried out twice, minutes after each other, and after the deletion."""
    world = CheckedWorld()
    deployed(world, "a", "b")
    writes: list[op.Operation] = []

    def twice(operation: op.Operation) -> Any:
        if isinstance(operation, op.PutItem | op.OpenItem) and operation.region == "a":
            writes.append(operation)
        return world.carry_out(operation)

    starting(Create(("e",)), "creation").finish(twice)
    mint(world)
    delete(world)
    assert [world.carry_out(write) for write in writes] == [False, False]
    assert mint(world) == []
    world.warm.clear()
    assert mint(world) == []


def test_a_creation_that_is_late_does_not_begin_again() -> None:
    """It has read that nothing was ever deleted, and found the register only in the next round."""
    world = created()
    delete(world)
    world.now += GRACE
    late = stopped_before(world, op.ReadRegister, Create(("e",)))
    scheduled_run(world)
    late.finish(world.carry_out)
    world.warm.clear()
    assert len(mint(world)) == 10


def test_many_counters_are_deleted_with_one_write_of_the_record() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    names = tuple(f"e{number}" for number in range(20))
    starting(Create(names), "creation").finish(world.carry_out)
    starting(Delete(names), "deletion").finish(world.carry_out)
    world.now += GRACE
    written: list[op.Operation] = []

    def counted(operation: op.Operation) -> Any:
        written.extend([operation] if isinstance(operation, op.WriteRecord) else [])
        return world.carry_out(operation)

    SimulatedCoordinator(run(ScheduledRun(), "schedule", RunResult())).finish(counted)

    assert world.layouts.registers.keys() == {"c"}
    assert len(written) == 1


def test_a_floor_lets_a_counter_go_on_though_marks_were_lost() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    world.keep("mirror")
    create(world, "f")
    removed(world, "f")
    world.lose("archive", "recreated", Random(0))
    scheduled_run(world)  # forgets the mark
    create(world)
    mint(world)
    world.lose("layouts", "recreated", Random(0))
    world.lose("mirror", "restored", Random(0))

    result = deployment(world, ("a", "b"), "deployment", floor=5_000).finish(world.carry_out)
    assert "e" in result.outcomes
    assert min(mint(world)) >= 5_000


def test_registers_are_put_back_though_the_archive_does_not_answer() -> None:
    world = created()
    create(world, "f")
    removed(world, "f")
    world.lose("layouts", "recreated", Random(0))

    def without_archive(operation: op.Operation) -> Any:
        return Absent.UNREACHABLE if isinstance(operation, op.OnArchive) else world.carry_out(operation)

    for name in ("first", "second"):
        SimulatedCoordinator(run(ScheduledRun(), name, RunResult())).finish(without_archive)
    assert world.layouts.registers.keys() == {"c", "e"}
    assert len(mint(world)) == 10
    for request in (Create(("f",)), Delete(("f",))):
        with pytest.raises(Refused, match="f: the archive doesn't answer"):
            starting(request, "again").finish(without_archive)
