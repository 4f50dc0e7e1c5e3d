"""Random schedules: nothing is minted twice, and what is left alone settles."""

from random import SystemRandom

import pytest

from simulation.schedule import Schedule

ONE_LOSS = 20_000
"""Schedules in which one table is lost at a time: all must settle without an operator."""

TWO_LOSSES = 10_000
"""Schedules in which a second table may be lost before the first is mended: a floor must settle them."""

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


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize(("losses", "schedules"), [(1, ONE_LOSS), (2, TWO_LOSSES)])
def test_nothing_is_minted_twice_and_all_settles(losses: int, schedules: int, part: int) -> None:
    count = schedules // PARTS // 2
    minted = search(part * count, count, losses) + search(FRESH + part * count, count, losses)

    assert minted > 20 * count, "hardly anything was minted: this shows nothing"
