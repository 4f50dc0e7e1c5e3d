"""Measures what a stack on one machine takes: `python -m bench.machine`.

So many tasks of a web service, with one client, each ask for an integer without a pause. The server, the functions and
the tasks share the machine.
"""

import argparse
import asyncio
import json
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from bench.callers import stack
from local.paths import ROOT

CALLERS = (1, 20, 200)


class MachineFigures(NamedTuple):
    """What some callers got: `p50` and `slowest` are a call's seconds."""

    callers: int
    per_s: float
    p50: float
    slowest: float
    errors: int


async def measure(urls: dict[str, str], callers: int, seconds: float, lease: int) -> MachineFigures:
    """Let callers mint for so many seconds, each one integer after the other."""
    from global_integers import AsyncIntegers, GlobalIntegersError

    times: list[float] = []
    errors = 0
    async with AsyncIntegers(urls, lease=lease) as integers:
        await integers.next()
        began = time.monotonic()

        async def mint() -> None:
            nonlocal errors
            while (start := time.monotonic()) < began + seconds:
                try:
                    await integers.next()
                    times.append(time.monotonic() - start)
                except GlobalIntegersError:
                    errors += 1

        await asyncio.gather(*(mint() for _ in range(callers)))
        took = time.monotonic() - began
    times.sort()
    return MachineFigures(callers, len(times) / took, times[len(times) // 2], times[-1], errors)


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.machine", description=__doc__)
    parser.add_argument("--seconds", type=float, default=10, help="for each number of callers (10)")
    parser.add_argument("--lease", type=int, default=1, help="the client's lease (1: off, every integer is a request)")
    options = parser.parse_args()
    sys.path.insert(0, str(ROOT / "client" / "src"))
    print("callers  integers/s  p50 s  slowest s  errors")
    with TemporaryDirectory() as folder, stack(Path(folder) / "stack") as found:
        urls = json.loads(found)
        for callers in CALLERS:  # the first ones start the functions
            made = asyncio.run(measure(urls, callers, options.seconds, options.lease))
            print(f"{callers:7}  {made.per_s:10.0f}  {made.p50:5.2f}  {made.slowest:9.2f}  {made.errors:6}")


if __name__ == "__main__":
    main()
