"""Random schedules: nothing is minted twice, and what is left alone reconciles."""

from collections import Counter
from random import SystemRandom

import pytest
from coordinate.protocol.model import Deploy
from coordinate.protocol.run import Create, Delete, Grant, Run, RunResult, ScheduledRun

from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.schedule import RandomSchedule

LOSSES = {1: 1_500, 2: 1_000, 3: 500}
"""How many tables may be lost before one is repaired → how many schedules. With one loss, all must reconcile without an
operator; with more, an answer may be needed. `make search` runs 100,000."""

SHORT = 40
"""Schedules of the short search, for each of them."""

PARTS = 10
"""So that several processes share the work."""

FRESH = SystemRandom().randrange(2**40)
"""Where this run's own seeds begin. A failure prints the seed: `RandomSchedule(seed, losses=…).run()` repeats it."""


@pytest.mark.slow
@pytest.mark.parametrize("losses", LOSSES)
def test_a_short_search_finds_nothing(losses: int) -> None:
    search(0, FRESH, SHORT, losses)


class Noting(RandomSchedule):
    """Counts the runs that succeed, by what was asked for."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed, losses=2)
        self.asked: dict[SimulatedCoordinator, str] = {}
        self.succeeded = Counter[str]()

    def _start(self, request: Run, home: str = "") -> SimulatedCoordinator:
        started = super()._start(request, home)
        back = isinstance(request, Grant) and request.went_back
        self.asked[started] = "went back" if back else type(request).__name__
        return started

    def _ended(self, coordinator: SimulatedCoordinator) -> None:
        self.succeeded[self.asked[coordinator]] += isinstance(coordinator.result, RunResult)
        super()._ended(coordinator)


def test_runs_of_every_kind_succeed_in_it() -> None:
    succeeded = Counter[str]()
    for seed in range(SHORT):
        schedule = Noting(seed)
        schedule.run()
        succeeded += schedule.succeeded

    kinds = {kind.__name__ for kind in (Deploy, Create, Delete, Grant, ScheduledRun)}
    assert {*succeeded} == {*kinds, "went back"}


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
