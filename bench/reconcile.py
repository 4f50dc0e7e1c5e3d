"""Measure the coordinator at ten thousand counters in thirty regions: `python -m bench.reconcile`.

The function's own handler, with boto3, runs in a process that has one processor, as a Lambda function of 1,769 MB has.
A stand-in for DynamoDB (`stand_in.py`) has another processor, and answers after 5 ms at home and 150 ms elsewhere. It
speaks plain HTTP, so TLS is not in the figures. Every counter has had forty layouts before.

A part of the change of all layouts is measured, and the rest is computed from its pace.
"""

import json
import os
import re
import resource
import sys
import time
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from uuid import UUID

from simulation.world import CounterKey, Layouts, Mirror, SimulatedTable, World  # puts `lambda` on the import path

# isort: split
from coordinate.protocol.model import MAX_PAST, Copy, DeploymentRecord, RecordCopy, Register, desired_state_of
from coordinate.protocol.plan import wanted_items

from bench.stand_in import Counts, Stored, StoredTable, Tables, process, serve, size_of
from integers.lattice import Layout

COUNTERS, REGIONS = 10_000, 30
HOME = "us-east-1"
ABROAD, AT_HOME = 0.150, 0.005
"""Seconds after which the stand-in answers."""

LIMIT, EVERY = 900, 300
"""Seconds that a run may take, and from one scheduled run to the next."""

RESERVE = 60_000
"""As in `coordinate/handler.py`, which imports boto3."""

WINDOW = 100_000_000
ISSUED = 1_234_567
"""Integers that each region has minted in each epoch."""

TENANT = "tenant-0001"
"""The counter that stands for all but the first."""

NAMES = {"LAYOUTS_TABLE": "layouts", "MIRROR_TABLE": "mirror", "COUNTERS_TABLE": "counters"}
"""Environment variable → name of a table."""

WATCH: dict[str, Any] = {"watch": True}


@dataclass(frozen=True)
class MeasuredRun:
    """What one run of the handler took."""

    seconds: float
    scanned: float
    """Seconds until the first counter was begun, or until the end."""
    processor: float
    """Seconds of processor time."""
    memory: float
    """MB: the largest resident size of the process so far."""
    done: int
    """Counters that have what was asked for."""
    error: str
    """What it refused; empty if it succeeded."""


class Context:
    """Lambda's, for one run."""

    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:coordinator"

    def __init__(self, limit: float) -> None:
        self._ends = time.monotonic() + limit
        self.asked: float | None = None
        """When it was asked first: before the first counter is begun."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        self.asked = self.asked or time.monotonic()
        return int((self._ends - time.monotonic()) * 1000)


def coordinator(connection: Connection, port: int, home: str, processor: int | None) -> None:
    """Run the handler for each (event, seconds that it may take) that comes, until the other end is closed."""
    _pin(processor)
    os.environ |= NAMES | {
        "AWS_REGION": home,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{port}",
        "BOTO_DISABLE_CRT": "true",  # a signature in Python: the function can't rely on a library for it
        "STACK": "bench-stack",
    }
    from coordinate.handler import CoordinatorError, handler

    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (the log; the process ends with it)
    while True:
        try:
            event, limit = connection.recv()
        except EOFError:
            return
        context = Context(limit)
        began, spent = time.monotonic(), time.process_time()
        reply, error = dict[str, Any](), ""
        try:
            reply = handler(event, context)
        except CoordinatorError as refused:
            error = str(refused)
        ended, found = time.monotonic(), re.match(r"(\d+) of", error)
        connection.send(
            MeasuredRun(
                ended - began,
                (context.asked or ended) - began,
                time.process_time() - spent,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                int(found[1]) if found else reply.get("registered", 0),
                error,
            )
        )


def stand_in(connection: Connection, names: Sequence[str], counters: int, processor: int | None) -> None:
    """Serve a world in which nothing is left to do."""
    _pin(processor)
    serve(connection, world(names, counters), lambda region: AT_HOME if region == names[0] else ABROAD)


def _pin(processor: int | None) -> None:
    if processor is not None:
        os.sched_setaffinity(0, {processor})


def settled(names: Sequence[str], counters: int, changes: int, now: int) -> World:
    """Return tables in which nothing is left to do. All counters stand alike.

    Each of the changes before has replaced a region: that makes the longest history.

    Args:
        names: regions; the last one has yet to join.
        counters: how many there are.
        changes: how many layouts there were before, up to `MAX_PAST`.
        now: when the limit was set, in seconds since 1970.
    """
    ids = [str(UUID(int=number)) for number in range(1, len(names) + 3)]
    world = World(layouts=Layouts(ids[0]), mirror=Mirror(ids[1]), now=now)
    world.tables |= {name: SimulatedTable(id_) for name, id_ in zip(names, ids[2:], strict=True)}
    present = tuple(names[:-1])
    each = ISSUED * len(present)
    past = tuple(Layout(epoch, 1 + (epoch - 1) * each, _without(names, epoch)) for epoch in range(1, changes + 1))
    base = 1 + changes * each
    limit = base - 1 + WINDOW * len(present)
    register = Register("", ids[0], changes + 1, present, tuple(ids[2:-1]), base, limit, WINDOW, now, past)
    desired = desired_state_of(asked(present, (), names[0], ids[0]))
    world.layouts.record = DeploymentRecord(ids[0], 1, 0, now, desired, reconciled=True)
    world.mirror.record = RecordCopy(world.layouts.record, ids[1])
    last = {layout.epoch: layout.base + each for layout in past}
    for counter in (*desired.counters, *(f"tenant-{number:04}" for number in range(1, counters))):
        world.layouts.registers[counter] = replace(register, counter=counter)
        world.mirror.copies[counter] = Copy(world.layouts.registers[counter], ids[1])
        for region, item in wanted_items(register).items():
            item = replace(item, issued=item.issued + ISSUED * item.stride)
            world.tables[region].counters[counter] = CounterKey(item, dict(last), register.layouts)
    return world


def world(names: Sequence[str], counters: int) -> Tables:
    """Return the stand-in's tables after `MAX_PAST` changes of layout. Counters share their attributes."""
    tables, model = Tables(), settled(names, 2, MAX_PAST, int(time.time()))
    here = {(names[0], NAMES["LAYOUTS_TABLE"]): model.layouts, (names[0], NAMES["MIRROR_TABLE"]): model.mirror}
    regions = {(name, NAMES["COUNTERS_TABLE"]): table for name, table in model.tables.items()}
    for place, table in (here | regions).items():
        made = tables.tables[place] = StoredTable(table.id)
        for key, record in table.records().items():
            attributes = {name: value for name, value in record.items() if name != "counter"}
            tenants = (key.replace(TENANT, f"tenant-{number:04}") for number in range(1, counters))
            made.items |= dict.fromkeys(tenants if TENANT in key else [key], Stored(attributes, size_of(attributes)))
    return tables


def _without(names: Sequence[str], epoch: int) -> tuple[str, ...]:
    return tuple(name for number, name in enumerate(names) if number != 1 + epoch % (len(names) - 1))


def asked(regions: Sequence[str], leaving: Sequence[str], home: str, label: str) -> str:
    """Return what a deployment asks for, as JSON. The settings seldom name all counters."""
    desired = {
        "regions": list(regions),
        "leaving": list(leaving),
        "counters": ["integers"],
        "floors": {},
        "window": WINDOW,
        "headroom": 10_000,
        "watchMinutes": EVERY // 60,
        "home": f"{home} {label}",
        "first": f"{home} {label}",
        "tables": dict.fromkeys(regions, label),
    }
    return json.dumps(desired, sort_keys=True, separators=(",", ":"))


def taken(tables: Tables) -> Counts:
    """Return what was done since the last time."""
    counts, tables.counts = tables.counts, Counts()
    counts.seconds = time.process_time()
    return counts


def home_id(tables: Tables) -> str:
    """Return the id of the layouts table."""
    return next(table.id for (_, name), table in tables.tables.items() if name == NAMES["LAYOUTS_TABLE"])


@dataclass
class Measured:
    """The two processes' connections, and what they did."""

    function: Connection
    tables: Connection
    counters: int

    def run(self, event: Mapping[str, Any], limit: float = LIMIT) -> tuple[MeasuredRun, Counts]:
        """Carry out one run. Return what it took, and what it did; its `seconds` are the stand-in's processor time."""
        before: Counts = self.ask(taken)
        self.function.send((event, limit))
        run: MeasuredRun = self.function.recv()
        counts: Counts = self.ask(taken)
        counts.seconds -= before.seconds
        return run, counts

    def ask(self, what: Any) -> Any:
        """Return what a function says of the stand-in's tables."""
        self.tables.send(what)
        return self.tables.recv()

    def quiet(self, name: str) -> None:
        """Carry out a scheduled run with nothing to do, and print what it took."""
        run, counts = self.run(WATCH)
        if run.error or run.done != self.counters:
            raise SystemExit(f"{run.done} of {self.counters} counters: {run.error}")
        print(
            f"{name:<12}  {run.seconds:>7.0f}  {run.processor:>17.1f}  {run.memory:>9.0f}  {counts.calls.total():>5,}  "
            f"{counts.reads:>10,}",
            flush=True,
        )

    def change(self, names: Sequence[str], part: float) -> None:
        """Replace a region for as many counters as a run does in `part` seconds, and print what that took.

        The last two columns are shares of a processor. Where the coordinator's is far from all of it, other programs
        had it, or the calls were too few to fill it. Where the stand-in's is, the stand-in was too slow.
        """
        *stay, leaves, comes = names
        desired = json.loads(asked([*stay, comes], [leaves], names[0], self.ask(home_id)))
        event = {"wish": desired, "follows": 1, "asked": int(time.time())}
        run, counts = self.run(event, RESERVE / 1000 + part)
        if not run.done:
            raise SystemExit(f"no counter was changed in {part:.0f} s: {run.error}")
        working = run.seconds - run.scanned
        each = counts.calls.total() - counts.calls["Scan"]
        print(
            f"{run.seconds:>17.0f}  {run.scanned:>15.0f}  {run.memory:>9.0f}  {run.done:>8,}  "
            f"{60 * run.done / working:>8.0f}  {each / run.done:>15.0f}  {run.processor / run.seconds:>9.0%}  "
            f"{counts.seconds / run.seconds:>8.0%}"
        )
        in_a_run = int(run.done / working * (LIMIT - RESERVE / 1000 - run.scanned))
        runs = -(-self.counters // in_a_run)
        left = self.counters - (runs - 1) * in_a_run
        minutes = ((runs - 1) * -(-LIMIT // EVERY) * EVERY + run.scanned + left * working / run.done) / 60
        print(
            f"measured: {run.done:,} counters. Computed from their pace: {in_a_run:,} counters in a run of {LIMIT} s; "
            f"all {self.counters:,} after {runs} runs and {minutes:.0f} minutes."
        )
        largest = ", ".join(f"{table} {size:,}" for table, size in sorted(counts.largest.items()))
        print(f"bytes of the largest items that were written: {largest}")


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how long the runs take, and what they write."""
    from components.settings.aws_regions import partitions  # the measured processes don't need it

    parser = ArgumentParser(prog="python -m bench.reconcile", description=__doc__)
    parser.add_argument("--counters", type=int, default=COUNTERS, help="how many (default: %(default)s)")
    parser.add_argument("--regions", type=int, default=REGIONS, help="how many (default: %(default)s)")
    parser.add_argument("--part", type=float, default=120, help="seconds of the change that are measured (120)")
    options = parser.parse_args(arguments)
    others = sorted(region for region, partition in partitions().items() if partition == "aws" and region != HOME)
    names = [HOME, *others[: options.regions]]
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    processors: Sequence[int | None] = here[:2] if len(here) > 1 else (None, None)
    with process(stand_in, names, options.counters, processors[1]) as tables:
        function = coordinator, tables.recv(), HOME, processors[0]
        print(f"{options.counters:,} counters in {options.regions} regions, after {MAX_PAST} changes of layout\n")
        print("a quiet run   seconds  processor seconds  memory MB  calls  read units")
        with process(*function) as connection:
            for name in ("cold", "warm"):
                Measured(connection, tables, options.counters).quiet(name)
        print(
            "\na change  seconds  before it works  memory MB  counters  a minute  calls a counter  processor  stand-in"
        )
        with process(*function) as connection:
            Measured(connection, tables, options.counters).change(names, options.part)


if __name__ == "__main__":
    main()
