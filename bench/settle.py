"""Measure how long a run of the coordinator takes, with simulated latencies between regions: `python -m bench.settle`.

The coordinator's own code (accepting, the survey, the protocol, and the threads that run it) works on tables in
memory. They answer after 150 ms if the call leaves the home region, and after 5 ms if it doesn't; a scan takes that
for every 4,000 items, about 1 MB. Signing and parsing also take processor time, about 1.5 ms per call with boto3; the
last column counts it, for one processor.
"""

import time
from threading import Lock
from typing import Any

from simulation.pulumi import decoded, wish
from simulation.world import World  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.accept import Deployment
from coordinate.operations import Clock, DescribeLayouts, DescribeMirror, DescribeTable, MayBegin, Operation, TakeLease
from coordinate.report import Result
from coordinate.request import Watch
from coordinate.run import run as run_of
from coordinate.tables import Shared
from coordinate.threads import drive

ABROAD = 0.150
AT_HOME = 0.005
CPU_PER_CALL = 0.0015
SCANNED = 4_000
"""Items in a page of a scan: 1 MB, at 250 bytes each."""
LIMIT = 900
"""Seconds that a Lambda function may run."""


class Tables:
    """A world, and the time that a call takes."""

    def __init__(self, home: str, counters: tuple[str, ...]) -> None:
        self.home = home
        self.counters = counters
        self.world = World()
        self.calls = 0
        self.lock = Lock()
        self.described: dict[Operation, Shared] = {}

    def carry_out(self, operation: Operation) -> Any:
        """Carry out one operation, after the time that the call takes."""
        if isinstance(operation, Clock | MayBegin | TakeLease):
            return self.world.carry_out(operation)
        if isinstance(operation, DescribeLayouts | DescribeMirror | DescribeTable):  # as the store shares them
            with self.lock:
                shared = self.described.setdefault(operation, Shared(lambda: self._call(operation)))
            return shared.ask()
        return self._call(operation)

    def _call(self, operation: Operation) -> Any:
        region = getattr(operation, "region", self.home)
        scan = type(operation).__name__.startswith("Scan")
        pages = -(-len(self.counters) // SCANNED) if scan else 1
        time.sleep(pages * (AT_HOME if region == self.home else ABROAD))
        with self.lock:
            self.calls += pages
            return self.world.carry_out(operation)


def run(tables: Tables, regions: tuple[str, ...] | None) -> tuple[float, int]:
    """Bring every counter to `regions`, or run as the schedule does. Return the seconds and calls that it took."""
    deployment = None
    if regions is not None:
        for region in regions:
            tables.world.make_table(region)
        record = tables.world.layouts.record
        asked = decoded(wish(regions, counters=tables.counters))
        deployment = Deployment(asked, record.number if record else 0, tables.world.now)
    tables.calls = 0
    began = time.perf_counter()
    result = drive(run_of(deployment or Watch(), "run", Result()), tables.carry_out)
    assert result.record is not None
    assert len(result.outcomes) == len(tables.counters)
    assert all(outcome.register.regions == result.record.wish.regions for outcome in result.outcomes.values())
    return time.perf_counter() - began, tables.calls


def main() -> None:
    """Print a table of runs, and how long each took."""
    print(f"{'counters':>8}  {'regions':>8}  {'what':<14}  {'calls':>7}  {'seconds':>8}  {'with signing':>12}")
    for count, size in ((100, 30), (5000, 3)):
        regions = tuple(f"region-{n}" for n in range(1, size + 1))
        tables = Tables(regions[0], tuple(f"tenant-{n}" for n in range(count)))
        for what, wanted in (("first layout", regions[:-1]), ("a region comes", regions), ("the schedule", None)):
            seconds, calls = run(tables, wanted)
            signed = max(seconds, calls * CPU_PER_CALL)
            print(f"{count:>8}  {size:>8}  {what:<14}  {calls:>7}  {seconds:>8.1f}  {signed:>12.1f}", flush=True)
    print(f"the function may take {LIMIT} s")


if __name__ == "__main__":
    main()
