"""Tasks mint from a real deployment, as threads do."""

import asyncio
import time
from collections.abc import Coroutine
from typing import Any, TypeVar

import pytest
from global_integers import AsyncIntegers, Event, Leased, Refused, Unavailable, UnknownCounter

from tests.client.ways import PATIENT, Fault, Way

pytestmark = pytest.mark.server

T = TypeVar("T")
Ways = dict[str, Way]


def run(work: Coroutine[Any, Any, T]) -> T:
    return asyncio.run(work)


def nearest_of(ways: Ways) -> Way:
    return next(iter(ways.values()))


def test_a_hundred_tasks_share_a_client(direct: dict[str, str]) -> None:
    async def mint() -> list[int]:
        async with AsyncIntegers(direct, lease=1000) as integers:

            async def some() -> list[int]:
                return [await integers.next() for _ in range(100)]

            return [n for mine in await asyncio.gather(*(some() for _ in range(100))) for n in mine]

    minted = run(mint())
    assert len(set(minted)) == 10_000


def test_all_that_threads_can_do(direct: dict[str, str]) -> None:
    async def use() -> None:
        async with AsyncIntegers(direct) as integers:
            assert len(await integers.take(500)) == 500
            assert await integers.next(key="tasks") == await integers.next(key="tasks")
            first = await integers["orders"].next()
            assert (await integers.owner(first, "orders")).minted
            assert all(health.ok for health in (await integers.health()).values())
            await integers.create("tasks")
            async for integer in integers["tasks"]:
                assert integer >= 1
                break
            with pytest.raises(UnknownCounter):
                await integers["none"].next()
            with pytest.raises(Refused):
                await integers["orders"].next(key="tasks")

    run(use())


@pytest.mark.parametrize("fault", ["cut", "503", "429", "404", "rubbish", "large", "hang"])
def test_a_region_that_fails_under_load_is_not_noticed(ways: Ways, urls: dict[str, str], fault: Fault) -> None:
    async def mint() -> list[int]:
        async with AsyncIntegers(urls, lease=10, attempt_timeout=0.6) as integers:
            await integers.health()
            minted: list[int] = []

            async def some() -> None:
                for _ in range(40):
                    minted.append(await integers.next())
                    await asyncio.sleep(0.01)

            running = asyncio.gather(*(some() for _ in range(10)))
            await asyncio.sleep(0.1)
            nearest_of(ways).fault = fault
            await running
            return minted

    minted = run(mint())
    assert len(set(minted)) == 400


def test_all_away_is_one_error_within_the_deadline(ways: Ways, urls: dict[str, str]) -> None:
    for way in ways.values():
        way.fault = "hang"

    async def mint() -> None:
        async with AsyncIntegers(urls, timeout=1.5, attempt_timeout=0.3) as integers:
            await integers.next()

    began = time.monotonic()
    with pytest.raises(Unavailable):
        run(mint())
    assert time.monotonic() - began < 2.5


def test_a_busy_process_needs_few_requests(direct: dict[str, str]) -> None:
    events: list[Event] = []

    async def mint() -> list[int]:
        async with AsyncIntegers(direct, lease=1000, observer=events.append, prefer="us-east-1", **PATIENT) as integers:
            return [await integers.next() for _ in range(20_000)]

    minted = run(mint())
    assert minted == sorted(set(minted))
    assert len([event for event in events if isinstance(event, Leased)]) < 40


def test_a_cancelled_call_leaves_the_client_usable(ways: Ways, urls: dict[str, str]) -> None:
    async def mint() -> int:
        async with AsyncIntegers(urls, lease=10) as integers:
            await integers.next()
            for way in ways.values():
                way.fault = "hang"
            for _ in range(3):
                with pytest.raises((TimeoutError, asyncio.TimeoutError)):
                    await asyncio.wait_for(integers.take(50), 0.2)
            for way in ways.values():
                way.fault = "none"
                way.released.set()
            return await integers.next()

    assert run(mint()) >= 1


def test_one_event_loop_after_another_may_use_a_client(direct: dict[str, str]) -> None:
    integers = AsyncIntegers(direct, lease=50)

    async def some() -> list[int]:
        return [await integers.next() for _ in range(120)]

    minted = [integer for _ in range(4) for integer in run(some())]
    run(integers.aclose())

    assert len(set(minted)) == len(minted) == 480


def test_a_health_check_that_is_cancelled_is_repeated(ways: Ways, urls: dict[str, str]) -> None:
    async def mint() -> bool:
        async with AsyncIntegers(urls, attempt_timeout=1) as integers:
            nearest_of(ways).fault = "hang"
            await integers.next()
            await integers.aclose()
            nearest_of(ways).fault = "none"
            nearest_of(ways).released.set()
            for _ in range(300):
                await integers.next()
                if integers.regions.is_well("us-east-1"):
                    return True
                await asyncio.sleep(0.05)
            return False

    assert run(mint())
