"""Random schedules: nothing is minted twice, and what is left alone reconciles."""

import re
import subprocess
import sys
from random import SystemRandom

import pytest

from local.paths import ROOT
from proof.simulation.schedule import RandomSchedule

LOSSES = {1: 200, 2: 150, 3: 100}
"""How many tables may be lost before one is repaired → how many schedules. With one loss, all must reconcile without an
operator; with more, an answer may be needed. `make search` runs 100,000."""

SHORT = 10
"""Schedules of the short search, for each of them."""

PARTS = 5
"""So that several processes share the work."""

FRESH = SystemRandom().randrange(2**40)
"""Where this run's own seeds begin. A failure prints the seed: `RandomSchedule(seed, losses=…).run()` repeats it."""


@pytest.mark.slow
@pytest.mark.parametrize("losses", LOSSES)
def test_a_short_search_finds_nothing(losses: int) -> None:
    search(0, FRESH, SHORT, losses)


@pytest.mark.long
@pytest.mark.parametrize("part", range(PARTS))
@pytest.mark.parametrize("losses", LOSSES)
def test_the_search_finds_nothing(losses: int, part: int) -> None:
    count = LOSSES[losses] // PARTS
    search(SHORT + part * count, FRESH + SHORT + part * count, count, losses)


def search(fixed: int, fresh: int, count: int, losses: int) -> None:
    """Run so many schedules, half of them from a fixed seed on and half from one of this run's own."""
    half = count // 2
    minted = sum(minted_by(seed, losses) for first in (fixed, fresh) for seed in range(first, first + half))

    assert minted > 20 * count, "hardly anything was minted: this shows nothing"


def minted_by(seed: int, losses: int) -> int:
    try:
        return len(RandomSchedule(seed, losses=losses).run().minted)
    except AssertionError as error:
        raise AssertionError(f"RandomSchedule({seed}, losses={losses}): {error}") from error


@pytest.mark.long
def test_make_search_prints_what_it_ran() -> None:
    command = [sys.executable, "-m", "proof.simulation", "--losses", "30", "--schedules", "60", "--first", "7"]
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert ran.stdout.startswith("100 schedules from seed 7;")
    assert "\n30 combinations of losses, no duplicate, all reconciled\n" in ran.stdout
    assert re.search(r"100 schedules, [\d,]+ integers, no duplicate, all reconciled\n$", ran.stdout)
