"""Print what the coordinator's schedule costs a month, by counters and regions: `python -m proof.bench.schedule`.

A run with nothing to do is carried out on tables in memory, by the coordinator's own code. Every read is counted in
DynamoDB's units, by the size of the very items that would be stored, and priced (`price_list.py`). All counters
are alike: a few are read, and each stands for many.
"""

from collections.abc import Collection, Mapping
from contextlib import suppress
from typing import Any

from proof.simulation.coordinator import SimulatedCoordinator  # puts `lambda` on the import path, for the imports below
from proof.simulation.world import World

# isort: split
from coordinate.dynamodb.store import PAGE as ITEMS
from coordinate.protocol import operations as op
from coordinate.protocol.model import MAX_PAST
from coordinate.protocol.run import RunResult, ScheduledRun, run

from components.settings.aws_regions import partitions
from global_integers_core.records import ADMITTED_KEY, RECORD_KEY, counter_of, layouts_key
from proof.bench import price_list
from proof.bench.figures import aligned
from proof.bench.reconcile import ABROAD, AT_HOME, reconciled_world
from proof.bench.stand_in import PAGE, size_of

CASES = (
    *((counters, 3, 0) for counters in (1, 1_000, 5_000)),
    *((counters, 30, 0) for counters in (1_000, 10_000)),
    (10_000, 30, MAX_PAST),
)
"""Counters, regions, and layouts that each counter had before."""

HEAD = "counters  regions  past layouts  seconds a run  read units  reads $  writes $  function $  a month $"

UNIT = 4096
"""Bytes of a consistent read unit (DynamoDB guide, "Read consistency")."""

SAMPLE = 50
"""How many counters are read at most. Each stands for as many as it takes."""

MEMORY = 1769 / 1024
"""GB: that of the coordinator, one whole processor."""

CONNECT = 2
"""Additional round trips of the first call to a region: TCP and TLS."""

PARSE = 0.00002
"""Seconds of processor time for each item that a scan returns. It is parsed and compared, and metrics are computed.
`python -m proof.bench.reconcile` measures it."""

LEASE_WRITES = 2
"""A run takes the run lock, and gives it back."""

DAYS, MINUTES = 30, 5

NOW = 1_795_000_000
"""Seconds since 1970, in 2026."""


def month(counters: int, regions: int, past: int = 0) -> tuple[float, int, tuple[float, ...]]:
    """Return a run's seconds and read units if there is nothing to do; a month's dollars for reads, writes, function.

    There are up to `SAMPLE` counters, or a multiple of it. Each had so many `past` layouts before.
    """
    sample = min(counters, SAMPLE)
    names = sorted(region for region, partition in partitions().items() if partition == "aws")[: regions + 1]
    home, world = names[0], reconciled_world(names, sample, past, NOW)
    SimulatedCoordinator(run(ScheduledRun(), "first", RunResult())).finish(world.carry_out)  # it writes the report
    read = reads(world)
    result, seconds, units, connected = RunResult(), 0.0, 0, set[str]()
    steps = run(ScheduledRun(), "schedule", result)
    with suppress(StopIteration):
        batch = next(steps)
        while True:
            operations = () if isinstance(batch, op.Parallel) else batch  # the counters to reconcile: there are none
            longest = 0.0
            for operation in operations:  # at the same time
                records = read[operation]
                scan = isinstance(operation, op.ScanRegisters | op.ScanCopies | op.ScanItems)
                each = counters // sample if scan else 1
                size = sum(map(size_of, records)) * each
                if not isinstance(operation, op.Clock):
                    region = getattr(operation, "region", home)
                    pages = max(1, -(-size // PAGE), -(-len(records) * each // ITEMS))
                    trips = pages + (0 if region in connected else CONNECT)
                    connected.add(region)
                    longest = max(longest, trips * (AT_HOME if region == home else ABROAD))
                seconds += len(records) * each * PARSE if scan else 0
                units += -(-size // UNIT)
            seconds += longest
            batch = steps.send([world.carry_out(operation) for operation in operations])
    assert len(result.outcomes) == sample
    runs = DAYS * 24 * 60 // MINUTES
    each = seconds * MEMORY * price_list.GB_SECOND.dollars + price_list.REQUEST.dollars
    reading, writing = units * price_list.READ_UNIT.dollars, LEASE_WRITES * price_list.WRITE_UNIT.dollars
    return seconds, units, (runs * reading, runs * writing, runs * each)


def reads(world: World) -> Mapping[op.Operation, Collection[Mapping[str, Any]]]:
    """Return the items that each operation of a run with nothing to do reads. A describe is free."""
    layouts, mirror = world.layouts.records(), world.mirror.records()
    free = (op.Clock(), op.TakeRunLock(over=False), op.DescribeLayouts(), op.DescribeMirror())
    return {
        **dict.fromkeys((*free, *map(op.DescribeTable, world.tables)), ()),
        **{op.ScanItems(region): table.records().values() for region, table in world.tables.items()},
        **{
            op.ReadRecorded(region, counter): [receipts.records()[layouts_key(counter)]]
            for region, receipts in world.receipts.items()
            for counter in receipts.recorded
        },
        op.ReadAdmitted(): [layouts[ADMITTED_KEY]],
        op.ReadRecord(): [layouts[RECORD_KEY]],
        op.ReadRecordCopy(): [mirror[RECORD_KEY]],
        op.ScanRegisters(): [record for key, record in layouts.items() if counter_of(key)],
        op.ScanCopies(): [record for key, record in mirror.items() if counter_of(key)],
    }


def table() -> str:
    """Return a table of all cases."""
    rows: list[list[str]] = [[*HEAD.split("  ")]]
    for counters, regions, past in CASES:
        seconds, units, parts = month(counters, regions, past)
        dollars = (f"{part:.2f}" for part in (*parts, sum(parts)))
        rows.append([*map(str, (counters, regions, past)), f"{seconds:.1f}", str(units), *dollars])
    return aligned(rows)


if __name__ == "__main__":
    print(table())
