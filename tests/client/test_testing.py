"""The stack in memory: clients of it get the same as those of a deployment, and no test of an application waits."""

import asyncio
import os
import re
import socket
import subprocess
import sys
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from itertools import chain, count
from typing import Any, get_args

import httpx
import pytest
from global_integers import (
    AsyncIntegers,
    Event,
    FailedOver,
    GlobalIntegersError,
    Integers,
    Leased,
    Requested,
    Unavailable,
    UnknownCounter,
)
from global_integers.minting.failover import order_of
from global_integers.minting.threads import Threads
from global_integers.minting.transport import TimeLeft
from global_integers.testing import Fault, Forked, Stack
from global_integers.testing import region as region_in_memory

from global_integers_core.names import reserved
from local.paths import ROOT
from tests.client.clients import Clock, EventRecorder, Lines, Tasks, in_a_child
from tests.client.region_proxies import FAULTS, HANG, PATIENT, Failure, RegionProxy

REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]
FIRST: dict[str, Any] = {"prefer": "us-east-1", **PATIENT}
AS_PROXIES: dict[Fault, Failure] = {
    "timeout": "hang",
    "response lost": "cut after",
    "throttled": "429",
    "forbidden": "403",
    "unavailable": "503",
    "left": "410",
    "used up": "503",
}
"""How the proxies to a deployment fail in the same way."""


class Real:
    """Clients of a deployment on this machine, through proxies that fail."""

    def __init__(self, proxies: dict[str, RegionProxy], *, tasks: bool) -> None:
        self.proxies = proxies
        self.urls = {region: proxy.url for region, proxy in proxies.items()}
        self._tasks = tasks

    def integers(self, **options: Any) -> Any:
        """Return a client."""
        return self._made(Integers, AsyncIntegers, options)

    def impatient(self, *regions: str, **options: Any) -> Any:
        """Return a client whose time is over once these regions have failed, however long that takes."""
        clock, failed = Clock(), set[str]()

        def observe(event: Event) -> None:
            if isinstance(event, Requested) and event.failure is not None and event.subject != "health":
                failed.add(event.region)
                if failed.issuperset(regions):
                    clock.now += HANG

        class ForThreads(Integers):
            _clock = clock

        class ForTasks(AsyncIntegers):
            _clock = clock

        return self._made(ForThreads, ForTasks, {"observer": observe, **PATIENT, **options})

    def _made(self, threads: Any, tasks: Any, options: dict[str, Any]) -> Any:
        if self._silent():
            options["http"] = self._http
        return Tasks(self.urls, make=tasks, **options) if self._tasks else threads(self.urls, **options)

    def _silent(self) -> set[str]:
        """Return the URLs of the regions that don't respond."""
        return {proxy.url for proxy in self.proxies.values() if FAULTS["hang"] in proxy.faults}

    def _http(self) -> Any:
        """Return an HTTP client that soon gives up regions that don't respond, and waits long for the others."""

        def shorten(request: httpx.Request) -> None:
            if any(str(request.url).startswith(url) for url in self._silent()):
                request.extensions["timeout"] = TimeLeft(0.05)

        async def shorten_too(request: httpx.Request) -> None:
            shorten(request)

        made, hook = (httpx.AsyncClient, shorten_too) if self._tasks else (httpx.Client, shorten)
        return made(trust_env=False, event_hooks={"request": [hook]})

    def fail(self, region: str, fault: Fault) -> None:
        """Let a region's proxy fail, or nothing listen at its URL."""
        if fault == "refused":
            with closing(socket.create_server(("127.0.0.1", 0))) as server:
                self.urls[region] = f"http://127.0.0.1:{server.getsockname()[1]}/"
        else:
            self.proxies[region].fail(AS_PROXIES[fault])

    def recover(self, region: str) -> None:
        self.proxies[region].recover()


class InMemory:
    """A stack in memory, for the same cases."""

    def __init__(self, stack: Stack, *, tasks: bool) -> None:
        self._stack = stack
        self._tasks = tasks
        self._named = {region.name: region for region in stack.regions}

    def integers(self, **options: Any) -> Any:
        """Return a client."""
        return Tasks(make=self._stack.async_integers, **options) if self._tasks else self._stack.integers(**options)

    def impatient(self, *_: str, **options: Any) -> Any:
        """Return a client. Its time passes by itself."""
        return self.integers(**{**PATIENT, **options})

    def fail(self, region: str, fault: Fault) -> None:
        self._named[region].fail(fault)

    def recover(self, region: str) -> None:
        self._named[region].recover()


Either = Real | InMemory


@pytest.fixture(
    params=[
        ("memory", "threads"),
        ("memory", "tasks"),
        pytest.param(("deployment", "threads"), marks=pytest.mark.server),
        pytest.param(("deployment", "tasks"), marks=[pytest.mark.server, pytest.mark.long]),
    ],
    ids="-".join,
)
def stack(request: pytest.FixtureRequest) -> Generator[Either]:
    """One and the other, each with both kinds of clients, to which the same must happen."""
    kind, client = request.param
    tasks = client == "tasks"
    if kind == "deployment":
        yield Real(request.getfixturevalue("proxies"), tasks=tasks)
        return
    with Stack(REGIONS, max_counters=1000) as made:
        yield InMemory(made, tasks=tasks)


NUMBERS = count(1)


@pytest.fixture
def counter(stack: Either) -> str:
    """A counter of which nothing is minted yet."""
    name = f"compared-{next(NUMBERS)}"
    with stack.integers(**FIRST) as integers:
        assert integers.create(name)
    return name


def error_of(call: Callable[[], Any]) -> str:
    """Return the class and the message of the error that a call raises, without what differs by the place."""
    with pytest.raises((GlobalIntegersError, ValueError)) as raised:
        call()
    message = re.sub(r"\((127\.0\.0\.1:\d+|[\w-]+\.integers\.test)\)", "(URL)", str(raised.value))
    return f"{type(raised.value).__name__}: {message.partition(chr(10) + 'If that is the deployment')[0]}"


def test_integers_of_a_region_are_one_stride_apart(stack: Either, counter: str) -> None:
    for offset, region in enumerate(REGIONS, 1):
        with stack.integers(prefer=region, counter=counter, **PATIENT) as integers:
            assert [integers.next(), integers.next()] == [offset, offset + 3]
            assert integers.take(3) == [offset + 6, offset + 9, offset + 12]
            assert next(iter(integers)) == offset + 15
            assert integers.take(0) == []


def test_counters_are_independent(stack: Either, counter: str) -> None:
    with stack.integers(**FIRST) as integers:
        assert integers.create(f"{counter}-too")
        assert not integers.create(f"{counter}-too")
        assert [integers[counter].next(), integers[counter].next(), integers[f"{counter}-too"].next()] == [1, 4, 1]
        assert integers.next() < integers.next()


def test_a_large_take_is_several_blocks(stack: Either, counter: str) -> None:
    seen = EventRecorder()
    with stack.integers(counter=counter, observer=seen, **FIRST) as integers:
        assert integers.take(100_001) == list(range(1, 300_004, 3))
    assert len([event for event in seen.of(Requested) if event.subject != "health"]) == 2


def test_a_key_returns_the_same_integer(stack: Either, counter: str) -> None:
    with stack.integers(counter=counter, **FIRST) as integers, stack.integers(counter=counter, **PATIENT) as other:
        one, three = integers.next(key="cart-1"), integers.take(3, key='cart,"2"')
        assert (other.next(key="cart-1"), other.take(3, key='cart,"2"')) == (one, three)
        assert one % 3 == (REGIONS.index(order_of("cart-1", REGIONS)[0]) + 1) % 3
        assert other.next(key="cart-3") not in (one, *three)


def test_a_key_whose_answer_was_lost_has_one_integer(stack: Either, counter: str) -> None:
    region = order_of("lost", REGIONS)[0]
    stack.fail(region, "response lost")
    with stack.impatient(region, counter=counter, prefer=region) as integers, pytest.raises(Unavailable):
        integers.next(key="lost")
    stack.recover(region)
    with stack.integers(counter=counter, **PATIENT) as integers:
        assert integers.next(key="lost") == integers.next(key="lost") == REGIONS.index(region) + 1


def test_a_key_is_for_one_count(stack: Either, counter: str) -> None:
    key = next(f"cart-{n}" for n in range(100) if order_of(f"cart-{n}", REGIONS)[0] == "us-east-1")
    with stack.integers(counter=counter, **FIRST) as integers:
        integers.next(key=key)
        assert error_of(lambda: integers.take(2, key=key)) == (
            "Refused: us-east-1 refuses the request: 422: this Idempotency-Key was used for another count; use a new "
            "one"
        )


def test_a_keys_region_fails(stack: Either, counter: str) -> None:
    key = next(f"cart-{n}" for n in range(100) if order_of(f"cart-{n}", REGIONS)[0] == "us-east-1")
    stack.fail("us-east-1", "throttled")
    with stack.impatient("us-east-1", counter=counter, prefer="us-east-1") as integers:
        failed = error_of(lambda: integers.next(key=key))
    assert failed == (
        f"Unavailable: counter {counter!r}: no region succeeded within 120 s; only the key's region can return its "
        "integer again (key_failover=True accepts another integer):\n"
        "  us-east-1: 429: the region is paused, or it has too many requests"
    )
    seen = EventRecorder()
    with stack.integers(counter=counter, observer=seen, **PATIENT) as integers:
        another = [integers.next(key=key, key_failover=True) for _ in range(2)]
        assert another == integers.take(1, key=key, key_failover=True) * 2
        assert another == [REGIONS.index(order_of(key, REGIONS)[1]) + 1] * 2
    assert {(event.failed, event.key) for event in seen.of(FailedOver)} == {("us-east-1", key)}


def test_owners(stack: Either, counter: str) -> None:
    with stack.integers(counter=counter, **FIRST) as integers:
        assert integers.take(2) == [1, 4]
        assert [integers.owner(n)[:6] for n in (1, 2, 3, 7)] == [
            (counter, 1, "us-east-1", 1, 3, 1),
            (counter, 2, "eu-west-1", 2, 3, 1),
            (counter, 3, "ap-southeast-2", 3, 3, 1),
            (counter, 7, "us-east-1", 1, 3, 1),
        ]
        assert [integers.owner(n).minted for n in (1, 2, 3, 4, 7)] == [True, False, False, True, False]
        assert integers.owner(1, "orders").counter == "orders"


def test_an_owner_that_nobody_knows(stack: Either, counter: str) -> None:
    with stack.integers(counter=counter, **FIRST) as integers:
        failed = error_of(lambda: integers.owner(10**12))
    first, *reasons = failed.splitlines()
    assert first.startswith(f"UnknownOwner: no region knows 1000000000000 of counter {counter!r}: there is no such")
    assert sorted(reasons) == sorted(
        f"  {region}: 503: no region is known to mint 1000000000000 yet: the home region grants integers step by step, "
        f"and this region has been granted those up to {granted}"
        for region, granted in zip(REGIONS, (2_999_998, 2_999_999, 3_000_000), strict=True)
    )


def test_an_owner_that_fails_is_known(stack: Either, counter: str) -> None:
    stack.fail("eu-west-1", "unavailable")
    with stack.impatient("eu-west-1", counter=counter, prefer="us-east-1") as integers:
        integers.next()
        found = integers.owner(2)
    assert (found.region, found.minted) == ("eu-west-1", None)


def test_a_counter_that_does_not_exist(stack: Either) -> None:
    with stack.integers(counter="nothing", **FIRST) as integers:
        minting, owner = error_of(integers.next), error_of(lambda: integers.owner(1))
    reasons = [f"  {region}: 404: there is no counter 'nothing' in this region" for region in sorted(REGIONS)]
    assert minting.startswith("UnknownCounter: no region knows counter 'nothing'. A counter is created by")
    assert [sorted(error.splitlines()[1:]) for error in (minting, owner)] == [reasons] * 2


@pytest.mark.parametrize("fault", AS_PROXIES)
def test_another_region_is_asked(stack: Either, counter: str, fault: Fault) -> None:
    seen = EventRecorder()
    stack.fail("us-east-1", fault)
    with stack.integers(counter=counter, observer=seen, **FIRST) as integers:
        assert integers.next() in (2, 3)
        stack.recover("us-east-1")
    assert {event.failed for event in seen.of(FailedOver)} <= {"us-east-1"}
    with stack.integers(counter=counter, **FIRST) as integers:
        assert integers.next() in ((1, 4) if fault == "response lost" else (1,)), "what was lost is a gap"


@pytest.mark.slow
@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("refused", "Unavailable: connection refused (…"),
        ("throttled", "Unavailable: 429: the region is paused, or it has too many requests"),
        ("unavailable", "Unavailable: 503: …"),
        ("forbidden", "Refused: 403: …"),
        ("timeout", "Unavailable: no response within …"),
        ("left", "Unavailable: 410: …"),
        ("used up", "Unavailable: 503: …"),
        ("response lost", "Unavailable: RemoteProtocolError: Server disconnected without sending a response."),
    ],
)
def test_all_regions_fail(stack: Either, fault: Fault, reason: str) -> None:
    for region in REGIONS:
        stack.fail(region, fault)
    made = stack.impatient(*REGIONS, prefer="us-east-1", attempt_timeout=30)
    with made as integers, pytest.raises(GlobalIntegersError) as raised:
        integers.next()
    kind, _, why = reason.partition(": ")
    assert type(raised.value).__name__ == kind
    reasons = [*raised.value.reasons.values()] if isinstance(raised.value, Unavailable) else [str(raised.value)]
    assert all(why.removesuffix("…") in found for found in reasons)


def test_a_lease_is_one_block(
    stack: Either, counter: str, clock: Clock, wait_until_idle: Callable[[Any], None]
) -> None:
    seen = EventRecorder()
    with stack.integers(counter=counter, lease=9, observer=seen, **FIRST) as integers:
        assert [integers.next() for _ in range(30)] == list(range(1, 91, 3))
        wait_until_idle(integers)
        sizes = [event.size for event in seen.of(Leased)]
        assert (sizes[0], max(sizes)) == (1, 9)
        assert sum(sizes) > 30
        clock.now += 59
        assert integers.next() == 91
        clock.now += 1
        assert integers.next() == 3 * sum(sizes) + 1, "what is left of a lease is a gap, after its time"
        minted = [integers.next() for _ in range(12)]
        wait_until_idle(integers)
        leased = sum(event.size for event in seen.of(Leased))
        assert leased > 31 + len(minted)
        integers.close()
        assert integers.next() == 3 * leased + 1, "and after closing"


def test_health(stack: Either) -> None:
    stack.fail("eu-west-1", "throttled")
    with stack.integers(**FIRST) as integers:
        found = integers.health()
    assert {region: (health.ok, health.reason) for region, health in found.items()} == {
        "us-east-1": (True, ""),
        "eu-west-1": (False, "429: the region is paused, or it has too many requests"),
        "ap-southeast-2": (True, ""),
    }


def test_the_fixture_is_three_regions(integers_stack: Stack) -> None:
    integers = integers_stack.integers()

    assert integers.next() == 1
    assert [region.name for region in integers_stack.regions] == REGIONS
    integers_stack.regions[0].fail()
    assert integers.next() == 2
    integers_stack.regions[1].fail("timeout")
    assert integers.next() == 3
    for region in integers_stack.regions:
        region.recover()
    integers_stack.tick(60)
    assert integers.next() == 4, "the nearest region is back"


@pytest.mark.slow
@pytest.mark.parametrize("fault", get_args(Fault))
def test_no_failure_takes_real_time(fault: Fault, integers_stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    def wait(_: float) -> None:
        pytest.fail("it waits")

    monkeypatch.setattr("time.sleep", wait)
    integers = integers_stack.integers(timeout=60, attempt_timeout=20)
    for region in integers_stack.regions:
        region.fail(fault)

    with pytest.raises(GlobalIntegersError):
        integers.next()


def test_a_caller_goes_on_whenever_another_thread_closes(
    integers_stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    def advanced(threads: Threads) -> int:
        threads.__dict__["generation"] += 1
        return threads.__dict__["generation"]

    generation = property(advanced, lambda threads, value: threads.__dict__.update(generation=value))
    monkeypatch.setattr(Threads, "generation", generation, raising=False)
    assert integers_stack.integers().next() == 1


def test_a_creation_whose_response_is_lost(stack: Either) -> None:
    name = f"compared-{next(NUMBERS)}"
    stack.fail("us-east-1", "response lost")
    with stack.integers(**FIRST) as integers:
        assert not integers.create(name), "another region says that it exists"
        stack.recover("us-east-1")
        assert integers[name].next() in (1, 2, 3)


def test_after_a_jump_all_that_is_minted_is_larger(integers_stack: Stack) -> None:
    integers = integers_stack.integers(prefer="us-east-1")
    keyed = integers.next(key="cart-1")
    minted = [integers["orders"].take(2) for _ in range(3)]
    integers_stack.jump()
    minted += [integers["orders"].take(2)]
    integers_stack.jump()
    minted += [integers_stack.integers(prefer=region)["orders"].take(1) for region in REGIONS]

    assert minted[3:] == [[3_000_001, 3_000_004], [6_000_001], [6_000_002], [6_000_003]]
    assert integers.next(key="cart-1") == keyed
    assert [integers.owner(n, "orders").epoch for n in (1, 3_000_001, 3_000_002, 6_000_003)] == [1, 2, 2, 3]
    found = [integers.owner(n, "orders").minted for n in (16, 19, 3_000_004, 3_000_007, 6_000_001, 6_000_004)]
    assert found == [True, False, True, False, True, False]


def test_a_counter_made_after_a_jump_begins_at_1() -> None:
    with Stack(max_counters=3) as stack:
        stack.jump()
        integers = stack.integers(prefer="us-east-1")
        assert integers.create("tickets")
        assert (integers["tickets"].next(), integers["orders"].next()) == (1, 3_000_001)


def test_concurrent_callers_wait_at_the_same_time(integers_stack: Stack) -> None:
    integers_stack.regions[0].fail("timeout")

    async def mint() -> list[int]:
        async with integers_stack.async_integers() as integers:
            return await asyncio.gather(*(integers.next() for _ in range(100)))

    assert sorted(asyncio.run(mint())) == list(range(2, 300, 3))


MAY_FORK = pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")


@MAY_FORK
def test_a_forked_process_has_no_copy_of_a_stack(integers_stack: Stack) -> None:
    integers = integers_stack.integers(lease=10)
    assert integers.next() == 1
    calls: list[Callable[[], object]] = [
        integers.next,
        integers_stack.integers().next,
        lambda: asyncio.run(integers_stack.async_integers().next()),
        integers_stack.regions[0].fail,
        integers_stack.regions[0].recover,
        lambda: integers_stack.tick(1),
        integers_stack.jump,
        lambda: integers_stack.delete("orders"),
    ]

    def use() -> list[object]:
        refusals: list[object] = []
        for call in calls:
            with pytest.raises(Forked) as refused:
                call()
            refusals.append(str(refused.value))
        return [*refusals, Stack().integers().next()]

    refusal = (
        "this process was forked, and has a copy of its parent's stack, which would mint the same integers again; "
        "make a Stack here"
    )
    assert in_a_child(os.fork, use) == [*[refusal] * 8, 1]
    assert integers.next() == 4


@pytest.mark.slow
@MAY_FORK
@pytest.mark.parametrize("part", range(1, 10))
def test_a_process_forked_while_a_region_answers(integers_stack: Stack, part: int) -> None:
    """In the child, the call is refused."""
    integers, children, taken = integers_stack.integers(), list[int](), list[int]()
    assert integers.next() == 1
    with Lines(file=region_in_memory.__file__) as ran:
        assert integers.take(2) == [4, 7]
    refused = False
    try:
        with Lines(ran.count * part // 10, lambda: children.append(os.fork()), region_in_memory.__file__):
            taken = integers.take(2)
    except Forked:
        refused = True
    finally:
        if children == [0]:
            os._exit(0 if refused else 1)
    assert taken == [10, 13]
    assert [os.waitpid(child, 0)[1] for child in children] == [0]


@pytest.mark.slow
@pytest.mark.parametrize("key", [None, "cart-1"])
def test_a_signal_handler_mints_in_a_region(integers_stack: Stack, key: str | None) -> None:
    """It does so before every step of a region's answer, at which it would find a lock taken or an integer read."""
    integers, other = integers_stack.integers(), integers_stack.integers()
    minted, steps = [integers.next()], 0
    for at in count(1):
        keyed, own = None if key is None else f"{key}-{at}", list[int]()
        with Lines(
            at, lambda own=own, keyed=keyed: own.append(other.next(key=keyed)), region_in_memory.__file__
        ) as ran:
            own.append(integers.next(key=keyed))
        if ran.count < at:
            break
        steps += 1
        minted += own if key is None else {*own}
        assert len(own) == 2, "the handler has minted"
        assert key is None or len({*own}) == 1, "one key, one integer"
    assert steps > 100
    assert len(set(minted)) == len(minted)


def test_threads_and_tasks_get_no_integer_twice(integers_stack: Stack) -> None:
    client = integers_stack.integers(lease=100)

    async def mint() -> list[int]:
        async with integers_stack.async_integers(lease=10) as integers:
            return [*await integers.take(50), *await asyncio.gather(*(integers.next() for _ in range(50)))]

    with ThreadPoolExecutor(8) as pool:
        calls = [pool.submit(client.next) for _ in range(1000)]
        minted = [*(call.result() for call in calls), *asyncio.run(mint())]
    minted += chain.from_iterable(integers_stack.integers(prefer=region).take(100) for region in REGIONS)
    assert len(set(minted)) == len(minted) == 1400


def test_a_key_is_forgotten_after_24_hours(integers_stack: Stack) -> None:
    integers = integers_stack.integers()
    first = integers.next(key="cart-1")
    integers_stack.tick(86_300)
    assert integers.next(key="cart-1") == first
    integers_stack.tick(200)
    assert integers.next(key="cart-1") == first + 3


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Stack([]), "regions [] is not a list of 1 to 64 different regions"),
        (lambda: Stack(["us-east-1", "us-east-1"]), "is not a list of 1 to 64 different regions"),
        *(
            (lambda name=name: Stack([name]), f"{name!r} is not the name of an AWS region, such as eu-west-1")
            for name in ("here", "xx-fake-9", "eu-fake-9", "eu-wset-1", "eu-west-0", "eu-west-10")
        ),
        (lambda: Stack(counters=[]), "counters [] is not a list of different counters; there must be one"),
        (lambda: Stack(counters=["Orders"]), "'Orders' is not a counter's name"),
        (lambda: Stack(counters=["orders", "ping"]), f"counters: {reserved('ping')}"),
        (lambda: Stack(max_counters=-1), "max_counters -1 is not an integer from 0 on"),
        *(
            (lambda seconds=seconds: Stack().tick(seconds), f"seconds {seconds!r} is not a finite number from 0 on")
            for seconds in (-1, float("nan"), float("inf"), -float("inf"))
        ),
        (lambda: Stack().delete("tickets"), "there is no counter 'tickets'"),
        (lambda: Stack().delete("integers"), "'integers' is the default counter, which can't be deleted"),
        (lambda: Stack().regions[0].fail("down"), "fault 'down' is none of 'refused', 'timeout'"),  # type: ignore[arg-type]
        (lambda: Stack().integers(http=lambda: None), "http can't be given"),  # type: ignore[arg-type]
        (lambda: Stack().integers(prefer="eu-west-9"), "prefer 'eu-west-9' is none of the regions us-east-1"),
    ],
)
def test_a_wrong_stack_is_refused(make: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        make()


def test_every_class_is_shown_as_what_it_is(integers_stack: Stack) -> None:
    assert repr(integers_stack.integers()).startswith("<Integers default counter regions=us-east-1 (not measured)")
    assert isinstance(integers_stack.async_integers(), AsyncIntegers)
    assert repr(integers_stack.regions[0]) == "<Region us-east-1 offset=1 fault=None>"


@pytest.mark.parametrize(
    ("program", "loaded"),
    [
        ("import global_integers", []),
        ("from global_integers import Integers; Integers({'eu-west-1': 'http://127.0.0.1:1/'})", ["json.decoder"]),
        ("from global_integers.pytest_plugin import integers_stack", ["json.decoder"]),  # pytest loads it
    ],
)
def test_importing_it_loads_nothing_heavy(program: str, loaded: list[str]) -> None:
    shown = f"{program}; import sys; print(*set(sys.modules).intersection(sys.argv[1:]))"
    command = [sys.executable, "-c", shown, "httpx", "asyncio", "botocore", "ssl", "json.decoder"]
    environment = {"PYTHONPATH": str(ROOT / "client" / "src")}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)

    assert done.stdout.split() == loaded


def test_what_is_leased_is_handed_out_after_a_counter_is_deleted(integers_stack: Stack) -> None:
    """As docs/layouts.md says, until `close`."""
    integers = integers_stack.integers(lease=100)
    orders = integers["orders"]
    minted = [orders.next() for _ in range(60)]
    integers_stack.delete("orders")
    minted += [orders.next() for _ in range(5)]

    assert minted == sorted({*minted})
    integers.close()
    with pytest.raises(UnknownCounter):
        orders.next()
