"""Print what the coordinator's schedule costs a month, by counters and regions: `python -m proof.bench.schedule`.

A run with nothing to do is carried out on tables in memory, by the coordinator's own code. Every read is counted in
DynamoDB's units, by the size of the very items that would be stored, and priced (`price_list.py`). All counters
are alike: some are read, and each stands for many.
"""

from contextlib import suppress
from typing import Any

from proof.simulation.coordinator import SimulatedCoordinator  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.dynamodb.store import PAGE
from coordinate.protocol import operations as op
from coordinate.protocol.model import MAX_PAST
from coordinate.protocol.run import Delete, RunResult, ScheduledRun, run

from proof.bench import price_list
from proof.bench.figures import aligned
from proof.bench.reconcile import ABROAD, AT_HOME, HOME, StoreInMemory, reconciled, regions_and_another
from proof.simulation.expressions import size_of

CASES = (
    *((counters, 0, 3, 0) for counters in (1, 1_000, 5_000)),
    (1, 10_000, 3, 0),
    *((counters, 0, 30, 0) for counters in (1_000, 10_000)),
    (10_000, 0, 30, MAX_PAST),
)
"""Counters, deleted counters, regions, and layouts that each counter had before."""

HEAD = (
    "counters  deleted  regions  past layouts  seconds a run  read units  "
    "reads $  writes $  function $  storage $  a month $"
)

SAMPLE = PAGE - 4
"""How many counters are read at most. They fill one response to a scan, with three records beside the registers."""

OVERHEAD = 100
"""Bytes that are stored with each item (DynamoDB guide, "DynamoDB item sizes and formats")."""

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


def month(counters: int, regions: int, past: int = 0, deleted: int = 0) -> tuple[float, int, tuple[float, ...]]:
    """Return a run's seconds and read units if there is nothing to do; a month's dollars.

    These are for reads, writes, the function, and storage. Each counter had so many `past` layouts before. Further ones
    are `deleted`.
    """
    sample = min(counters + deleted, SAMPLE)
    share = (counters + deleted) / sample
    database = reconciled(regions_and_another(regions), sample, past, NOW)
    store = StoreInMemory(database, HOME, NOW)
    gone = tuple(f"tenant-{number:04}" for number in range(max(1, round(counters / share)), sample))
    for request in (Delete(gone), ScheduledRun()):  # the second one writes the report
        SimulatedCoordinator(run(request, "first", RunResult())).finish(store.carry_out)
    result, seconds, units, connected = RunResult(), 0.0, 0.0, set[str]()
    steps = run(ScheduledRun(), "schedule", result)
    with suppress(StopIteration):
        batch = next(steps)
        while True:
            longest, answers = 0.0, list[Any]()
            for operation in () if isinstance(batch, op.Parallel) else batch:  # at the same time
                scan = isinstance(operation, op.ScanRegisters | op.ScanCopies | op.ScanItems)
                each = share if scan else 1
                read, called = database.reads, database.calls.total()
                answers.append(store.carry_out(operation))
                trips = (database.calls.total() - called) * each
                if trips:
                    region = getattr(operation, "region", HOME)
                    trips += 0 if region in connected else CONNECT
                    connected.add(region)
                    longest = max(longest, trips * (AT_HOME if region == HOME else ABROAD))
                seconds += len(answers[-1]) * each * PARSE if scan else 0
                units += (database.reads - read) * each
            seconds += longest
            batch = steps.send(answers)
    assert len(result.outcomes) == sample - len(gone)
    runs = DAYS * 24 * 60 // MINUTES
    each = seconds * MEMORY * price_list.GB_SECOND.dollars + price_list.REQUEST.dollars
    reading, writing = units * price_list.READ_UNIT.dollars, LEASE_WRITES * price_list.WRITE_UNIT.dollars
    items = (item for table in database.tables.values() for item in table.items.values())
    stored = sum(size_of(item) + OVERHEAD for item in items) * share * price_list.STORED.dollars
    return seconds, round(units), (runs * reading, runs * writing, runs * each, stored)


def table() -> str:
    """Return a table of all cases."""
    rows: list[list[str]] = [[*HEAD.split("  ")]]
    for counters, deleted, regions, past in CASES:
        seconds, units, parts = month(counters, regions, past, deleted)
        dollars = (f"{part:.2f}" for part in (*parts, sum(parts)))
        rows.append([*map(str, (counters, deleted, regions, past)), f"{seconds:.1f}", str(units), *dollars])
    return aligned(rows)


if __name__ == "__main__":
    print(table())
