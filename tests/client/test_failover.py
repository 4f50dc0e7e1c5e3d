"""The order in which regions are asked, and the caller's error if all fail."""

import logging
import threading
from typing import Any

import httpx
import pytest
from global_integers import FailedOver, Integers
from global_integers.errors import DeadlineExceeded, Unavailable
from global_integers.minting import api
from global_integers.minting.api import ApiRequest, Failure, FailureKind, MintedBlock
from global_integers.minting.failover import FIRST_PAUSE, LONGEST_PAUSE, Failover, Regions
from global_integers.minting.options import Deadline
from global_integers.minting.threads import run

from tests.client.clients import Clock
from tests.client.region_proxies import HANG

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
        self.waits: list[float] = []
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
        self.waits.append(seconds)

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


def scene_of(answers: list[Failure]) -> Scene:
    """Return regions of which each always answers the same."""
    scripts: dict[str, Any] = dict(zip("ab", ([answer] for answer in answers), strict=False))
    return Scene(**scripts)


SILENT = failure(FailureKind.SILENT, 0)
BUSY = failure(FailureKind.TRANSIENT)
ABSENT = failure(FailureKind.ABSENT, 404)
GONE = failure(FailureKind.GONE, 410)
REFUSED = failure(FailureKind.REFUSED, 403)
FORBIDDEN = failure(FailureKind.FORBIDDEN, 403)
"""By AWS: the caller, or a URL that leads nowhere."""


def test_rounds_go_on_until_a_region_answers_again(caplog: pytest.LogCaptureFixture) -> None:
    scene = Scene(a=[BUSY, BUSY, BUSY, BLOCK], b=[BUSY])

    with caplog.at_level(logging.INFO, "global_integers"):
        assert scene.run() == BLOCK
    failed = [f"{region} failed and is left alone for a while: 503: why" for region in "ab"]
    assert caplog.messages == [*failed, "a answers again"]
    assert scene.asked == ["a", "b"] * 3 + ["a"]
    assert len(scene.waits) == 3


def test_each_wait_is_twice_as_long_up_to_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    def longest(low: float, high: float) -> float:
        assert low == high / 2
        return high

    monkeypatch.setattr("random.uniform", longest)
    scene = Scene(took=0, a=[*[BUSY] * 7, BLOCK])
    scene.run()

    assert scene.waits == [0.05, 0.1, 0.2, 0.4, 0.8, 1, 1]


def test_no_wait_lasts_until_the_deadline() -> None:
    scene = Scene(took=0, a=[failure(FailureKind.TRANSIENT, retry_after=1), failure(FailureKind.TRANSIENT, 500)])
    with pytest.raises(Unavailable) as error:
        scene.run(seconds=1.5, each=0.5)

    assert (scene.waits[0], scene.now < 1.5) == (1, True)
    assert error.value.reasons == {"a": "500: why"}, "the last one that had its time"
    scene = Scene(took=0, a=[failure(FailureKind.TRANSIENT, retry_after=1)])
    with pytest.raises(Unavailable):
        scene.run(seconds=2)
    assert scene.waits == [1]


def test_how_much_a_request_may_ask_for_is_remembered_for_a_while() -> None:
    """The setting may be changed."""
    scene = Scene(a=[failure(FailureKind.WRONG, 422, available=100, max_block=100), MintedBlock("a", 1, 3, 100)])
    assert scene.regions.max_block == 100_000
    assert scene.run(api.mint("", 1000)).count == 100

    assert (scene.asked, scene.counts) == (["a", "a"], [1000, 100])
    assert scene.regions.max_block == 100
    scene.now += 601
    assert scene.regions.max_block == 100_000


@pytest.mark.parametrize(
    ("kind", "calls", "down"),
    [
        (FailureKind.SILENT, [(0, 1)], False),
        (FailureKind.SILENT, [(0, 1), (2, 2)], True),
        (FailureKind.SILENT, [(0, 1), (2, 2), (1000, 1000)], True),
        (FailureKind.TRANSIENT, [(0, 0), (2, 2.5)], False),
        (FailureKind.TRANSIENT, [(0, 0), (2, 2.6)], True),
        (FailureKind.TRANSIENT, [(0, 0), (LONGEST_PAUSE, LONGEST_PAUSE)], True),
        (FailureKind.TRANSIENT, [(0, 0), (LONGEST_PAUSE + 1, LONGEST_PAUSE + 1)], False),
        (FailureKind.ABSENT, [(0, 0), (4, 4), (9, 9)], False),
    ],
)
def test_a_region_is_known_to_be_down(kind: FailureKind, calls: list[tuple[float, float]], down: bool) -> None:
    """`calls`: when they begin and end, in seconds."""
    now = 0.0
    regions = Regions("ab", clock=lambda: now, spread=max)
    for began, now in calls:  # noqa: B007 (the clock)
        regions.failed("a", began, failure(kind))

    assert bool(regions.down("a", seconds=5)) == down
    assert not regions.down("b", seconds=5)
    regions.answered("a") if kind is FailureKind.SILENT else regions.checked("a", True, 0.1)
    regions.failed("a", now, failure(kind))
    assert not regions.down("a", seconds=5), "it has responded since"


@pytest.mark.parametrize("kind", [FailureKind.SILENT, FailureKind.TRANSIENT])
def test_a_region_is_known_to_be_down_only_for_its_pause(kind: FailureKind) -> None:
    now = 0.0
    regions = Regions("ab", clock=lambda: now, spread=max)
    for now in (0.0, 3.0):
        regions.failed("a", now, failure(kind))

    now = 3.0 + 1.99 * FIRST_PAUSE
    assert regions.down("a", seconds=5)
    now = 3.0 + 2 * FIRST_PAUSE
    assert not regions.down("a", seconds=5)


def test_a_key_is_asked_for_again_before_a_health_check_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, hangs, ended = Clock(), True, threading.Event()
    monkeypatch.setattr(Integers, "_clock", clock)

    def respond(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/-/health":
            ended.wait(HANG)
        if hangs:
            clock.now += 3
            raise httpx.ReadTimeout("as the test says")
        block = {"counter": "integers", "region": "eu-west-1", "first": 1, "last": 1, "stride": 1, "count": 1}
        return httpx.Response(200, json=block)

    def http() -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(respond))

    with Integers({"eu-west-1": "http://eu-west-1.test/"}, http=http, timeout=5, attempt_timeout=3) as integers:
        with pytest.raises(Unavailable, match="within 5 s"):
            integers.next(key="a")
        with pytest.raises(Unavailable, match="known to be down"):
            integers.next(key="a")
        hangs = False
        clock.now += 36_000
        try:
            assert integers.next(key="a") == 1
        finally:
            ended.set()


def test_a_call_that_asked_nobody_says_why_regions_failed_before() -> None:
    scene = Scene(a=[SILENT], b=[BUSY])
    with pytest.raises(Unavailable):
        scene.run(seconds=5)

    with pytest.raises(DeadlineExceeded) as error:
        scene.run(seconds=0)

    before = "not asked by this call; before: "
    assert error.value.reasons == {"a": f"{before}0: why", "b": f"{before}503: why"}
