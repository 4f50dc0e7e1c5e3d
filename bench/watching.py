"""Print what the coordinator's schedule costs a month, by counters and regions: `python -m bench.watching`.

A run with nothing to do is carried out on tables in memory, by the coordinator's own code. Every read is counted in
DynamoDB's units, by the size of the very items that would be stored, and priced as in docs/performance.md.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast
from uuid import UUID

from simulation.world import Layouts, Mirror, Table, World  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.accept import Deployment
from coordinate.encoding import (
    accepted_attributes,
    copy_attributes,
    item_values,
    record_attributes,
    record_copy_attributes,
    register_attributes,
    wish_of,
)
from coordinate.model import Wish
from coordinate.operations import (
    Clock,
    DescribeLayouts,
    DescribeMirror,
    DescribeTable,
    Operation,
    ReadAccepted,
    ReadRecord,
    ReadRecordCopy,
    ScanCopies,
    ScanItems,
    ScanRegisters,
    TakeLease,
)
from coordinate.reading import Each, Steps
from coordinate.report import Result
from coordinate.request import Watch
from coordinate.run import run

from components.partitions import partitions
from integers.records import history_text

CASES = ((1, 3), (100, 3), (1_000, 3), (5_000, 3), (1, 30), (100, 30), (1_000, 30))
"""Counters and regions."""

READ, WRITE, REQUEST, GB_SECOND = 0.125e-6, 0.625e-6, 0.20e-6, 13.3334e-6
"""Dollars: a read unit, a write unit, a Lambda request, a GB-second on arm64."""

MEMORY = 1769 / 1024
"""GB: that of the coordinator, one whole processor."""

UNIT, PAGE = 4096, 2**20
"""Bytes: of one consistent read unit, and of one page of a scan (DynamoDB guide, "Read consistency", "Scan")."""

ABROAD, AT_HOME = 0.150, 0.005
"""Seconds of a call to another region, and in the home region."""

CONNECT = 2
"""Additional round trips of the first call to a region: TCP and TLS."""

PARSE = 0.0004
"""Seconds of processor time per KB that is read: what boto3 takes to parse small items."""

LEASE_WRITES = 2
"""A run takes the lease, and gives it back."""

DAYS, MINUTES = 30, 5

NOW = 1_795_000_000
"""Seconds since 1970, in 2026."""


LAYOUTS = str(UUID(int=1))
"""The id of the layouts table."""


@dataclass
class Meter:
    """Carries operations to a world, and counts what they would cost on AWS."""

    world: World
    home: str
    reads: int = 0
    seconds: float = 0.0
    connected: set[str] = field(default_factory=set[str])

    def batch(self, operations: Sequence[Operation]) -> list[Any]:
        """Carry out operations at the same time."""
        answers = [self.world.carry_out(operation) for operation in operations]
        sizes = [self._bytes(operation, answer) for operation, answer in zip(operations, answers, strict=True)]
        waits = [self._wait(operation, size) for operation, size in zip(operations, sizes, strict=True)]
        self.seconds += max(waits, default=0.0) + sum(sizes) / 1024 * PARSE
        self.reads += sum(-(-size // UNIT) for size in sizes)
        return answers

    def _wait(self, operation: Operation, size: int) -> float:
        if isinstance(operation, Clock):
            return 0.0
        region = getattr(operation, "region", self.home)
        trips = max(1, -(-size // PAGE)) + (0 if region in self.connected else CONNECT)
        self.connected.add(region)
        return trips * (AT_HOME if region == self.home else ABROAD)

    def _bytes(self, operation: Operation, answer: Any) -> int:
        """Return the size of what is read; a describe is free, and a read of nothing costs one unit."""
        match operation:
            case Clock() | TakeLease() | DescribeLayouts() | DescribeMirror() | DescribeTable():
                return 0
            case ReadAccepted():
                return size_of(accepted_attributes(answer))
            case ReadRecord():
                return size_of(record_attributes(answer))
            case ReadRecordCopy():
                return size_of(record_copy_attributes(answer))
            case ScanRegisters():
                return sum(size_of(register_attributes(register)) for register in answer.values())
            case ScanCopies():
                return sum(size_of(copy_attributes(copy)) for copy in answer.values())
            case ScanItems(region):
                kept = self.world.tables[region].counters
                return sum(
                    size_of({"counter": {"S": name}, **item_values(item)})
                    + size_of({"counter": {"S": f"{name}/layouts"}, "history": {"S": history_text(kept[name].layouts)}})
                    for name, item in answer.items()
                )
            case _:
                raise TypeError(f"{operation} is not one of a run with nothing to do")


def size_of(attributes: Mapping[str, Any]) -> int:
    """Return the bytes of an item (DynamoDB guide, "DynamoDB item sizes and formats")."""
    return sum(len(name) + _value(value) for name, value in attributes.items())


def _value(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "L":
            return 3 + sum(1 + _value(element) for element in cast("list[Any]", content))
        case "M":
            return 3 + len(content) + size_of(content)
        case _:
            return 1


@dataclass(frozen=True)
class Month:
    """What the schedule costs a month, in dollars, and a run's seconds."""

    seconds: float
    reads: float
    writes: float
    function: float

    @property
    def total(self) -> float:
        """All of it."""
        return self.reads + self.writes + self.function


def month(counters: int, regions: int) -> Month:
    """Return what the schedule costs a month if there is nothing to do."""
    names = sorted(region for region, partition in partitions().items() if partition == "aws")[:regions]
    world = World(layouts=Layouts(LAYOUTS), mirror=Mirror(str(UUID(int=2))))
    for number, region in enumerate(names, start=3):
        world.tables[region] = Table(str(UUID(int=number)))
    created = [f"tenant-{number}" for number in range(counters)]
    deploy(world, _wish(names, created), follows=0)
    deploy(world, _wish(names, created[:1]), follows=1)  # the settings seldom name all counters
    meter = Meter(world, names[0])
    drive(run(Watch(), "watch", Result()), meter.batch)
    runs = DAYS * 24 * 60 // MINUTES
    return Month(
        meter.seconds,
        runs * meter.reads * READ,
        runs * LEASE_WRITES * WRITE,
        runs * (meter.seconds * MEMORY * GB_SECOND + REQUEST),
    )


def deploy(world: World, wish: Wish, follows: int) -> None:
    """Carry out a deployment."""
    deployment = Deployment(wish, follows, NOW)
    drive(run(deployment, "deployment", Result()), lambda batch: [world.carry_out(each) for each in batch])


def drive(steps: Steps[Any], carry_out: Callable[[Sequence[Operation]], list[Any]]) -> Any:
    """Carry out the steps to their end, one counter after the other. Return what they return."""
    try:
        batch = next(steps)
        while True:
            if isinstance(batch, Each):
                batch = steps.send([drive(part, carry_out) for part in batch.steps])
            else:
                batch = steps.send(carry_out(batch))
    except StopIteration as stop:
        return stop.value


def _wish(regions: list[str], counters: list[str]) -> Wish:
    label = datetime.fromtimestamp(NOW, UTC).isoformat(timespec="milliseconds").removesuffix("+00:00")
    home = f"{regions[0]} {LAYOUTS}"  # a stream's label is shorter
    wish = {
        "regions": regions,
        "leaving": [],
        "counters": counters,
        "floors": {},
        "window": 100_000_000,
        "headroom": 10_000,
        "watchMinutes": MINUTES,
        "home": home,
        "first": home,
        "tables": dict.fromkeys(regions, label),
    }
    return wish_of(json.dumps(wish))


def table() -> str:
    """Return a table of all cases."""
    lines = ["counters  regions  seconds a run  reads $  writes $  function $  a month $"]
    for counters, regions in CASES:
        cost = month(counters, regions)
        lines.append(
            f"{counters:>8}  {regions:>7}  {cost.seconds:>13.1f}  {cost.reads:>7.2f}  {cost.writes:>8.2f}  "
            f"{cost.function:>10.2f}  {cost.total:>9.2f}"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    print(table())
