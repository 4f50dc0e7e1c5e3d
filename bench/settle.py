"""How long a change of layout takes, with real latencies between regions: `python -m bench.settle`.

The coordinator's own code (protocol, driver, threads) runs against tables in memory that answer after
150 ms where the call leaves the home region and after 5 ms where it does not. Signing and parsing cost
processor time besides: some 1.5 ms a call with boto3, which the last column adds for one processor.
"""

import time
from collections.abc import Generator
from threading import Lock
from typing import Any

from coordinate.model import Register, Wish
from coordinate.operations import Operation
from coordinate.protocol import settle
from coordinate.run import settle_all

from simulation.world import World  # first: it puts `lambda` on the import path

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

    def wish(self, regions: tuple[str, ...]) -> None:
        for world in self.worlds.values():
            world.standing = regions
            for region in regions:
                world.tables.setdefault(region, None)

    def carry_out(self, named: tuple[str, Operation]) -> Any:
        name, operation = named
        region = getattr(operation, "region", self.home)
        time.sleep(AT_HOME if region == self.home else ABROAD)
        with self.lock:
            self.calls += 1
            return self.worlds[name].carry_out(operation)


def named(name: str, steps: Any) -> Generator[Any, Any, Any]:
    """The counter's steps, each operation with its counter's name."""
    try:
        batch = next(steps)
        while True:
            batch = steps.send((yield [(name, operation) for operation in batch]))
    except StopIteration as stop:
        return stop.value


def change(counters: Counters, regions: tuple[str, ...]) -> tuple[float, int, list[Register]]:
    """Settle every counter on `regions`: seconds, calls, what stands."""
    counters.wish(regions)
    counters.calls = 0
    began = time.perf_counter()
    settlings = (named(name, settle(name, Wish(regions), "token")) for name in counters.worlds)
    stand, refused, _ = settle_all(settlings, counters.carry_out, lambda: True)  # pyright: ignore[reportArgumentType]
    assert not refused
    return time.perf_counter() - began, counters.calls, stand


def main() -> None:
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
