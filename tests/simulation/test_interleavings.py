"""A small case in full: two regions become three, two coordinators, some mints; every interleaving."""

from dataclasses import replace

import pytest
from coordinate.protocol import settle

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
    check_settled_after_another_run(world)
    assert world.layouts.registers["c"] == register
    assert (register.epoch, register.regions) == (2, AFTER)


def check_settled_after_another_run(world: CheckedWorld) -> None:
    """Check what the next run of the schedule makes of it, once every region answers."""
    world.away.clear()
    outcome = Coordinator(settle("c", "next", NOW)).finish(world.carry_out)
    record = world.layouts.record
    assert record is not None
    check_settled(world, Result(replace(record, settled=True), {"c": outcome}))


def test_no_interleaving_mints_twice_and_all_end_as_wished() -> None:
    states, ends = explore(Case(mints=1), check_end)

    assert states > 100_000
    assert ends > 5


def test_nor_while_a_region_is_away() -> None:
    states, ends = explore(Case(mints=0, away="b"), check_settled_after_another_run)

    assert states > 100_000
    assert ends > 5


def test_nor_while_a_table_is_lost() -> None:
    states, ends = explore(Case(mints=0, loses="b"), check_settled_after_another_run)

    assert states > 100_000
    assert ends > 5


@pytest.mark.parametrize(
    ("case", "found"),
    [
        (Case(mints=3, without="mint: below the ceiling"), Duplicate),
    ],
    ids=lambda value: value.without if isinstance(value, Case) else "",
)
def test_the_exploration_can_fail(case: Case, found: type[Exception]) -> None:
    with pytest.raises(found):
        explore(case, check_end)
