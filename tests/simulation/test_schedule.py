"""Random schedules: nothing is minted twice, and what is left alone settles."""

from random import SystemRandom

import pytest

from simulation.schedule import Schedule

ONE_LOSS = 20_000
"""Schedules in which one table is lost at a time: all must settle without an operator."""

PARTS = 10
"""So that several processes share the work."""

FRESH = SystemRandom().randrange(2**40)
"""Where this run's own seeds begin. A failure prints the seed: `Schedule(seed, losses=…).run()` repeats it."""


def search(first: int, count: int, losses: int) -> int:
    minted = 0
    for seed in range(first, first + count):
        try:
            minted += len(Schedule(seed, losses=losses).run().minted)
        except AssertionError as error:
            raise AssertionError(f"Schedule({seed}, losses={losses}): {error}") from error
    return minted


def search_part(schedules: int, part: int, losses: int) -> None:
    """Search a part of so many schedules, half of them from fixed seeds and half from this run's own."""
    count = schedules // PARTS // 2
    minted = search(part * count, count, losses) + search(FRESH + part * count, count, losses)

    assert minted > 20 * count, "hardly anything was minted: this shows nothing"


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_minted_twice_and_all_settles(part: int) -> None:
    search_part(ONE_LOSS, part, losses=1)
