"""Measure how long a change of layout takes, with simulated latencies between regions: `python -m bench.settle`.

The coordinator's own code (the protocol, and the threads that run it) works on tables in memory. They
answer after 150 ms if the call leaves the home region, and after 5 ms if it doesn't. Signing and parsing
also take processor time, about 1.5 ms per call with boto3; the last column counts it, for one processor.
"""

import time
from collections.abc import Generator
from threading import Lock
from typing import Any

from simulation.world import World  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.model import Register, Wish
from coordinate.operations import Operation
from coordinate.protocol import settle
from coordinate.run import settle_all

ABROAD = 0.150
AT_HOME = 0.005
CPU_PER_CALL = 0.0015
LIMIT = 900
"""Seconds that a Lambda function may run."""


class Counters:
    """A world for every counter, and the time that a call takes."""

    def __init__(self, names: list[str], regions: tuple[str, ...]) -> None:
        self.home = regions[0]
        self.calls = 0
        self.lock = Lock()
        self.worlds = {name: World(standing=regions) for name in names}

    def deploy(self, regions: tuple[str, ...]) -> None:
        """Make the tables of these regions and record that they are asked for."""
        for world in self.worlds.values():
            world.stand(regions)
            for region in regions:
                world.make_table(region)

    def carry_out(self, named: tuple[str, Operation]) -> Any:
        """Carry out one operation of the named counter, after the time that the call takes."""
        name, operation = named
        region = getattr(operation, "region", self.home)
        time.sleep(AT_HOME if region == self.home else ABROAD)
        with self.lock:
            self.calls += 1
            return self.worlds[name].carry_out(operation)


def named(name: str, steps: Any) -> Generator[Any, Any, Any]:
    """Return the counter's steps, each operation with the counter's name."""
    try:
        batch = next(steps)
        while True:
            batch = steps.send((yield [(name, operation) for operation in batch]))
    except StopIteration as stop:
        return stop.value


def change(counters: Counters, regions: tuple[str, ...]) -> tuple[float, int, list[Register]]:
    """Bring every counter to `regions`. Return the seconds and calls that it took, and the registers."""
    counters.deploy(regions)
    counters.calls = 0
    began = time.perf_counter()
    settlings = (named(name, settle(name, Wish(regions), "token")) for name in counters.worlds)
    stand, refused, _ = settle_all(settlings, counters.carry_out, lambda: True)  # pyright: ignore[reportArgumentType]
    assert not refused
    return time.perf_counter() - began, counters.calls, stand


def main() -> None:
    """Print a table of changes, and how long each took."""
    print(f"{'counters':>8}  {'regions':>8}  {'what':<14}  {'calls':>7}  {'seconds':>8}  {'with signing':>12}")
    for count, size in ((100, 30), (5000, 3)):
        regions = tuple(f"region-{n}" for n in range(1, size + 1))
        counters = Counters([f"tenant-{n}" for n in range(count)], regions[:-1])
        for what, wish in (("first layout", regions[:-1]), ("a region comes", regions), ("nothing", regions)):
            seconds, calls, stand = change(counters, wish)
            assert len(stand) == count
            assert all(register.regions == wish for register in stand)
            signed = max(seconds, calls * CPU_PER_CALL)
            print(f"{count:>8}  {len(wish):>8}  {what:<14}  {calls:>7}  {seconds:>8.1f}  {signed:>12.1f}", flush=True)
    print(f"the function may take {LIMIT} s")


if __name__ == "__main__":
    main()
