"""Random schedules: coordinators that race, crash and are late, up to six layouts, and minting all the time."""

import secrets

import pytest

from simulation.schedule import Schedule

pytestmark = pytest.mark.slow
SCHEDULES = 10_000
"""Of each seed; a run searches 20,000."""


@pytest.mark.parametrize("first", [0, secrets.randbelow(10**9)], ids=["fixed seed", "fresh seed"])
def test_no_schedule_mints_an_integer_twice_or_refuses_falsely_or_stays_unsettled(first: int) -> None:
    minted = 0
    for seed in range(first, first + SCHEDULES):
        try:
            minted += len(Schedule(seed).run().minted)
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error

    assert minted > 50 * SCHEDULES, "the schedules hardly mint: they show nothing"
