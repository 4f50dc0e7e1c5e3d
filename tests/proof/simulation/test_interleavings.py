"""Small cases in full: two regions become three, two coordinators, some mints, a loss; every interleaving."""

from collections.abc import Callable

import pytest
from coordinate.protocol.reconcile import Outcome, reconcile
from coordinate.protocol.run import RunResult

from proof.simulation.checks import CheckedWorld, MintedTwice, check_reconciled
from proof.simulation.coordinator import SimulatedCoordinator
from tests.proof.simulation.interleavings import AFTER, Case, explore
from tests.proof.simulation.rules import taken_out


def check_end(world: CheckedWorld) -> None:
    """Check that the two coordinators have left nothing to do."""
    register = world.registers["c"]
    assert (register.epoch, register.regions) == (2, AFTER)
    check_outcome(world, Outcome(register, pending=()))


def check_next_run(world: CheckedWorld) -> None:
    """Check what the next scheduled run makes of it, when every region answers."""
    world.unreachable.clear()
    assert world.record is not None
    check_outcome(world, SimulatedCoordinator(reconcile("c", "next", world.record)).finish(world.carry_out))


def check_outcome(world: CheckedWorld, outcome: Outcome) -> None:
    record = world.record
    assert record is not None
    check_reconciled(world, RunResult(record, {"c": outcome}))


ALONE = ("one",)
"""A single coordinator."""


CASES = {
    "alone": (Case(mints=2, coordinators=ALONE), check_end, 300, None),
    "alone, unreachable": (Case(mints=1, coordinators=ALONE, unreachable="b"), check_next_run, 1_000, "slow"),
    "alone, loses": (Case(mints=1, coordinators=ALONE, loses="b"), check_next_run, 1_000, "slow"),
    "two": (Case(mints=0), check_end, 10_000, "long"),
    "two, minting": (Case(mints=1), check_end, 20_000, "long"),
    "two, unreachable": (Case(mints=0, unreachable="b", returns=False), check_next_run, 20_000, "long"),
    "alone, minting and loses": (Case(mints=3, coordinators=ALONE, loses="b"), check_next_run, 20_000, "long"),
}
"""What may happen, how the end is checked, how many states there are at least, and the test's marker."""


@pytest.mark.parametrize(
    ("case", "check", "least"),
    [
        pytest.param(*case, id=name, marks=[getattr(pytest.mark, marker)] if marker else [])
        for name, (*case, marker) in CASES.items()
    ],
)
def test_no_interleaving_mints_twice(case: Case, check: Callable[[CheckedWorld], None], least: int) -> None:
    states, ends = explore(case, check)

    assert states >= least, "hardly anything could happen: this shows nothing"
    assert ends >= 1


def test_the_exploration_can_fail() -> None:
    with taken_out("OpenItem: that state"), pytest.raises(MintedTwice):
        explore(Case(mints=2), check_end)
