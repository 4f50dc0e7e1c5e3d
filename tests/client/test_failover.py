"""The order in which regions are asked, and the caller's error if all fail."""

from typing import Any

import pytest
from global_integers import FailedOver
from global_integers.errors import DeadlineExceeded, Refused, Unavailable, UnknownCounter, UnknownOwner
from global_integers.minting import api
from global_integers.minting.api import ApiRequest, Failure, FailureKind, MintedBlock
from global_integers.minting.failover import Failover, Regions
from global_integers.minting.options import Deadline
from global_integers.minting.threads import run

BLOCK = MintedBlock("a", 1, 3, 1)


class Scene:
    """Regions that answer as scripted. Only attempts and waits move the clock."""

    def __init__(self, took: float = 0.1, **answers: list[Any]) -> None:
        self.now = 0.0
        self.took = took
        self.answers = answers
        self.asked: list[str] = []
        self.seconds: list[float] = []
        self.counts: list[int] = []
        self.waited = 0.0
        self.failovers: list[tuple[str, str]] = []
        self.regions = Regions(answers, clock=lambda: self.now)

    def run(self, request: ApiRequest[Any] | None = None, seconds: float = 5, each: float = 1) -> Any:
        failover = Failover(self.regions, self.send, self.sleep, self.note)
        deadline = Deadline(self.now + seconds, seconds, each)
        return run(failover.answer(request or api.mint(""), deadline, list(self.answers)))

    def note(self, event: FailedOver) -> None:
        assert event.reason
        self.failovers.append((event.failed, event.following))

    async def sleep(self, seconds: float) -> None:
        self.now += seconds
        self.waited += seconds

    async def send(self, region: str, request: ApiRequest[Any], seconds: float) -> Any:
        self.asked.append(region)
        self.seconds.append(seconds)
        self.counts.append(request.count)
        script = self.answers[region]
        answer = script.pop(0) if len(script) > 1 else script[0]
        self.now += seconds if isinstance(answer, Failure) and answer.kind is FailureKind.SILENT else self.took
        return answer


def failure(kind: FailureKind, status: int = 503, **more: Any) -> Failure:
    return Failure(kind, f"{status}: why", status, **more)


SILENT = failure(FailureKind.SILENT, 0)
BUSY = failure(FailureKind.TRANSIENT)
ABSENT = failure(FailureKind.ABSENT, 404)
GONE = failure(FailureKind.GONE, 410)
FORBIDDEN = failure(FailureKind.REFUSED, 403)


def test_the_first_that_answers_ends_it() -> None:
    scene = Scene(a=[BUSY], b=[BLOCK], c=[BLOCK])

    assert scene.run() == BLOCK
    assert scene.asked == ["a", "b"]
    assert scene.failovers == [("a", "b")]


@pytest.mark.parametrize("failed", [SILENT, BUSY, ABSENT, GONE, FORBIDDEN])
def test_every_failure_of_a_region_moves_on(failed: Failure) -> None:
    assert Scene(a=[failed], b=[BLOCK]).run() == BLOCK


def test_a_wrong_request_is_not_repeated_elsewhere() -> None:
    scene = Scene(a=[failure(FailureKind.WRONG, 422, problem={"detail": "used"})], b=[BLOCK])

    with pytest.raises(Refused) as refused:
        scene.run()
    assert (refused.value.region, refused.value.status) == ("a", 422)
    assert refused.value.problem == {"detail": "used"}
    assert scene.asked == ["a"]


def test_a_region_that_hangs_costs_one_attempt() -> None:
    scene = Scene(a=[SILENT], b=[BLOCK])
    scene.run(each=1)

    assert scene.now == pytest.approx(1.1)


def test_rounds_go_on_until_a_region_answers_again() -> None:
    scene = Scene(a=[BUSY, BUSY, BUSY, BLOCK], b=[BUSY])

    assert scene.run() == BLOCK
    assert scene.asked == ["a", "b"] * 3 + ["a"]
    assert scene.waited > 0


def test_no_round_begins_before_a_region_wants_to_be_asked() -> None:
    later = failure(FailureKind.TRANSIENT, retry_after=2)
    scene = Scene(a=[later, BLOCK], b=[failure(FailureKind.TRANSIENT, retry_after=1)])
    scene.run()

    assert 1 <= scene.waited < 2


def test_all_unreachable_is_one_error_within_the_deadline() -> None:
    scene = Scene(a=[SILENT], b=[BUSY])

    with pytest.raises(Unavailable) as error:
        scene.run(seconds=5)
    assert scene.now <= 5
    assert error.value.reasons == {"a": "0: why", "b": "503: why"}
    assert str(error.value).splitlines() == [
        "the default counter: no region succeeded within 5 s:",
        "  a: 0: why",
        "  b: 503: why",
    ]


def test_if_no_region_responds_the_error_begins_with_why() -> None:
    with pytest.raises(Unavailable) as error:
        Scene(a=[Failure(FailureKind.SILENT, "connection refused (a:1)")], b=[SILENT]).run(each=1)

    assert str(error.value).startswith(
        "a: connection refused (a:1); the default counter: no region succeeded within 5 s:"
    )


def test_a_deadline_that_ends_before_all_are_asked() -> None:
    scene = Scene(a=[SILENT], b=[SILENT], c=[BLOCK])

    with pytest.raises(DeadlineExceeded, match="before every region could be asked"):
        scene.run(seconds=1.5, each=1)
    assert scene.seconds == [1, pytest.approx(0.5)]


@pytest.mark.parametrize("others", [[ABSENT], [SILENT], [GONE]])
def test_a_counter_is_unknown_if_all_that_answer_say_so(others: list[Failure]) -> None:
    with pytest.raises(UnknownCounter, match="no region knows counter 'x'\\. A counter is created by"):
        Scene(a=[ABSENT], b=others).run(api.mint("x"))


@pytest.mark.parametrize("first", [ABSENT, SILENT])
def test_an_integer_that_no_region_was_granted_has_no_owner(first: Failure) -> None:
    scene = Scene(a=[first], b=[ABSENT])

    with pytest.raises(UnknownOwner, match="no region has been granted it yet"):
        scene.run(api.owner("x", 17))
    assert scene.asked == ["a", "b"]
    assert scene.regions.known("b") == "not measured", "it did what it should"


def test_it_is_not_unknown_while_a_region_may_know_it() -> None:
    with pytest.raises(Unavailable):
        Scene(a=[ABSENT], b=[BUSY]).run()
    assert Scene(a=[ABSENT], b=[BUSY, BUSY, BLOCK]).run() == BLOCK


def test_what_nobody_allows_is_refused() -> None:
    with pytest.raises(Refused) as refused:
        Scene(a=[FORBIDDEN], b=[FORBIDDEN]).run()
    assert refused.value.status == 403


def test_if_all_have_left_it_says_so_at_once() -> None:
    scene = Scene(a=[GONE], b=[GONE])

    with pytest.raises(Unavailable, match="no URL that responded leads to a region of the layout"):
        scene.run()
    assert scene.asked == ["a", "b"]


def test_what_may_help_is_said_once() -> None:
    gone = failure(FailureKind.GONE, 404, hint="Take others")

    with pytest.raises(Unavailable) as error:
        Scene(a=[gone], b=[SILENT], c=[gone]).run()
    assert str(error.value).splitlines()[-2:] == ["  c: 404: why", "Take others"]
    with pytest.raises(UnknownCounter):
        Scene(a=[gone], b=[ABSENT]).run()


def test_a_region_with_fewer_left_is_asked_for_those() -> None:
    scene = Scene(a=[failure(FailureKind.TRANSIENT, available=7), MintedBlock("a", 1, 3, 7)], b=[BLOCK])

    assert scene.run(api.mint("", 1000)).count == 7
    assert (scene.asked, scene.counts) == (["a", "a"], [1000, 7])


def test_a_key_keeps_its_count() -> None:
    scene = Scene(a=[failure(FailureKind.TRANSIENT, available=7)], b=[BLOCK])
    scene.run(api.mint("", 1000, "k"))

    assert scene.counts == [1000, 1000]


def test_an_error_of_a_call_that_asked_nobody_says_why_the_regions_failed_before() -> None:
    scene = Scene(a=[SILENT], b=[BUSY])
    with pytest.raises(Unavailable):
        scene.run(seconds=5)

    with pytest.raises(DeadlineExceeded) as error:
        scene.run(seconds=0)

    assert error.value.reasons == {"a": "0: why", "b": "503: why"}


def test_a_region_that_lacks_a_counter_is_no_warning(caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises(UnknownCounter):
        Scene(a=[failure(FailureKind.ABSENT)], b=[failure(FailureKind.ABSENT)]).run()

    assert caplog.records == []
