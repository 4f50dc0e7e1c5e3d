"""Measures one source of ids in a process of its own: `python -m bench.caller SUBJECT SECONDS PLACE` prints JSON.

PLACE is the regions' URLs as JSON, or the database's socket. The client is warmed up before the clock starts, so its
blocks have grown to the demand.
"""

import asyncio
import json
import sys
import time
from collections.abc import Callable
from importlib import import_module
from threading import Thread
from typing import Any

LEASE = 100_000
SAMPLES = 200_000
"""The largest number of calls that are timed one by one."""

UNTIMED = 50
"""Where several mint at once: how many calls each makes between two that are timed."""

Figures = dict[str, float]


def percentiles(times: list[float]) -> Figures:
    """Return percentiles, in microseconds, of calls' seconds."""
    times.sort()
    shares = {"p50_us": 0.5, "p99_us": 0.99, "p9999_us": 0.9999}
    return {name: times[min(int(len(times) * share), len(times) - 1)] * 1e6 for name, share in shares.items()}


def timed(call: Callable[[], object], seconds: float) -> Figures:
    """Call for so many seconds. Return the rate, and percentiles of the times of further calls."""
    calls, clock = 0, time.perf_counter
    ends = clock() + seconds
    began = clock()
    while clock() < ends:
        for _ in range(1000):
            call()
        calls += 1000
    rate = calls / (clock() - began)
    return {"per_s": rate, **percentiles(sampled(call, min(SAMPLES, calls)))}


def each_timed(call: Callable[[], object], seconds: float) -> Figures:
    """Call for so many seconds, and time every call."""
    ends, times = time.perf_counter() + seconds, list[float]()
    while time.perf_counter() < ends:
        times += sampled(call, 10)
    return {"per_s": len(times) / sum(times), **percentiles(times)}


def sampled(call: Callable[[], object], count: int) -> list[float]:
    """Return the seconds of each of so many calls."""
    clock = time.perf_counter
    times: list[float] = []
    for _ in range(count):
        began = clock()
        call()
        times.append(clock() - began)
    return times


class Requests:
    """Counts a client's requests to mint and notes how long they took, as its observer."""

    def __init__(self) -> None:
        self.seconds: list[float] = []

    def __call__(self, event: Any) -> None:
        """Note a request."""
        if type(event).__name__ == "Requested" and event.subject != "health":
            self.seconds.append(event.seconds)

    def figures(self, integers: float) -> Figures:
        """Return requests per integer, and the median round trip."""
        trips = sorted(self.seconds)
        return {"requests": len(trips) / integers, "trip_ms": trips[len(trips) // 2] * 1e3 if trips else 0.0}


def client(urls: str, lease: int) -> tuple[Callable[[], int], Requests]:
    """Return a client's `next` that is warmed up, and its observer."""
    from global_integers import Integers

    requests = Requests()
    made = Integers(json.loads(urls), lease=lease, observer=requests)
    for _ in range(4 * lease if lease > 1 else 10):
        made.next()
    requests.seconds.clear()
    return made.next, requests


def memory(urls: str, seconds: float) -> Figures:
    """Return the rate within one block: of 5,000 calls during which no request ended."""
    call, requests = client(urls, LEASE)
    rates: list[float] = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        sent = len(requests.seconds)
        began = time.perf_counter()
        for _ in range(5000):
            call()
        took = time.perf_counter() - began
        if len(requests.seconds) == sent:
            rates.append(5000 / took)
    rates.sort()
    assert rates, "every run of 5,000 met a request"
    return {"per_s": rates[len(rates) // 2]}


def one(urls: str, seconds: float) -> Figures:
    """Measure one thread that mints without a pause."""
    call, requests = client(urls, LEASE)
    found = timed(call, seconds)
    return found | requests.figures(found["per_s"] * seconds + SAMPLES)


def eight(urls: str, seconds: float) -> Figures:
    """Measure eight threads that mint without a pause."""
    call, requests = client(urls, LEASE)
    times = [list[float]() for _ in range(8)]
    ends = time.perf_counter() + seconds

    def work(mine: list[float]) -> None:
        clock = time.perf_counter
        while (began := clock()) < ends:
            call()
            mine.append(clock() - began)
            for _ in range(UNTIMED):
                call()

    threads = [Thread(target=work, args=(mine,)) for mine in times]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return _together([t for mine in times for t in mine], seconds, requests)


def tasks(urls: str, seconds: float) -> Figures:
    """Measure a hundred tasks that mint without a pause."""
    return asyncio.run(_tasks(urls, seconds))


async def _tasks(urls: str, seconds: float) -> Figures:
    from global_integers import AsyncIntegers

    requests = Requests()
    async with AsyncIntegers(json.loads(urls), lease=LEASE, observer=requests) as integers:
        for _ in range(4 * LEASE):
            await integers.next()
        requests.seconds.clear()
        times: list[float] = []
        ends = time.perf_counter() + seconds

        async def work() -> None:
            while (began := time.perf_counter()) < ends:
                await integers.next()
                times.append(time.perf_counter() - began)
                for _ in range(UNTIMED):
                    await integers.next()
                await asyncio.sleep(0)

        await asyncio.gather(*(work() for _ in range(100)))
        return _together(times, seconds, requests)


def _together(times: list[float], seconds: float, requests: Requests) -> Figures:
    total = len(times) * (1 + UNTIMED)
    return {"per_s": total / seconds, **percentiles(times), **requests.figures(total)}


def paced(urls: str, seconds: float) -> Figures:
    """Measure one thread that takes an integer every 100 µs, over many changes of blocks."""
    call, requests = client(urls, 5000)  # a block lasts half a second
    clock, times = time.perf_counter, list[float]()
    began = next_at = clock()
    ends = began + 2 * seconds
    while next_at < ends:
        while clock() < next_at:
            time.sleep(0.00002)
        times += sampled(call, 1)
        next_at += 0.0001
    return {"per_s": len(times) / (clock() - began), **percentiles(times), **requests.figures(len(times))}


def request(urls: str, seconds: float) -> Figures:
    """Measure a client that sends a request for each integer."""
    call, requests = client(urls, 1)
    found = each_timed(call, seconds)
    return found | requests.figures(len(requests.seconds))


def uuid4(_: str, seconds: float) -> Figures:
    """Measure random UUIDs."""
    from uuid import uuid4

    return timed(uuid4, seconds)


def mariadb(socket: str, seconds: float) -> Figures:
    """Measure an insert for each integer, over one open connection to a server on this machine."""
    connection: Any = import_module("pymysql").connect(
        unix_socket=socket, user="root", database="bench", autocommit=True
    )
    cursor = connection.cursor()
    return each_timed(lambda: cursor.execute("INSERT INTO ids VALUES (NULL)"), seconds)


if __name__ == "__main__":
    name, length, place = sys.argv[1:]
    print(json.dumps(globals()[name](place, float(length))))
