"""The region that is asked first, also for a key, and the regions that are left alone."""

import logging
from collections import Counter
from itertools import pairwise

import pytest
from global_integers.minting.api import Failure, FailureKind
from global_integers.minting.failover import CLEARLY_NEARER, LONGEST_PAUSE, REFRESH, Regions, order_of

from tests.client.clients import Clock

BUSY = Failure(FailureKind.TRANSIENT, "503: busy")
SILENT = Failure(FailureKind.SILENT, "no response")
NAMES = ["far", "near", "middle"]
THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def regions(clock: Clock, prefer: str | None = None) -> Regions:
    made = Regions(NAMES, prefer, clock, spread=max)
    made.to_check()
    for name, seconds in {"far": 0.3, "near": 0.01, "middle": 0.1}.items():
        made.checked(name, True, seconds)
    return made


def is_healthy(known: Regions) -> bool:
    return "left alone" not in known.known("near")


def test_the_nearest_comes_first() -> None:
    assert regions(Clock()).order() == ["near", "middle", "far"]


def test_a_preferred_region_comes_first_while_it_is_healthy() -> None:
    clock = Clock()
    known = regions(clock, prefer="far")

    assert known.order() == ["far", "near", "middle"]
    known.failed("far", clock.now, BUSY)
    assert known.order() == ["near", "middle", "far"]


def test_unmeasured_the_order_is_that_of_the_settings() -> None:
    assert Regions(NAMES).order() == NAMES


def test_a_region_that_failed_comes_last_for_a_pause() -> None:
    clock = Clock()
    known = regions(clock)
    known.failed("near", clock.now, BUSY)

    assert known.order() == ["middle", "far", "near"]
    clock.now += 0.3
    assert known.order()[0] == "near"


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
    clock.now += 0.3
    assert is_healthy(known)


def test_calls_that_fail_together_count_once() -> None:
    clock = Clock()
    known = regions(clock)
    began = clock.now
    clock.now += 3
    for _ in range(8):
        known.failed("near", began, BUSY)

    clock.now += 0.3
    assert is_healthy(known)


def test_a_region_is_left_alone_as_long_as_it_asks_for() -> None:
    clock = Clock()
    known = regions(clock)
    known.failed("near", clock.now, Failure(FailureKind.TRANSIENT, "503", retry_after=5))
    clock.now += 4.9

    assert not is_healthy(known)


def test_a_silent_region_comes_back_by_a_health_check() -> None:
    clock = Clock()
    known = regions(clock)
    known.failed("near", clock.now, SILENT)
    clock.now += 50

    assert known.order()[0] == "middle"
    assert known.to_check() == ["near"]
    assert known.to_check() == [], "it is under way"
    known.checked("near", SILENT, 3)
    assert known.to_check() == [], "not before its pause is over"
    clock.now += 1
    assert known.to_check() == ["near"]
    known.checked("near", True, 0.01)
    assert known.order()[0] == "near"


def test_a_check_that_was_given_up_is_due_again() -> None:
    clock = Clock()
    known = regions(clock)
    clock.now += REFRESH
    assert known.to_check() == NAMES
    known.uncheck("near")

    assert is_healthy(known)
    assert known.to_check() == ["near"]


def test_latencies_are_measured_again_after_a_while() -> None:
    clock = Clock()
    known = regions(clock)

    assert known.to_check() == []
    clock.now += REFRESH
    assert known.to_check() == NAMES


def test_only_a_clearly_nearer_region_replaces_the_nearest() -> None:
    clock = Clock()
    known = regions(clock)
    assert known.order()[0] == "near"
    for _ in range(50):
        known.checked("near", True, 0.1)
        known.checked("middle", True, 0.1 * CLEARLY_NEARER + 0.01)
    assert known.order()[0] == "near"
    for _ in range(50):
        known.checked("middle", True, 0.1 * CLEARLY_NEARER - 0.01)
    assert known.order()[0] == "middle"


def test_an_unhealthy_region_is_left_alone_until_its_pause_is_over() -> None:
    clock = Clock()
    known = regions(clock)
    known.checked("near", BUSY, 0.01)

    assert known.order() == ["middle", "far", "near"]
    clock.now += 0.3
    assert known.order()[0] == "near"


def test_a_health_check_leaves_a_region_alone_only_for_the_usual_pause() -> None:
    """Health is of the default counter: it must not keep a region from all other counters for seconds."""
    clock = Clock()
    known = regions(clock)
    known.checked("near", Failure(FailureKind.TRANSIENT, "503", retry_after=5), 0.01)
    assert not is_healthy(known)
    clock.now += 0.3

    assert is_healthy(known)


def test_a_health_check_that_finds_nothing_is_a_warning(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "global_integers"):
        regions(Clock()).checked("near", Failure(FailureKind.ABSENT, "404: why"), 0.01)

    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_a_keys_order_is_not_that_of_the_settings() -> None:
    for n in range(50):
        assert order_of(f"order-{n}", THREE) == order_of(f"order-{n}", THREE[::-1])


def test_a_keys_region_stays_as_it_is() -> None:
    assert [order_of(key, THREE)[0] for key in ("order-17", "order-18", "a")] == [
        "eu-west-1",
        "us-east-1",
        "ap-southeast-2",
    ]


def test_keys_are_spread_over_the_regions() -> None:
    chosen = Counter(order_of(f"order-{n}", THREE)[0] for n in range(3000))

    assert all(800 < chosen[region] < 1200 for region in THREE)


def test_only_keys_of_a_region_that_is_removed_move() -> None:
    for n in range(300):
        before = order_of(f"order-{n}", THREE)
        assert order_of(f"order-{n}", THREE[:2]) == [region for region in before if region in THREE[:2]]
