"""Which errors mean that a condition failed, which are retried, and which that a region is away."""

from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import pytest
from botocore.exceptions import ClientError, ConnectTimeoutError, EndpointConnectionError
from coordinate.model import Absent, Refused
from coordinate.retries import AWAY, GONE, REGION_SECONDS, RETRY_SECONDS, Regions, held, retried


class Clock:
    """Time that passes only by waiting."""

    def __init__(self) -> None:
        self.now = 0.0

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr("coordinate.retries.time.sleep", clock.sleep)
    monkeypatch.setattr("coordinate.retries.time.monotonic", lambda: clock.now)
    return clock


def error(code: str, *reasons: str) -> ClientError:
    """Return an error of DynamoDB, of a transaction if there are reasons."""
    response: Any = {"Error": {"Code": code, "Message": "said so"}}
    if reasons:
        response["CancellationReasons"] = [{"Code": reason} for reason in reasons]
    return ClientError(response, "PutItem")


def failing(*errors: Exception) -> Callable[[], str]:
    """Return a call that raises these errors one after the other, and then answers."""
    left = iter(errors)

    def call() -> str:
        for failure in left:
            raise failure
        return "answer"

    return call


def always(failure: Exception) -> tuple[Callable[[], str], list[None]]:
    """Return a call that always fails, and a list of its calls."""
    calls: list[None] = []
    failures: Iterator[Exception] = repeat(failure)

    def call() -> str:
        calls.append(None)
        raise next(failures)

    return call, calls


TRANSIENT = [
    error("TransactionConflictException"),
    error("TransactionCanceledException", "ThrottlingError", "None"),
    error("TransactionCanceledException", "None", "ProvisionedThroughputExceeded"),
    error("AccessDeniedException"),
]


@pytest.mark.parametrize(
    "failure",
    [
        error("ConditionalCheckFailedException"),
        error("TransactionConflictException"),
        error("TransactionCanceledException", "ConditionalCheckFailed", "None"),
        error("TransactionCanceledException", "None", "TransactionConflict"),
    ],
    ids=str,
)
def test_a_write_that_lost_a_race_is_one_whose_condition_failed(failure: ClientError) -> None:
    assert held(failing(failure)) is False
    assert held(failing()) is True


def test_any_other_error_of_a_write_is_no_answer() -> None:
    for failure in (error("ValidationException"), error("TransactionCanceledException", "ThrottlingError")):
        with pytest.raises(ClientError):
            held(failing(failure))


@pytest.mark.parametrize("failure", TRANSIENT, ids=str)
def test_transient_errors_are_retried(failure: ClientError, clock: Clock) -> None:
    regions = Regions()

    assert retried("us-east-1", failing(*[failure] * 4)) == "answer"
    assert regions.retried("eu-west-1", failing(*[failure] * 4)) == "answer"
    assert not regions.away
    assert clock.now > 0


def test_the_home_region_must_answer(clock: Clock) -> None:
    for failure in (error("AccessDeniedException"), EndpointConnectionError(endpoint_url="http://x")):
        call, _ = always(failure)
        with pytest.raises(Refused, match=r"^us-east-1: the home region's tables can't be used: .* Deploy again when"):
            retried("us-east-1", call)
    assert RETRY_SECONDS <= clock.now <= RETRY_SECONDS + 3, "only the denial was retried"


def test_a_missing_table_at_home_needs_a_refresh() -> None:
    call, _ = always(error(GONE))
    with pytest.raises(Refused, match=r"^us-east-1: the layouts table or its mirror does not exist: .*--refresh"):
        retried("us-east-1", call)


@pytest.mark.parametrize(
    "failure",
    [
        *(error(code) for code in sorted(AWAY)),
        ConnectTimeoutError(endpoint_url="http://x"),
        EndpointConnectionError(endpoint_url="http://x"),
    ],
    ids=str,
)
def test_a_region_that_is_away_is_not_asked_again(failure: Exception, clock: Clock) -> None:
    regions = Regions()
    call, calls = always(failure)

    assert [regions.retried("eu-west-1", call) for _ in range(3)] == [Absent.AWAY] * 3
    assert len(calls) == 1, "botocore has retried it"
    assert regions.retried("us-west-2", failing()) == "answer"
    assert clock.now == 0


@pytest.mark.parametrize("failure", TRANSIENT, ids=str)
def test_a_region_whose_transient_errors_stay_is_away(failure: ClientError, clock: Clock) -> None:
    regions = Regions()
    call, calls = always(failure)

    assert regions.retried("eu-west-1", call) is Absent.AWAY
    assert len(calls) > 5
    before = len(calls)
    assert regions.retried("eu-west-1", call) is Absent.AWAY
    assert len(calls) == before
    assert REGION_SECONDS <= clock.now <= REGION_SECONDS + 3


def test_a_table_that_is_gone_may_be_there_again_the_next_time() -> None:
    regions = Regions()
    call = failing(error(GONE))

    assert [regions.retried("eu-west-1", call) for _ in range(2)] == [Absent.GONE, "answer"]


def test_what_no_retry_can_help_is_refused_with_the_region() -> None:
    with pytest.raises(Refused, match=r"^eu-west-1: DynamoDB refused a call: .*ValidationException.*said so"):
        Regions().retried("eu-west-1", failing(error("ValidationException")))
