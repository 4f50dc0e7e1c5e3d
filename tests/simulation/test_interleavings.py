"""Small cases in full: two regions become three, two coordinators, some mints, a loss; every interleaving."""

import pytest
from coordinate.protocol import Outcome, settle

from simulation.checked import CheckedWorld, Duplicate
from simulation.coordinator import Coordinator
from simulation.interleavings import AFTER, Case, explore
from simulation.run import Result
from simulation.settled import check_settled
from simulation.turns import NOW

pytestmark = pytest.mark.slow


def check_end(world: CheckedWorld) -> None:
    """Check that the two coordinators have left nothing to do."""
    register = world.layouts.registers["c"]
    assert (register.epoch, register.regions) == (2, AFTER)
    check_outcome(world, Outcome(register, pending=()))


def check_next_run(world: CheckedWorld) -> None:
    """Check what the next run of the schedule makes of it, when every region answers."""
    world.away.clear()
    check_outcome(world, Coordinator(settle("c", "next", NOW)).finish(world.carry_out))


def check_outcome(world: CheckedWorld, outcome: Outcome) -> None:
    record = world.layouts.record
    assert record is not None
    check_settled(world, Result(record, {"c": outcome}))


def test_no_interleaving_mints_twice_and_all_end_as_wished() -> None:
    states, ends = explore(Case(mints=1), check_end)

    assert states > 50_000
    assert ends > 5


@pytest.mark.long
def test_nor_does_any_while_a_region_is_away() -> None:
    states, ends = explore(Case(mints=0, away="b"), check_next_run)

    assert states > 200_000
    assert ends > 10


def test_nor_does_any_when_a_table_is_lost() -> None:
    states, ends = explore(Case(mints=5, coordinators=("one",), loses="b"), check_next_run)

    assert states > 40_000
    assert ends > 1_000


@pytest.mark.parametrize(
    "condition",
    [
        "mint: below the ceiling",
        pytest.param("fence: issued within", marks=pytest.mark.long),
        pytest.param("fence: not fenced", marks=pytest.mark.long),
    ],
)
def test_the_exploration_can_fail(condition: str) -> None:
    with pytest.raises(Duplicate):
        explore(Case(mints=3, without=condition), check_end)
