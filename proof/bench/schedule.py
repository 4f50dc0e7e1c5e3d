"""Print what the coordinator costs a month, by counters and regions: `python -m proof.bench.schedule`.

First that of a schedule with nothing to do, then that of its grants, if every counter is used every day. Runs are
carried out on tables in memory, by the coordinator's own code. Every unit is counted as DynamoDB does, by the size of
the very items that would be stored, and priced (`price_list.py`). All counters are alike: some are read, and each
stands for many.
"""

from typing import Any

from proof.simulation.coordinator import SimulatedCoordinator  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.dynamodb.store import PAGE, Store
from coordinate.protocol import operations as op
from coordinate.protocol.model import MAX_PAST, DeploymentRecord, Register
from coordinate.protocol.plan import raised
from coordinate.protocol.run import Delete, RunResult, ScheduledRun, run

from proof.bench import price_list, reconcile
from proof.bench.figures import aligned
from proof.bench.reconcile import HOME, NAMES, TOKEN, reconciled, regions_and_another
from proof.simulation.deployments import decoded
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


class StoreInMemory(Store):
    """The real store, on tables in memory in which nothing is left to do, for a run at a time that stands still."""

    def __init__(self, regions: int, counters: int, past: int = 0) -> None:
        self.database = reconciled(regions_and_another(regions), counters, past, NOW)
        super().__init__(HOME, *NAMES.values(), client_of=self.database.client)

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation, with the clock and the run lock as `handler.py` has them."""
        if isinstance(operation, op.Clock):
            return NOW
        if isinstance(operation, op.TakeRunLock):
            return self.run_lock(TOKEN).take(over=True)
        return isinstance(operation, op.MayBegin) or super().carry_out(operation)


def taken(store: StoreInMemory, share: float = 1) -> tuple[float, float, float, float]:
    """Return the seconds, read units, write units and calls of a scheduled run.

    Each counter that a scan finds stands for so many.
    """
    database, connected = store.database, set[str]()
    seconds, longest, reads, calls, written = 0.0, 0.0, 0.0, 0.0, store.database.writes

    def carry_out(operation: op.Operation) -> Any:
        nonlocal seconds, reads, calls, longest
        scan = isinstance(operation, op.ScanRegisters | op.ScanCopies | op.ScanItems)
        each, read, called = share if scan else 1, database.reads, database.calls.total()
        answer = store.carry_out(operation)
        reads += (database.reads - read) * each
        if trips := (database.calls.total() - called) * each:
            region = getattr(operation, "region", HOME)
            calls += trips
            trips += 0 if region in connected else CONNECT
            connected.add(region)
            longest = max(longest, trips * (reconcile.AT_HOME if region == HOME else reconcile.ABROAD))
        seconds += len(answer) * each * PARSE if scan else 0
        return answer

    coordinator = SimulatedCoordinator(run(ScheduledRun(), "schedule", RunResult()))
    while not coordinator.ended:
        longest = 0.0
        for _ in range(len(coordinator.todo)):  # at the same time
            coordinator.step(carry_out)
        seconds += longest
    return seconds, reads, database.writes - written, calls


def month(counters: int, regions: int, past: int = 0, deleted: int = 0) -> tuple[float, int, tuple[float, ...]]:
    """Return a run's seconds and read units if there is nothing to do; a month's dollars.

    These are for reads, writes, the function, and storage. Each counter had so many `past` layouts before. Further ones
    are `deleted`.
    """
    sample = min(counters + deleted, SAMPLE)
    share = (counters + deleted) / sample
    store = StoreInMemory(regions, sample, past)
    gone = tuple(f"tenant-{number:04}" for number in range(max(1, round(counters / share)), sample))
    SimulatedCoordinator(run(Delete(gone), "first", RunResult())).finish(store.carry_out)
    taken(store)  # it writes the report
    seconds, units, _, _ = taken(store, share)
    runs = DAYS * 24 * 60 // MINUTES
    each = seconds * MEMORY * price_list.GB_SECOND + price_list.REQUEST
    reading, writing = units * price_list.READ_UNIT, LEASE_WRITES * price_list.WRITE_UNIT
    items = (item for table in store.database.tables.values() for item in table.items.values())
    stored = sum(size_of(item) + OVERHEAD for item in items) * share * price_list.STORED
    return seconds, round(units), (runs * reading, runs * writing, runs * each, stored)


def table() -> str:
    """Return a table of all cases."""
    rows: list[list[str]] = [[*HEAD.split("  ")]]
    for counters, deleted, regions, past in CASES:
        seconds, units, parts = month(counters, regions, past, deleted)
        dollars = (f"{part:.2f}" for part in (*parts, sum(parts)))
        rows.append([*map(str, (counters, deleted, regions, past)), f"{seconds:.1f}", str(units), *dollars])
    return aligned(rows)


GRANTED = ((1_000, 3), (10_000, 30))
"""Counters and regions."""

CALL = 0.00065
"""Seconds of processor time for each call to DynamoDB. `python -m proof.bench.reconcile` measures it."""


def grants_a_day() -> float:
    """Return how often a scheduled run raises the limit of a counter that uses the same every day."""
    daily, days, every = 1_000_000, 30, 60 * MINUTES
    register = Register("", "", 1, ("a",), ("",), 1, 1, 1, NOW)
    record = DeploymentRecord("", "", 1, "", NOW, decoded(reconcile.asked(["a"], (), "")))
    granted = 0
    for second in range(0, 2 * days * 86_400, every):
        higher = raised(register, record, daily * second // 86_400, NOW + second)
        granted += higher is not None and second >= days * 86_400  # then it is used to the counter
        register = higher or register
    return granted / days


def grant(regions: int) -> tuple[float, float, float]:
    """Return the read units, write units and calls of one grant by a scheduled run, besides what any run reads."""
    some = 40
    store = StoreInMemory(regions, some)
    taken(store)  # it writes the report
    quiet = taken(store)
    items = store.database.tables[HOME, NAMES["COUNTERS_TABLE"]].items
    for name, item in items.items():
        used = int(item["issued"]["N"]) + reconcile.WINDOW // 3 * regions
        items[name] = {**item, "issued": {"N": str(used)}}
    _, reads, writes, calls = ((granting - idle) / some for granting, idle in zip(taken(store), quiet, strict=True))
    return reads, writes, calls


def grants() -> str:
    """Return a table of what the grants cost."""
    rows = [["counters", "regions", "grants a day of each", "reads $", "writes $", "function $", "a month $"]]
    daily = grants_a_day()
    for counters, regions in GRANTED:
        reads, writes, calls = grant(regions)
        each = (
            reads * price_list.READ_UNIT,
            writes * price_list.WRITE_UNIT,
            calls * CALL * MEMORY * price_list.GB_SECOND,
        )
        parts = [counters * daily * DAYS * dollars for dollars in each]
        rows.append([str(counters), str(regions), f"{daily:.1f}", *(f"{part:.2f}" for part in (*parts, sum(parts)))])
    return aligned(rows)


if __name__ == "__main__":
    print(table(), grants(), sep="\n\n")
