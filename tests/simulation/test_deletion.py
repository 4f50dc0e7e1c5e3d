"""Counters are deleted: by late runs, in another order, and with a condition taken out."""

from collections.abc import Callable
from random import Random

import pytest
from coordinate.events import Create, Delete
from coordinate.protocol import operations as op
from coordinate.protocol.model import Refused
from coordinate.run import RunResult, run

from simulation.checks import CheckedWorld, MintedTwice
from simulation.coordinator import SimulatedCoordinator
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all
from tests.simulation.test_conditions_by_hand import deployed, scheduled_run


def starting(request: Create | Delete, name: str) -> SimulatedCoordinator:
    return SimulatedCoordinator(run(request, name, RunResult()))


def create(world: CheckedWorld) -> None:
    starting(Create(("e",)), world.new_id("creation")).finish(world.carry_out)


def delete(world: CheckedWorld) -> None:
    starting(Delete(("e",)), world.new_id("deletion")).finish(world.carry_out)


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


def late_creation(without: str | None) -> None:
    """A register of a creation that is late would begin at 1 again."""
    world = CheckedWorld(without)
    deployed(world, "a", "b")
    late = stopped_before(world, op.WriteRegister, Create(("e",)))
    create(world)
    mint(world)
    delete(world)
    late.finish(world.carry_out)
    mint(world)


def late_record(without: str | None) -> None:
    """A deletion that is late would put back the record that it had read."""
    world = created(without)
    late = stopped_before(world, op.DeleteRegister, Delete(("e",)))
    deployed(world, "b", "a")
    step_all(late, world.carry_out)
    record = world.layouts.record
    assert record is not None
    assert record.desired.regions == ("b", "a"), "the last deployment is forgotten"


def late_deletion_of_a_copy(without: str | None) -> None:
    """A deletion that is late would delete the copy of the counter that was created since."""
    world = created(without)
    late = stopped_before(world, op.DeleteCopy, Delete(("e",)))
    delete(world)
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
    """A deletion that is late would delete the item of the counter that was created since."""
    world = created(without)
    late = stopped_before(world, op.DeleteItem, Delete(("e",)))
    delete(world)
    create(world)
    step_all(late, world.carry_out)
    assert len(mint(world)) == 10, "a region has stopped"


def late_mark(without: str | None) -> None:
    """A mark that is late would forget what was minted since."""
    world = created(without)
    late = op.WriteDeleted("e", _first_mark(world))
    create(world)
    mint(world)
    delete(world)
    world.carry_out(late)
    create(world)
    mint(world)


def _first_mark(world: CheckedWorld) -> op.Deleted:
    delete(world)
    assert world.archive is not None
    return world.archive.deleted["e"]


def lost_archive(without: str | None) -> None:
    """An archive that was lost would be taken for one in which e was never deleted."""
    world = created(without)
    delete(world)
    world.lose("archive", "recreated", Random(0))
    create(world)
    mint(world)


BY_HAND: dict[str, tuple[Callable[[str | None], None], type[Exception]]] = {
    "register: no deletion since": (late_creation, MintedTwice),
    "delete: record unchanged": (late_record, AssertionError),
    "delete: copy unchanged": (late_deletion_of_a_copy, Refused),
    "delete: no later item": (late_deletion_of_an_item, AssertionError),
    "delete: no later mark": (late_mark, MintedTwice),
    "identity: of the archive": (lost_archive, MintedTwice),
}


@pytest.mark.parametrize("condition", BY_HAND)
def test_nothing_goes_wrong_with_the_condition(condition: str) -> None:
    schedule, _ = BY_HAND[condition]
    schedule(None)


@pytest.mark.parametrize("condition", BY_HAND)
def test_something_goes_wrong_without(condition: str) -> None:
    schedule, wrong = BY_HAND[condition]
    with pytest.raises(wrong):
        schedule(condition)


def test_a_restored_first_register_begins_the_counter_again() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    stopped_before(world, op.WriteCopy, Create(("e",)))
    world.keep("layouts")
    world.lose("layouts", "restored", Random(0))
    for name in ("first", "second"):
        assert set(scheduled_run(world, name).outcomes) == {"c", "e"}
    assert len(mint(world)) == 10
