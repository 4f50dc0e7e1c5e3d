"""The stack in memory: clients of it get the same as those of a deployment, and no test of an application waits."""

import asyncio
import logging
import os
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import chain, count
from typing import get_args

import httpx
import pytest
from global_integers import (
    AsyncIntegers,
    GlobalIntegersError,
)
from global_integers.minting.threads import Threads
from global_integers.testing import Fault, Forked, Stack
from global_integers.testing import region as region_in_memory

from local.paths import ROOT
from tests.client.clients import Lines, in_a_child

REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]


@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_only_debug_logs_each_request(integers_stack: Stack, level: int, caplog: pytest.LogCaptureFixture) -> None:
    async def tasks() -> None:
        async with integers_stack.async_integers() as integers:
            await integers.next()

    def lines() -> int:
        return sum(record.name == "httpx" for record in caplog.records)

    caplog.set_level(logging.INFO)
    caplog.set_level(level, "global_integers")
    integers_stack.integers().next()
    by_threads = lines()
    asyncio.run(tasks())
    by_tasks = lines() - by_threads
    caplog.clear()
    with httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(200))) as others:
        others.get("http://shop.test/")

    assert bool(by_threads) == bool(by_tasks) == (level == logging.DEBUG)
    assert caplog.messages == ['HTTP Request: GET http://shop.test/ "HTTP/1.1 200 OK"'], "the service's own"


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
