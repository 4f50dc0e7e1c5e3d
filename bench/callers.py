"""Compares the client with another source of ids, over a stack on this machine: a part of `make bench`.

Each subject runs in a process of its own. The client is warmed up before the clock starts, so its blocks have grown to
the demand.
"""

import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Generator, Mapping
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from contextlib import contextmanager
from itertools import chain
from multiprocessing import get_context
from statistics import median

from bench.figures import Columns, Figures, compared
from local.paths import ROOT

sys.path.insert(0, str(ROOT / "client" / "src"))

# isort: split
from global_integers import AsyncIntegers, Integers, Requested

COLUMNS: Columns = {
    "per_s": ("integers/s", "{:,.0f}"),
    "p50_us": ("p50 µs", "{:.1f}"),
    "p99_us": ("p99 µs", "{:.1f}"),
    "p9999_us": ("p99.99 µs", "{:.0f}"),
    "requests": ("requests/integer", "{:.6f}"),
    "trip_ms": ("round trip ms", "{:.1f}"),
}

LEASE = 100_000
SAMPLES = 200_000
"""The largest number of calls that are timed one by one."""

UNTIMED = 50
"""Where several mint at once: how many calls each makes between two that are timed."""

Row = dict[str, float]
"""One subject's figures."""

Urls = Mapping[str, str]


def percentiles(times: list[float]) -> Row:
    """Return percentiles of calls' seconds."""
    times.sort()
    shares = {"p50_us": 0.5, "p99_us": 0.99, "p9999_us": 0.9999}
    return {name: times[min(int(len(times) * share), len(times) - 1)] * 1e6 for name, share in shares.items()}


def timed(call: Callable[[], object], seconds: float) -> Row:
    """Call for so many seconds. Return the rate, and percentiles of the times of further calls."""
    calls, clock = 0, time.perf_counter
    began = clock()
    while clock() < began + seconds:
        for _ in range(1000):
            call()
        calls += 1000
    rate = calls / (clock() - began)
    return {"per_s": rate, **percentiles(sampled(call, min(SAMPLES, calls)))}


def sampled(call: Callable[[], object], count: int) -> list[float]:
    """Return the seconds of each of so many calls."""
    clock = time.perf_counter
    times: list[float] = []
    for _ in range(count):
        began = clock()
        call()
        times.append(clock() - began)
    return times


class Requests(list[float]):
    """The seconds that a client's requests to mint took: its observer."""

    def __call__(self, event: object) -> None:
        """Note a request."""
        if isinstance(event, Requested) and event.subject != "health":
            self.append(event.seconds)

    def figures(self, integers: float) -> Row:
        """Return requests per integer, and the median round trip."""
        return {"requests": len(self) / integers, "trip_ms": sorted(self)[len(self) // 2] * 1e3 if self else 0.0}


def client(urls: Urls, lease: int) -> tuple[Callable[[], int], Requests]:
    """Return a client's `next` that is warmed up, and its observer."""
    requests = Requests()
    made = Integers(urls, lease=lease, observer=requests)
    for _ in range(4 * lease if lease > 1 else 10):
        made.next()
    requests.clear()
    return made.next, requests


def memory(urls: Urls, seconds: float) -> Row:
    """Return the rate within one block: of 5,000 calls during which no request ended."""
    call, requests = client(urls, LEASE)
    rates: list[float] = []
    ends = time.perf_counter() + seconds
    while time.perf_counter() < ends:
        sent = len(requests)
        began = time.perf_counter()
        for _ in range(5000):
            call()
        took = time.perf_counter() - began
        if len(requests) == sent:
            rates.append(5000 / took)
    return {"per_s": median(rates)}


def one(urls: Urls, seconds: float) -> Row:
    """Measure one thread that mints without a pause."""
    call, requests = client(urls, LEASE)
    found = timed(call, seconds)
    return found | requests.figures(found["per_s"] * seconds + SAMPLES)


def eight(urls: Urls, seconds: float) -> Row:
    """Measure eight threads that mint without a pause."""
    call, requests = client(urls, LEASE)
    ends = time.perf_counter() + seconds

    def work(_: int) -> list[float]:
        clock, mine = time.perf_counter, list[float]()
        while (began := clock()) < ends:
            call()
            mine.append(clock() - began)
            for _ in range(UNTIMED):
                call()
        return mine

    with ThreadPoolExecutor(8) as pool:
        return _together([*chain.from_iterable(pool.map(work, range(8)))], seconds, requests)


def tasks(urls: Urls, seconds: float) -> Row:
    """Measure a hundred tasks that mint without a pause."""
    return asyncio.run(_tasks(urls, seconds))


async def _tasks(urls: Urls, seconds: float) -> Row:
    requests = Requests()
    async with AsyncIntegers(urls, lease=LEASE, observer=requests) as integers:
        for _ in range(4 * LEASE):
            await integers.next()
        requests.clear()
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


def _together(times: list[float], seconds: float, requests: Requests) -> Row:
    total = len(times) * (1 + UNTIMED)
    return {"per_s": total / seconds, **percentiles(times), **requests.figures(total)}


def paced(urls: Urls, seconds: float) -> Row:
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


def request(urls: Urls, seconds: float) -> Row:
    """Measure a client that sends a request for each integer."""
    call, requests = client(urls, 1)
    ends, times = time.perf_counter() + seconds, list[float]()
    while time.perf_counter() < ends:
        times += sampled(call, 10)
    return {"per_s": len(times) / sum(times), **percentiles(times), **requests.figures(len(times))}


def uuid4(_: Urls, seconds: float) -> Row:
    """Measure random UUIDs."""
    return timed(uuid.uuid4, seconds)


SUBJECTS: Mapping[str, tuple[str, Callable[[Urls, float], Row]]] = {
    "memory": ("next(), from memory", memory),
    "one": ("next(), lease=100000", one),
    "eight": ("next(), lease=100000, 8 threads", eight),
    "tasks": ("await next(), lease=100000, 100 tasks", tasks),
    "paced": ("next(), lease=5000, 10,000 a second", paced),
    "request": ("next(), lease=1: a request each", request),
    "uuid4": ("uuid.uuid4()", uuid4),
}
"""What a reader calls it, and what measures it for so many seconds."""


def table(figures: Figures) -> str:
    """Return a table with a row per subject."""
    return compared(figures, {subject: title for subject, (title, _) in SUBJECTS.items()}, COLUMNS)


def measure(rounds: int, seconds: float) -> Figures:
    """Run every subject `rounds` times, in turn. Return the medians."""
    runs: dict[str, list[Row]] = {subject: [] for subject in SUBJECTS}
    spawn = get_context("spawn")
    with stack() as urls, ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:
        for _ in range(rounds):
            for subject, (_, run) in SUBJECTS.items():
                runs[subject].append(pool.submit(run, urls, seconds).result())
    return {subject: {c: median(run[c] for run in made) for c in made[0]} for subject, made in runs.items()}


@contextmanager
def stack() -> Generator[Urls]:
    """Deploy stack `dev` on this machine, and yield its URLs."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GLOBAL_INTEGERS_LOCAL": folder}

        def local(*arguments: str) -> str:
            command = [sys.executable, "-m", "local", *arguments]
            return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

        local("up", "--port", "0")
        try:
            yield json.loads(local("outputs", "--json"))["urls"]
        finally:
            local("down")
