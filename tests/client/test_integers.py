"""Threads mint from a real deployment, while proxies to its regions delay, cut off and spoil responses."""

import copy
import ctypes
import json
import os
import pickle
import resource
import signal
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice

import pytest
from global_integers import (
    Event,
    FailedOver,
    Integers,
    Leased,
    Refused,
    Requested,
    Unavailable,
    UnknownCounter,
    UnknownOwner,
)
from global_integers.rendezvous import order_of

from tests.client.ways import PATIENT, Fault, Way

pytestmark = pytest.mark.server

Ways = dict[str, Way]


def nearest_of(ways: Ways) -> Way:
    return next(iter(ways.values()))


def measured(integers: Integers) -> Integers:
    """Return a client that knows which region is the nearest."""
    for _ in range(2):
        integers.health()
    return integers


def test_integers_come_from_the_nearest_region(ways: Ways, urls: dict[str, str]) -> None:
    for number, way in enumerate(ways.values()):
        way.delay = 0.4 * number
    with measured(Integers(dict(reversed(urls.items())))) as integers:
        before = nearest_of(ways).mints
        minted = [integers.next() for _ in range(5)]

    assert minted == list(range(minted[0], minted[0] + 15, 3))
    assert nearest_of(ways).mints - before == 5


def test_at_the_first_use_the_nearest_is_measured(ways: Ways, urls: dict[str, str]) -> None:
    for number, way in enumerate(ways.values()):
        way.delay = 0.5 * (2 - number)
    with Integers(urls) as integers:
        assert all(not way.requests for way in ways.values()), "nothing is asked before"
        integers.next()

    assert list(ways.values())[2].mints == 1


def test_a_preferred_region_overrules_the_nearest(ways: Ways, urls: dict[str, str]) -> None:
    with measured(Integers(urls, prefer="ap-southeast-2")) as integers:
        integers.next()

    assert ways["ap-southeast-2"].mints == 1


def test_other_counters_and_the_iterator(direct: dict[str, str]) -> None:
    with Integers(direct) as integers:
        first, second = islice(integers["orders"], 2)

        assert second > first
        assert integers["orders"] is integers["orders"]
        with pytest.raises(ValueError, match="not a counter's name"):
            integers["Orders"]


def test_many_are_taken_by_few_requests(ways: Ways, urls: dict[str, str]) -> None:
    with measured(Integers(urls)) as integers:
        before = nearest_of(ways).mints
        minted = integers.take(500)
        assert nearest_of(ways).mints - before == 1
        assert len(integers.take(100_001)) == 100_001
        assert nearest_of(ways).mints - before == 3
        assert integers.take(0) == []

    assert minted == list(range(minted[0], minted[0] + 1500, 3))


@pytest.mark.parametrize(
    "fault", ["cut", "cut after", "503", "429", "404", "410", "403", "rubbish", "redirect", "large"]
)
def test_a_region_that_fails_is_not_noticed(ways: Ways, urls: dict[str, str], fault: Fault) -> None:
    with measured(Integers(urls)) as integers:
        before = [integers.next() for _ in range(3)]
        nearest_of(ways).fault = fault
        during = [integers.next() for _ in range(10)]

    assert len({*before, *during}) == 13


def test_under_load_a_region_goes_away_and_comes_back(ways: Ways, urls: dict[str, str]) -> None:
    nearest = nearest_of(ways)
    failovers: list[Event] = []
    ended = threading.Event()

    def observer(event: Event) -> None:
        if isinstance(event, FailedOver):
            failovers.append(event)

    with measured(Integers(urls, lease=10, attempt_timeout=1, observer=observer)) as integers:

        def mint() -> list[int]:
            mine: list[int] = []
            while not ended.is_set():
                mine.append(integers.next())
                time.sleep(0.001)
            return mine

        with ThreadPoolExecutor(8) as pool:
            running = [pool.submit(mint) for _ in range(8)]
            time.sleep(0.5)
            for fault in ("503", "cut", "hang"):
                nearest.fault = fault
                time.sleep(1.2)
                nearest.fault = "none"
                nearest.released.set()
                time.sleep(0.3)
                nearest.released.clear()
            deadline = time.monotonic() + 20
            while integers.regions.order()[0] != "us-east-1" and time.monotonic() < deadline:
                time.sleep(0.1)
            before = nearest.mints
            time.sleep(1)
            ended.set()
            minted = [integer for run in running for integer in run.result()]  # no call failed

    assert len(set(minted)) == len(minted) > 100
    assert failovers
    assert nearest.mints > before, "back on the nearest one"


def test_a_region_that_hangs_costs_one_attempt(ways: Ways, urls: dict[str, str]) -> None:
    with measured(Integers(urls, attempt_timeout=2)) as integers:
        nearest_of(ways).fault = "hang"
        began = time.monotonic()
        integers.next()
        first = time.monotonic() - began
        for _ in range(10):
            integers.next()

    assert 2 <= first < 6
    assert nearest_of(ways).mints == 1, "only one call has waited for it"


def test_all_away_is_one_clear_error_within_the_deadline(ways: Ways, urls: dict[str, str]) -> None:
    for way, fault in zip(ways.values(), ("hang", "cut", "503"), strict=True):
        way.fault = fault
    with Integers(urls, timeout=2, attempt_timeout=0.5) as integers:
        began = time.monotonic()
        with pytest.raises(Unavailable) as error:
            integers.next()

    assert time.monotonic() - began < 3
    assert set(error.value.reasons) == set(urls)
    assert "no response within 0.5 s" in error.value.reasons["us-east-1"]
    assert error.value.reasons["ap-southeast-2"] == "503: as the test says"


def test_a_counter_is_unknown_only_if_all_that_answer_say_so(ways: Ways, urls: dict[str, str]) -> None:
    with Integers(urls, timeout=2) as integers:
        with pytest.raises(UnknownCounter):
            integers["none"].next()
        nearest_of(ways).fault = "cut"
        with pytest.raises(UnknownCounter):
            integers["none"].next()
        nearest_of(ways).fault = "503"
        with pytest.raises(Unavailable):
            integers["none"].next()


def test_a_key_returns_its_integer_again_from_any_process(ways: Ways, urls: dict[str, str]) -> None:
    key = f"order-{os.getpid()}"
    region = order_of(key, urls)[0]
    with Integers(urls) as one, Integers(dict(reversed(urls.items()))) as other:
        minted = one.next(key=key)

        assert other.next(key=key) == one.next(key=key) == minted
        assert [ways[name].mints for name in urls] == [3 if name == region else 0 for name in urls]
        with pytest.raises(Refused) as refused:
            one["orders"].next(key=key)
        assert refused.value.status == 422
        assert len(one.take(5, key=f"{key}-five")) == 5


def test_a_key_whose_answer_was_lost_gets_the_same_integer(ways: Ways, urls: dict[str, str]) -> None:
    key = f"lost-{os.getpid()}"
    way = ways[order_of(key, urls)[0]]

    def repair(event: Event) -> None:
        if isinstance(event, Requested) and event.failure:
            way.fault = "none"

    with Integers(urls, observer=repair, **PATIENT) as integers:
        way.fault = "cut after"
        minted = integers.next(key=key)

        assert way.mints > 1
        assert integers.next(key=key) == minted


def test_a_key_fails_over_only_if_that_is_allowed(ways: Ways, urls: dict[str, str]) -> None:
    key = f"away-{os.getpid()}"
    ways[order_of(key, urls)[0]].fault = "503"
    with Integers(urls, timeout=1) as integers, pytest.raises(Unavailable, match="key_failover=True"):
        integers.next(key=key)
    with Integers(urls, timeout=1, key_failover=True) as integers:
        assert integers.next(key=key) == integers.next(key=key), "the next one in the key's order keeps it"


def test_a_busy_process_needs_few_requests(ways: Ways, urls: dict[str, str]) -> None:
    leased: list[Event] = []
    with Integers(urls, lease=1000, observer=leased.append, prefer="us-east-1", **PATIENT) as integers:
        before = nearest_of(ways).mints
        minted = [integers.next() for _ in range(20_000)]
        requests = nearest_of(ways).mints - before

    assert len(set(minted)) == 20_000
    assert minted == sorted(minted)
    assert requests < 40
    assert max(event.size for event in leased if isinstance(event, Leased)) == 1000


def test_an_idle_process_leases_single_integers(ways: Ways, urls: dict[str, str]) -> None:
    with measured(Integers(urls, lease=1000)) as integers:
        before = nearest_of(ways).mints
        for _ in range(3):
            integers.next()
            time.sleep(1.1)

    assert nearest_of(ways).mints - before == 3


def test_a_lease_has_a_lifetime(direct: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    asleep, now = 0.0, time.time
    clock = lambda: now() + asleep  # noqa: E731
    for module in ("any_counter", "counter"):
        monkeypatch.setattr(f"global_integers.{module}.time", clock)
    leased: list[Event] = []
    with Integers(direct, lease=100, observer=leased.append) as integers:
        for _ in range(50):
            integers.next()
        before = len([event for event in leased if isinstance(event, Leased)])
        asleep = 61
        integers.next()
        after = len([event for event in leased if isinstance(event, Leased)])

    assert after > before


def in_a_child(fork: Callable[[], int], work: Callable[[], list[int]]) -> list[int]:
    """Return what the work returns in a forked child."""
    read, write = os.pipe()
    child = fork()
    if child == 0:
        signal.alarm(60)  # ends it, should it hang
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(work(), pipe)
        finally:
            os._exit(0)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        minted = pickle.load(pipe)  # noqa: S301 (its own child wrote it)
    os.waitpid(child, 0)
    return minted


def fork_in_c() -> int:
    """Fork as a server written in C does, without Python's hooks."""
    return ctypes.PyDLL(None).fork()


def no_file_is_left() -> int:
    """Fork while no file can be opened, so that a child can't prepare its connections."""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
    try:
        return os.fork()
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


@pytest.mark.parametrize("fork", [os.fork, fork_in_c, no_file_is_left])
def test_a_forked_child_hands_out_nothing_that_its_parent_has_leased(
    direct: dict[str, str], fork: Callable[[], int]
) -> None:
    with Integers({"us-east-1": direct["us-east-1"]}, lease=1000) as integers:
        counters = [integers, integers["orders"]]
        before = [[counter.next() for _ in range(300)] for counter in counters]
        while threading.active_count() > 1 and any(t.name == "global-integers" for t in threading.enumerate()):
            time.sleep(0.01)  # a fork in C while another thread runs may leave locks of Python's own behind
        children = [
            [in_a_child(fork, lambda counter=counter: [counter.next() for _ in range(300)]) for _ in range(2)]
            for counter in counters
        ]
        after = [[counter.next() for _ in range(300)] for counter in counters]

    for first, forked, last in zip(before, children, after, strict=True):
        everything = [*first, *last, *(integer for child in forked for integer in child)]
        assert len(set(everything)) == len(everything) == 1200


def test_a_child_that_is_forked_in_the_middle_of_a_call_mints_anew(direct: dict[str, str]) -> None:
    minted: list[int] = []
    children: list[int] = []
    parent = os.getpid()
    read, write = os.pipe()

    def fork(*_: object) -> None:
        child = os.fork()
        if child:
            children.append(child)

    before = signal.signal(signal.SIGALRM, fork)
    try:
        with Integers(direct, lease=50, attempt_timeout=0.5) as integers:
            for pause in (0.0005, 0.002, 0.01, 0.03, 0.05, 0.0002):
                integers.take(3)
                if os.getpid() == parent:
                    signal.setitimer(signal.ITIMER_REAL, pause)
                mine = [integers.next() for _ in range(40)]
                minted += mine
                if os.getpid() != parent:
                    os.write(write, json.dumps(mine[-5:]).encode() + b"\n")
                    os._exit(0)
    finally:
        if os.getpid() != parent:
            os._exit(1)
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    for child in children:
        os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read) as pipe:
        of_children = [integer for line in pipe for integer in json.loads(line)]

    everything = [*minted, *of_children]
    assert children
    assert len(set(everything)) == len(everything)


def test_a_client_is_shared_and_never_copied(direct: dict[str, str]) -> None:
    with Integers(direct, lease=10) as integers:
        for copied in (copy.copy, copy.deepcopy, pickle.dumps):
            for original in (integers, integers["orders"]):
                with pytest.raises(TypeError, match="can't be copied or pickled; share it"):
                    copied(original)


def test_an_interrupted_call_leaves_the_client_usable(ways: Ways, urls: dict[str, str]) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGALRM, interrupt)
    minted: list[int] = []
    try:
        with Integers(urls, lease=20, prefer="us-east-1") as integers:
            minted += integers.take(5)
            for number in range(30):
                signal.setitimer(signal.ITIMER_REAL, 0.005 * (number + 1))
                with suppress(KeyboardInterrupt):
                    minted.extend(integers)  # without end
            minted.append(integers.next())
    finally:
        signal.signal(signal.SIGALRM, before)

    assert len(set(minted)) == len(minted) > 1


def test_threads_go_on_while_another_one_closes_the_client(direct: dict[str, str]) -> None:
    integers = Integers(direct, lease=5)
    ended = threading.Event()

    def mint() -> list[int]:
        mine: list[int] = []
        while not ended.is_set():
            mine.append(integers.next())
        return mine

    with ThreadPoolExecutor(4) as pool:
        runs = [pool.submit(mint) for _ in range(4)]
        for _ in range(10):
            time.sleep(0.1)
            integers.close()
        ended.set()
        minted = [integer for run in runs for integer in run.result()]
    integers.close()

    assert len(set(minted)) == len(minted)


def test_threads_share_a_client(direct: dict[str, str]) -> None:
    with Integers(direct, lease=100) as integers, ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(lambda: [integers.next() for _ in range(500)]) for _ in range(8)]
        minted = [integer for run in runs for integer in run.result()]

    assert len(set(minted)) == 4_000


def test_owners_are_asked_for_what_only_they_know(direct: dict[str, str]) -> None:
    with Integers(direct, prefer="us-east-1") as integers:
        foreign = Integers(direct, prefer="eu-west-1")
        minted = foreign.next()
        foreign.close()

        owner = integers.owner(minted)
        assert (owner.region, owner.minted, owner.counter) == ("eu-west-1", True, "integers")
        assert integers.owner(1, "orders").region == "us-east-1"
        with pytest.raises(UnknownOwner):
            integers.owner(1, "none")


def test_counters_are_created_and_health_is_told(ways: Ways, urls: dict[str, str]) -> None:
    with Integers(urls) as integers:
        assert integers.create("invoices")
        assert not integers.create("invoices")
        assert integers["invoices"].next() >= 1
        nearest_of(ways).fault = "503"
        health = integers.health()

    assert [health[region].ok for region in urls] == [False, True, True]
    assert health["us-east-1"].reason == "503: as the test says"


def test_the_observer_is_told_of_every_request(direct: dict[str, str]) -> None:
    events: list[Event] = []
    with Integers(direct, prefer="eu-west-1", observer=events.append) as integers:
        integers.next()

    (request,) = [event for event in events if isinstance(event, Requested) and event.subject == "the default counter"]
    assert (request.region, request.failure) == ("eu-west-1", None)
    assert request.seconds > 0


def test_an_observer_that_fails_harms_no_call(direct: dict[str, str], caplog: pytest.LogCaptureFixture) -> None:
    def fail(event: Event) -> None:
        raise RuntimeError("as the test says")

    with Integers(direct, prefer="eu-west-1", observer=fail) as integers:
        assert integers.next() >= 1

    assert "the observer failed" in caplog.text


def test_the_owner_is_known_though_the_owner_is_away(ways: Ways, urls: dict[str, str]) -> None:
    with Integers(urls, timeout=2, attempt_timeout=1) as integers:
        ways["us-east-1"].fault = "503"

        owner = integers.owner(1, "integers")

    assert (owner.region, owner.minted) == ("us-east-1", None)
