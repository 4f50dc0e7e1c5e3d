"""Which errors mean that a condition failed, which are retried, and which that a region or an item is unreachable."""

import json
from collections.abc import Callable
from itertools import chain, repeat
from typing import Any

import pytest
from aws_client.connection import NoResponse
from aws_client.service import ServiceError
from coordinate.dynamodb.calls import (
    ATTEMPTS,
    FIRST_SECONDS,
    LONGEST_CONFLICT,
    LONGEST_PAUSE,
    MOST_THROTTLED,
    REGION_SECONDS,
    RETRY_SECONDS,
    TOGETHER,
    Reachability,
    held,
    retried,
)
from coordinate.handler import GRANT_SECONDS
from coordinate.protocol.model import Absent, Refused

from tests.lambda_.coordinate.error_responses import Clock, stopped_clock

HOME, EU, US = "us-east-1", "eu-west-1", "us-west-2"


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return stopped_clock(monkeypatch)


def error(code: str, status: int = 400, attempts: int = 1) -> ServiceError:
    """Return an error of DynamoDB after so many attempts."""
    found = ServiceError(status, code, "said so")
    found.attempts = attempts
    return found


class Call:
    """A call that fails so many times, or for ever, then as it does `then`, and then answers."""

    def __init__(self, failure: Exception, times: int = 10**6, *then: Exception) -> None:
        self._failures = chain(repeat(failure, times), then)
        self.made = 0

    def __call__(self) -> str:
        self.made += 1
        for failure in self._failures:
            raise failure
        return "answer"


def answers() -> str:
    return "answer"


# One of each meaning: tests/lambda_/aws_client/test_meaning.py has them all.
THROTTLED, CONFLICT = error("ThrottlingException"), error("TransactionConflictException")
FAILED, UNACCEPTED = error("ConditionalCheckFailedException"), error("AccessDeniedException")
UNREACHABLE = [error("503", 503), NoResponse("dynamodb.eu-west-1.amazonaws.com: timed out")]
BUG = error("ValidationException")


def test_a_write_that_lost_a_race_is_one_whose_condition_failed() -> None:
    """Any other error of a write is no answer."""
    assert (held(Call(FAILED)), held(answers)) == (False, True)
    for failure in (BUG, THROTTLED, CONFLICT):
        with pytest.raises(ServiceError):
            held(Call(failure))


def test_a_write_that_met_another_one_is_tried_again(clock: Clock) -> None:
    """It says nothing about the condition, which may hold or not."""
    write = Call(CONFLICT, 8, FAILED)

    assert retried(HOME, lambda: held(write)) is False
    assert clock.now <= 8 * LONGEST_CONFLICT, "the other one takes milliseconds"


def of_region(**options: bool) -> Callable[[Callable[[], str]], object]:
    """Return what makes a call of a region that nothing is known of."""
    return lambda call: Reachability().retried(EU, call, None if "patient" in options else "a", **options)


OTHERS = [THROTTLED, CONFLICT]
WAITS: list[tuple[str, Callable[[Callable[[], str]], object], list[Any], float, float, object]] = [
    ("home", lambda call: retried(HOME, call), [THROTTLED, UNACCEPTED, *UNREACHABLE], 0, RETRY_SECONDS, Refused),
    ("home conflict", lambda call: retried(HOME, lambda: held(call)), [CONFLICT], 0, RETRY_SECONDS, Refused),
    ("grant", lambda call: retried(HOME, call, GRANT_SECONDS), [THROTTLED], 0, GRANT_SECONDS, Refused),
    ("region", of_region(), [THROTTLED, UNACCEPTED, CONFLICT], 0, REGION_SECONDS, Absent.UNREACHABLE),
    ("dispensable", of_region(dispensable=True), [UNACCEPTED], 0, REGION_SECONDS, Absent.GONE),
    ("new role", of_region(patient=True), [UNACCEPTED], REGION_SECONDS, FIRST_SECONDS, Absent.UNREACHABLE),
    ("dispensable, another fault", of_region(dispensable=True), OTHERS, 0, REGION_SECONDS, Absent.UNREACHABLE),
    ("patient, another fault", of_region(patient=True), OTHERS, 0, REGION_SECONDS, Absent.UNREACHABLE),
]
"""Who waits, for what errors, for more than so many seconds and up to so many, and what it gets in the end."""


@pytest.mark.parametrize(
    ("wait", "failure", "least", "most", "end"),
    [
        pytest.param(wait, failure, *expected, id=f"{name}: {failure}")
        for name, wait, failures, *expected in WAITS
        for failure in failures
    ],
)
def test_who_waits_gives_up_in_the_end(
    wait: Callable[[Callable[[], str]], object],
    failure: Exception,
    least: float,
    most: float,
    end: object,
    clock: Clock,
) -> None:
    pause = LONGEST_CONFLICT if failure is CONFLICT else LONGEST_PAUSE
    assert wait(Call(failure, times=5)) in ("answer", True)

    before, call = clock.now, Call(failure)
    if end is Refused:
        with pytest.raises(Refused, match=r"^us-east-1: the home region's tables can't be used: .* Deploy again when"):
            wait(call)
    else:
        assert wait(call) is end
    assert max(least, most - pause) <= clock.now - before <= most


def test_each_pause_is_twice_as_long_up_to_a_bound(monkeypatch: pytest.MonkeyPatch, clock: Clock) -> None:
    monkeypatch.setattr("random.uniform", max)  # the longest one
    ended: list[float] = []

    def call() -> str:
        ended.append(clock.now)
        if len(ended) < 8:
            raise THROTTLED
        return "answer"

    assert retried(HOME, call) == "answer"
    assert ended == pytest.approx([0, 0.1, 0.3, 0.7, 1.5, 3.1, 5.1, 7.1])


def test_what_no_retry_can_help_is_refused_with_the_region(clock: Clock) -> None:
    with pytest.raises(Refused, match=r"^us-east-1: the home region's tables can't be used: "):
        retried(HOME, Call(BUG))
    regions = Reachability()
    with pytest.raises(Refused, match=r"^eu-west-1: DynamoDB refused a call: "):
        regions.retried(EU, Call(BUG), "a")
    assert regions.retried(EU, answers, "b") == "answer", "other counters go on"
    assert clock.now == 0


def test_a_missing_table_at_home_needs_a_refresh() -> None:
    with pytest.raises(Refused, match=r"^us-east-1: the layouts table or its mirror does not exist: .*--refresh"):
        retried(HOME, Call(error("ResourceNotFoundException")))


def test_a_table_that_is_gone_may_be_there_again_the_next_time() -> None:
    regions, call = Reachability(), Call(error("ResourceNotFoundException"), times=1)

    assert [regions.retried(EU, call, "a") for _ in range(2)] == [Absent.GONE, "answer"]


@pytest.mark.parametrize("options", [{}, {"dispensable": True}, {"patient": True}])
@pytest.mark.parametrize("failure", UNREACHABLE, ids=str)
def test_an_unreachable_region_is_not_asked_again(failure: Exception, options: dict[str, bool]) -> None:
    regions, call = Reachability(), Call(failure)

    assert [regions.retried(EU, call, counter, **options) for counter in ("a", "b", None)] == [Absent.UNREACHABLE] * 3
    assert call.made == ATTEMPTS == 3
    assert regions.retried(US, answers, "a") == "answer"


def test_all_attempts_of_a_call_count() -> None:
    lost = NoResponse("timed out")
    lost.attempts = ATTEMPTS
    for failure in (error("503", 503, attempts=ATTEMPTS), lost):
        call = Call(failure)

        assert Reachability().retried(EU, call, "a") is Absent.UNREACHABLE
        assert call.made == 1


def test_a_dispensable_table_that_is_denied_is_waited_for_once(clock: Clock) -> None:
    regions, call = Reachability(), Call(UNACCEPTED)
    assert [regions.retried(EU, call, counter, dispensable=True) for counter in "ab"] == [Absent.GONE] * 2
    assert clock.now <= REGION_SECONDS
    assert regions.retried(EU, answers, "a") == "answer", "the region is reachable"
    assert regions.retried(US, answers, "a", dispensable=True) == "answer"


@pytest.mark.parametrize("failure", [THROTTLED, CONFLICT], ids=str)
def test_throttling_belongs_to_an_item(failure: Exception, clock: Clock) -> None:
    regions, call = Reachability(), Call(failure)
    for _ in range(3 * TOGETHER):
        assert regions.retried(EU, call, "busy") is Absent.UNREACHABLE
        assert regions.retried(EU, answers, "quiet") == "answer"

    made, before = call.made, clock.now
    assert regions.retried(EU, call, "busy") is Absent.UNREACHABLE
    assert (call.made, clock.now) == (made, before), "it isn't waited for again in this run"
    assert regions.retried(US, answers, "busy") == "answer"


def test_a_throttled_scan_leaves_the_items(clock: Clock) -> None:
    regions = Reachability()
    assert regions.retried(EU, Call(THROTTLED), None) is Absent.UNREACHABLE

    before = clock.now
    assert regions.retried(EU, answers, "a") == "answer"
    assert regions.retried(EU, answers, None) == "answer", "the table may be asked again"
    assert regions.retried(EU, Call(THROTTLED), None) is Absent.UNREACHABLE
    assert clock.now == before, "but it isn't waited for"


@pytest.mark.parametrize(("in_between", "most"), [(1, TOGETHER), (TOGETHER - 1, MOST_THROTTLED)])
def test_a_region_that_throttles_many_items_is_unreachable(in_between: int, most: int) -> None:
    """Some together, or more of them although others answer in between."""
    regions = Reachability()
    for number in range(most):
        assert regions.unreachable == set()
        for region in (EU, US)[: 1 + (number < most - 1)]:
            assert regions.retried(region, Call(THROTTLED), f"c{number}") is Absent.UNREACHABLE
            if number % in_between:
                regions.retried(region, answers, "quiet")
    assert regions.unreachable == {EU}


def test_who_waits_for_a_region_stops_when_it_is_unreachable(clock: Clock) -> None:
    regions = Reachability()
    made: list[None] = []

    def throttled() -> str:
        made.append(None)
        if len(made) == 2:
            regions.retried(EU, Call(error("503", 503)), "b")  # another thread
        raise THROTTLED

    assert regions.retried(EU, throttled, "a") is Absent.UNREACHABLE
    assert len(made) == 2


@pytest.mark.parametrize(
    ("failure", "counter", "line"),
    [
        (UNREACHABLE[0], "a", {"phase": "unreachable", "region": EU}),
        (UNACCEPTED, None, {"phase": "unreachable", "region": EU}),
        (THROTTLED, "a", {"phase": "throttled", "region": EU, "counter": "a"}),
        (THROTTLED, None, {"phase": "throttled", "region": EU}),
    ],
)
def test_the_log_says_once_what_is_unreachable_and_why(
    failure: Exception, counter: str | None, line: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    regions = Reachability()
    call: Callable[[], str] = Call(failure)
    for _ in range(1 if line["phase"] == "throttled" and counter is None else 3):
        regions.retried(EU, call, counter)

    (logged,) = [json.loads(text) for text in capsys.readouterr().err.splitlines()]
    assert logged | line == logged
    assert (logged["level"], logged["error"]) == ("WARN", str(failure))
    assert ("counter" in logged) == ("counter" in line)
