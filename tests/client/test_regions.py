"""The region that is asked first, also for a key, and the regions that are left alone."""

import logging
from collections import Counter
from collections.abc import Callable
from itertools import pairwise
from math import inf

import pytest
from global_integers.minting.api import Failure, FailureKind
from global_integers.minting.failover import CLEARLY_NEARER, FIRST_PAUSE, LONGEST_PAUSE, REFRESH, Regions, order_of

from tests.client.clients import Bell, Clock

BUSY = Failure(FailureKind.TRANSIENT, "503: busy")
LATER = Failure(FailureKind.TRANSIENT, "503", retry_after=5)
SILENT = Failure(FailureKind.SILENT, "no response")
NAMES = ["far", "near", "middle"]
THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def regions(clock: Clock, prefer: str | None = None, spread: Callable[[float, float], float] = max) -> Regions:
    made = Regions(NAMES, prefer, clock, spread)
    made.to_check()
    for name, seconds in {"far": 5.0, "near": 0.01, "middle": 0.1}.items():
        made.checked(name, True, seconds)
    return made


def is_healthy(known: Regions) -> bool:
    return "left alone" not in known.known("near")


def test_unmeasured_the_order_is_that_of_the_settings() -> None:
    assert Regions(NAMES).order() == NAMES


PAUSES: dict[str, tuple[Callable[[Regions, float], object], float]] = {
    "a call": (lambda known, now: known.failed("near", now, BUSY), FIRST_PAUSE),
    "a second call": (lambda known, now: [known.failed("near", now, BUSY) for _ in range(2)], 2 * FIRST_PAUSE),
    "calls together": (lambda known, now: [known.failed("near", now - 3, BUSY) for _ in range(8)], FIRST_PAUSE),
    "a call, asked to wait": (lambda known, now: known.failed("near", now, LATER), 5),
    "a health check": (lambda known, _: known.checked("near", BUSY, 0.01), FIRST_PAUSE),
    # Health is of the default counter: it must not keep a region from all other counters for seconds.
    "a health check, asked to wait": (lambda known, _: known.checked("near", LATER, 0.01), FIRST_PAUSE),
}


@pytest.mark.parametrize("failed", PAUSES)
def test_a_region_that_failed_comes_last_for_a_pause(failed: str) -> None:
    fail, pause = PAUSES[failed]
    clock = Clock()
    known, began = regions(clock), clock.now
    fail(known, began)

    clock.now = began + 0.99 * pause
    assert known.order() == ["middle", "far", "near"]
    clock.now = began + pause
    assert known.order() == ["near", "middle", "far"]


def test_pauses_grow_and_begin_again_after_an_answer() -> None:
    clock = Clock()
    known = regions(clock)
    pauses: list[float] = []
    for _ in range(12):
        known.failed("near", clock.now, BUSY)
        began = clock.now
        while not is_healthy(known):
            clock.now += 0.05
        pauses.append(clock.now - began)

    assert all(later > earlier * 1.5 for earlier, later in pairwise(pauses[:5]))
    assert LONGEST_PAUSE <= pauses[-1] <= LONGEST_PAUSE + 0.1
    assert known.answered("near")
    known.failed("near", clock.now, BUSY)
    clock.now += FIRST_PAUSE
    assert is_healthy(known)
    assert [known.answered("near"), known.answered("near")] == [True, False]


def test_a_pause_is_at_least_half_as_long() -> None:
    clock = Clock()
    known = regions(clock, spread=min)
    known.failed("near", clock.now, BUSY)

    clock.now += 0.49 * FIRST_PAUSE
    assert not is_healthy(known)
    clock.now += 0.02 * FIRST_PAUSE
    assert is_healthy(known)


def test_latencies_are_measured_again_after_a_while() -> None:
    clock = Clock()
    known = regions(clock)

    assert known.to_check() == []
    clock.now += REFRESH
    assert known.to_check() == NAMES
    known.uncheck("near")  # it was given up
    assert is_healthy(known)
    assert known.to_check() == ["near"]
    known.uncheck()
    assert known.to_check() == NAMES


def test_a_single_region_is_not_measured() -> None:
    assert Regions(["a"]).to_check() == []
    assert Regions(["a"]).known("a") == "not measured"
    assert Regions(["a", "b"]).to_check() == ["a", "b"]
    for known in (Regions(["a"]), Regions(NAMES, prefer="far")):
        assert known.wait_for_first(Bell) is None, "nobody waits for what isn't measured, or is preferred"


def test_a_health_check_says_how_a_region_is() -> None:
    known = regions(Clock())

    assert known.checked("near", SILENT, 3) == (False, None, "no response")
    assert known.checked("near", BUSY, 0.01) == (False, 0.01, "503: busy")
    assert known.checked("near", True, 0.01) == (True, 0.01, "")
    assert known.known("far") == "5000 ms"


@pytest.mark.parametrize("answers", [{"near": True}, dict.fromkeys(NAMES, BUSY)], ids=["healthy", "all failed"])
def test_calls_wait_until_a_region_is_healthy_or_all_failed(answers: dict[str, object]) -> None:
    known = Regions(NAMES)
    bell = known.wait_for_first(Bell)
    assert isinstance(bell, Bell)
    for name, answer in answers.items():
        assert not bell.rung
        known.checked(name, answer, 0.01)

    assert bell.rung
    assert known.wait_for_first(Bell) is None


def test_only_a_clearly_nearer_region_replaces_the_nearest() -> None:
    clock = Clock()
    known = regions(clock)
    assert known.order()[0] == "near"
    for _ in range(50):
        known.checked("near", True, 0.1)
        known.checked("middle", True, 0.1 * CLEARLY_NEARER + 0.01)
    assert known.order()[0] == "near"
    known.replace(["middle", "near"], "domain")
    assert known.order() == ["near", "middle", "domain"], "it stays the nearest"
    for _ in range(50):
        known.checked("middle", True, 0.1 * CLEARLY_NEARER - 0.01)
    assert known.order()[0] == "middle"


def test_if_the_nearest_leaves_another_one_stays_the_nearest() -> None:
    known = regions(Clock())
    assert known.order()[0] == "near"
    known.replace(["far", "middle"], "domain")
    assert known.order() == ["middle", "far", "domain"]
    for _ in range(50):
        known.checked("far", True, 0.09)

    assert known.order()[0] == "middle"


ABSENT = Failure(FailureKind.ABSENT, "404: why")
LEVELS: dict[str, tuple[Callable[[Regions], object], list[str]]] = {
    "a call": (lambda known: known.failed("near", inf, BUSY), ["WARNING", "DEBUG"]),
    "a counter it lacks": (lambda known: known.failed("near", inf, ABSENT), ["DEBUG", "DEBUG"]),
    "a health check": (lambda known: known.checked("near", ABSENT, 0.01), ["WARNING", "DEBUG"]),
}


@pytest.mark.parametrize("failed", LEVELS)
def test_a_region_that_fails_is_a_warning_once(failed: str, caplog: pytest.LogCaptureFixture) -> None:
    fail, levels = LEVELS[failed]
    known = regions(Clock())
    with caplog.at_level(logging.DEBUG, "global_integers"):
        fail(known)
        fail(known)

    assert [record.levelname for record in caplog.records] == levels


def test_an_overload_that_comes_and_goes_is_a_warning_a_minute(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    known = regions(clock)
    warned: list[int] = []
    back: list[int] = []
    with caplog.at_level(logging.INFO, "global_integers"):
        for second in range(150):
            known.failed("near", clock.now, BUSY)
            warned += [second] * len(caplog.records)
            caplog.clear()
            if second < 100 and known.answered("near"):
                back.append(second)
            clock.now += 1

    assert warned == [0, 60, 120], "the last one, of a failure that stays"
    assert back == [0, 60]


def test_keys_are_spread_over_the_regions() -> None:
    chosen = Counter(order_of(f"order-{n}", THREE)[0] for n in range(3000))

    assert all(800 < chosen[region] < 1200 for region in THREE)


def test_only_keys_of_a_region_that_is_removed_move() -> None:
    """The order in the settings doesn't matter."""
    for n in range(300):
        before = order_of(f"order-{n}", THREE)
        assert order_of(f"order-{n}", THREE[1::-1]) == [region for region in before if region in THREE[:2]]
