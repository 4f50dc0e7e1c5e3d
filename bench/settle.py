"""Measure the coordinator at ten thousand counters in thirty regions: `python -m bench.settle`.

The function's own handler runs in a process that has one processor, as a Lambda function of 1,769 MB has, with boto3 and
its signatures. A stand-in for DynamoDB (`stand_in.py`) has another processor, and answers after 5 ms at home and 150 ms
elsewhere. Plain HTTP: TLS isn't in the figures. Every counter has had forty layouts before.

The change of all layouts is measured in a part of it, of two minutes, and the rest is computed from its pace;
`--all` carries it out, as a deployment and runs of the schedule.
"""

import json
import os
import re
import resource
import sys
import time
from argparse import ArgumentParser
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.connection import Connection
from typing import Any

import simulation  # noqa: F401 (puts `lambda` on the import path, for the imports below)

# isort: split
from coordinate.encoding import (
    accepted_attributes,
    copy_attributes,
    item_values,
    record_attributes,
    record_copy_attributes,
    register_attributes,
    wish_of,
)
from coordinate.model import MAX_PAST, Copy, Record, RecordCopy, Register
from coordinate.plan import wanted_items

from bench.stand_in import Counts, Stored, Table, Tables, serve, size_of
from integers.layouts import Layout
from integers.records import history_text, issued_in, layouts_key

COUNTERS, REGIONS = 10_000, 30
ABROAD, AT_HOME = 0.150, 0.005
"""Seconds after which the stand-in answers."""

LIMIT, EVERY = 900, 300
"""Seconds that a run may take, and from one scheduled run to the next."""

PART = 120
"""Seconds of the change that are measured."""

WINDOW = 100_000_000
ISSUED = 1_234_567
"""Integers that each region has minted in each epoch."""

NAMES = {"LAYOUTS_TABLE": "layouts", "MIRROR_TABLE": "mirror", "COUNTERS_TABLE": "counters"}
"""Environment variable → name of a table."""

WATCH: dict[str, Any] = {"watch": True}


@dataclass(frozen=True)
class Run:
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
        """When it was asked first, which is before the first counter is begun."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        self.asked = self.asked or time.monotonic()
        return int((self._ends - time.monotonic()) * 1000)


def coordinator(connection: Connection, port: int, home: str, processor: int | None) -> None:
    """Run the handler for each (event, seconds that it may take) that comes, until the other end is closed."""
    _pin(processor)
    os.environ |= {
        **{"AWS_REGION": home, "AWS_ACCESS_KEY_ID": "key", "AWS_SECRET_ACCESS_KEY": "secret", "STACK": "bench-stack"},
        **{"AWS_ENDPOINT_URL_DYNAMODB": f"http://127.0.0.1:{port}", "MINT_FUNCTION": "mint", **NAMES},
    }
    os.environ["BOTO_DISABLE_CRT"] = "true"  # Lambda's own boto3 signs without it
    from coordinate.handler import CoordinatorError, handler  # noqa: PLC0415 (only this process has boto3)

    sys.stderr = open(os.devnull, "w")  # noqa: SIM115 (the log of a process that ends)
    while True:
        try:
            event, limit = connection.recv()
        except EOFError:
            return
        context = Context(limit)
        began, processor_before = time.monotonic(), time.process_time()
        reply, error = dict[str, Any](), ""
        try:
            reply = handler(event, context)
        except CoordinatorError as refused:
            error = str(refused)
        ended = time.monotonic()
        found = re.match(r"(\d+) of", error)
        connection.send(
            Run(
                ended - began,
                (context.asked or ended) - began,
                time.process_time() - processor_before,
                resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
                int(found[1]) if found else reply.get("registered", 0),
                error,
            )
        )


def stand_in(connection: Connection, names: Sequence[str], counters: int, processor: int | None) -> None:
    """Serve a world in which nothing is left to do."""
    _pin(processor)
    serve(connection, world(names, counters), Delay(names[0]))


class Delay:
    """How long an answer takes."""

    def __init__(self, home: str) -> None:
        self._home = home

    def __call__(self, region: str) -> float:
        """Return seconds."""
        return AT_HOME if region == self._home else ABROAD


def world(names: Sequence[str], counters: int) -> Tables:
    """Return the tables after `MAX_PAST` changes of layout. The last of the names is of a region that has yet to join.

    Each change has replaced a region, which is what makes the longest history.
    """
    tables = Tables()
    layouts, mirror = (tables.make(names[0], NAMES[name]) for name in ("LAYOUTS_TABLE", "MIRROR_TABLE"))
    regions = {name: tables.make(name, NAMES["COUNTERS_TABLE"]) for name in names}
    now, present = int(time.time()), tuple(names[:-1])
    past = tuple(
        Layout(epoch, 1 + (epoch - 1) * ISSUED * len(present), _without(names, epoch)) for epoch in range(1, MAX_PAST + 1)
    )
    base = 1 + MAX_PAST * ISSUED * len(present)
    ids = tuple(regions[region].id for region in present)
    limit = base - 1 + WINDOW * len(present)
    register = Register("", layouts.id, MAX_PAST + 1, present, ids, base, limit, WINDOW, now, past)
    record = Record(layouts.id, 1, 0, now, wish_of(asked(present, (), names[0], layouts.id)), settled=True)
    keys = [f"tenant-{number}" for number in range(counters)]
    keys[:1] = record.wish.counters
    _write(layouts, ["/deployment"], record_attributes(record))
    _write(layouts, ["/accepted"], accepted_attributes(record.accepted))
    _write(mirror, ["/deployment"], record_copy_attributes(RecordCopy(record, mirror.id)))
    for table, attributes in ((layouts, register_attributes(register)), (mirror, copy_attributes(Copy(register, mirror.id)))):
        _write(table, keys, attributes)
    history = {"epoch": {"N": str(register.epoch)}, "history": {"S": history_text(register.layouts)}}
    for region, item in wanted_items(register).items():
        remembered = {issued_in(layout.epoch): {"N": str(layout.base + ISSUED * len(present))} for layout in past}
        values = item_values(item) | {"issued": {"N": str(item.issued + ISSUED * item.stride)}} | remembered
        _write(regions[region], keys, values)
        _write(regions[region], [layouts_key(key) for key in keys], history)
    return tables


def _without(names: Sequence[str], epoch: int) -> tuple[str, ...]:
    return tuple(name for number, name in enumerate(names) if number != 1 + epoch % (len(names) - 1))


def _write(table: Table, keys: Sequence[str], attributes: Mapping[str, Any]) -> None:
    values = {name: value for name, value in attributes.items() if name != "counter"}
    stored = Stored(values, size_of(values))
    for key in keys:
        table.write(key, stored)


def asked(regions: Sequence[str], leaving: Sequence[str], home: str, label: str) -> str:
    """Return what a deployment asks for, as JSON. The settings seldom name all counters."""
    wish = {
        **{"regions": list(regions), "leaving": list(leaving), "counters": ["integers"], "floors": {}},
        **{"window": WINDOW, "headroom": 10_000, "watchMinutes": EVERY // 60},
        **{"home": f"{home} {label}", "first": f"{home} {label}", "tables": {}},
    }
    return json.dumps(wish, sort_keys=True, separators=(",", ":"))


def taken(tables: Tables) -> Counts:
    """Return what was done since the last time."""
    counts, tables.counts = tables.counts, Counts()
    counts.seconds = time.process_time()
    return counts


def home_id(tables: Tables) -> str:
    """Return the id of the layouts table."""
    return next(table.id for (_, name), table in tables.tables.items() if name == NAMES["LAYOUTS_TABLE"])


def _pin(processor: int | None) -> None:
    if processor is not None:
        os.sched_setaffinity(0, {processor})


class Bench:
    """The two processes."""

    def __init__(self, names: Sequence[str], world: Connection, port: int, processors: Sequence[int | None]) -> None:
        self.names = names
        self._world = world
        self._port = port
        self._processors = processors

    def ask(self, what: Any) -> Any:
        """Return what a function says of the stand-in's tables."""
        self._world.send(what)
        return self._world.recv()

    @contextmanager
    def function(self) -> Generator[Connection]:
        """A new process of the function. It is sent events and seconds, and sends a Run each."""
        with _process(coordinator, self._port, self.names[0], self._processors[0]) as connection:
            yield connection

    def run(self, function: Connection, event: Mapping[str, Any], limit: float = LIMIT) -> tuple[Run, Counts]:
        """Carry out one run. Return what it took, and what it did; its `seconds` are the stand-in's processor time."""
        before: Counts = self.ask(taken)
        function.send((event, limit))
        run: Run = function.recv()
        counts: Counts = self.ask(taken)
        counts.seconds -= before.seconds
        return run, counts

    def change(self) -> dict[str, Any]:
        """Return the event of a deployment that replaces a region."""
        *stay, leaves, comes = self.names
        wish = json.loads(asked([*stay, comes], [leaves], self.names[0], self.ask(home_id)))
        return {"wish": wish, "follows": 1, "asked": int(time.time())}


@contextmanager
def bench(names: Sequence[str], counters: int) -> Generator[Bench]:
    """A world of so many counters, in all regions but the last of these."""
    here = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    processors: Sequence[int | None] = here[:2] if len(here) > 1 else (None, None)
    with _process(stand_in, names, counters, processors[1]) as connection:
        yield Bench(names, connection, connection.recv(), processors)


@contextmanager
def _process(target: Any, *arguments: Any) -> Generator[Connection]:
    spawn = get_context("spawn")  # a process of its own memory
    ours, theirs = spawn.Pipe()
    process = spawn.Process(target=target, args=(theirs, *arguments), daemon=True)
    process.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        process.join()


def main() -> None:
    """Print how long the runs take, and what they write."""
    from components.partitions import partitions

    parser = ArgumentParser("bench.settle")
    parser.add_argument("--all", action="store_true", help="carry out the whole change")
    parser.add_argument("--counters", type=int, default=COUNTERS)
    parser.add_argument("--regions", type=int, default=REGIONS)
    parser.add_argument("--part", type=float, default=PART)
    options = parser.parse_args()
    names = sorted(region for region, partition in partitions().items() if partition == "aws")[: options.regions + 1]
    with bench(names, options.counters) as measured:
        with measured.function() as function:
            for what in ("cold", "warm"):
                run, counts = measured.run(function, WATCH)
                print(what, run, counts, flush=True)
        with measured.function() as function:
            limit = LIMIT if options.all else 60 + options.part
            run, counts = measured.run(function, measured.change(), limit)
            print(run, counts, flush=True)


if __name__ == "__main__":
    main()
