"""Measure the coordinator at ten thousand counters in thirty regions: `python -m proof.bench.reconcile`, on Linux.

The function's own handler runs in a process that has one processor, as a Lambda function of 1,769 MB has.
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
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from multiprocessing import get_context
from pathlib import Path
from typing import Any, NamedTuple
from uuid import UUID

from proof.simulation.world import (  # puts `lambda` on the import path
    Layouts,
    Mirror,
    SimulatedReceipts,
    SimulatedTable,
    World,
)

# isort: split
from coordinate.protocol.model import MAX_PAST, Copy, DeploymentRecord, Register, desired_state_of
from coordinate.protocol.plan import wanted_items

from global_integers_core.lattice import Layout
from global_integers_core.records import Recorded
from local.environment import isolate
from proof.bench.figures import aligned
from proof.bench.stand_in import KEYS, Stored, StoredTable, Tables, serving, size_of
from proof.faulty_server import Fault

COUNTERS, REGIONS = 10_000, 30
HOME = "us-east-1"
ABROAD, AT_HOME = 0.150, 0.005
"""Seconds after which the stand-in answers."""

DELAYS = (
    Fault(region=HOME, delay=(AT_HOME, AT_HOME)),
    Fault(matches=lambda request: request.scope[0] != HOME, delay=(ABROAD, ABROAD)),
)

LIMIT, EVERY = 900, 300
"""Seconds that a run may take, and from one scheduled run to the next."""

RESERVE = 60_000
"""As in `coordinate/handler.py`."""

WINDOW = 100_000_000
ISSUED = 1_234_567
"""Integers that each region has minted in each epoch."""

TENANT = "tenant-0001"
"""The counter that stands for all but the first."""

NAMES = {
    "LAYOUTS_TABLE": "layouts",
    "MIRROR_TABLE": "mirror",
    "COUNTERS_TABLE": "counters",
    "ARCHIVE_TABLE": "archive",
    "RECEIPTS_TABLE": "receipts",
}
"""Environment variable → name of a table."""

TOKEN = "8f14e45fceea167a/0"  # noqa: S105 (no secret)
"""As long as that of any record."""

SCHEDULED: dict[str, Any] = {"schedule": True}


class MeasuredRun(NamedTuple):
    """What one run of the handler took, in seconds and MB."""

    seconds: float
    scanned: float
    """Until the first counter was begun, or until the end."""
    processor: float
    memory: float
    """The largest resident size of the process so far."""
    done: int
    """Counters that have what was asked for."""
    error: str


class Context:
    """Lambda's, for one run."""

    invoked_function_arn = "arn:aws:lambda:us-east-1:123456789012:function:coordinator:deployments"

    def __init__(self, limit: float) -> None:
        self._ends = time.monotonic() + limit
        self._times = 0
        self.asked: float | None = None
        """When it was asked the second time: before the first counter is begun. The first is for the calls' limit."""

    def get_remaining_time_in_millis(self) -> int:
        """Return the milliseconds that are left."""
        self._times += 1
        if self._times == 2:
            self.asked = time.monotonic()
        return int((self._ends - time.monotonic()) * 1000)


def begin(url: str, processor: int) -> None:
    """Prepare this process for the coordinator's runs, as a function whose AWS is at this URL."""
    os.sched_setaffinity(0, {processor})
    os.environ |= NAMES | {
        "AWS_REGION": HOME,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_ENDPOINT_URL_DYNAMODB": url,
        "STACK": "bench-stack",
    }
    sys.stderr = Path(os.devnull).open("w")  # noqa: SIM115 (the log; the process ends with it)


def run(event: Mapping[str, Any], limit: float = LIMIT) -> MeasuredRun:
    """Run the handler, which may take `limit` seconds."""
    from coordinate.handler import CoordinatorError, handler

    context = Context(limit)
    began, spent = time.monotonic(), time.process_time()
    reply, error = dict[str, Any](), ""
    try:
        reply = handler(dict(event), context)
    except CoordinatorError as refused:
        error = str(refused)
    ended, found = time.monotonic(), re.match(r"(\d+) of", error)
    return MeasuredRun(
        ended - began,
        (context.asked or ended) - began,
        time.process_time() - spent,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        int(found[1]) if found else reply.get("registered", 0),
        error,
    )


def reconciled_world(names: Sequence[str], counters: int, changes: int, now: int) -> World:
    """Return tables in which nothing is left to do. All counters are alike.

    Each of the changes before, up to `MAX_PAST`, has replaced a region: that makes the longest history. The last of
    the names has yet to join.
    """
    ids = [str(UUID(int=number)) for number in range(1, len(names) + 3)]
    world = World(layouts=Layouts(ids[0]), mirror=Mirror(ids[1]), now=now)
    world.tables |= {name: SimulatedTable(id_) for name, id_ in zip(names, ids[2:], strict=True)}
    world.receipts |= {name: SimulatedReceipts() for name in names}
    assert world.archive is not None
    present = tuple(names[:-1])
    each = ISSUED * len(present)
    missing = (1 + epoch % len(present) for epoch in range(1, changes + 1))
    lists = [(*names[:place], *names[place + 1 :]) for place in missing]
    past = tuple(Layout(epoch, 1 + (epoch - 1) * each, regions) for epoch, regions in enumerate(lists, 1))
    base = 1 + changes * each
    limit = base - 1 + WINDOW * len(present)
    register = Register("", ids[0], changes + 1, present, tuple(ids[2:-1]), base, limit, WINDOW, now, changes)
    desired = desired_state_of(json.dumps(asked(present, (), ids[0]), sort_keys=True, separators=(",", ":")))
    world.layouts.record = DeploymentRecord(ids[0], TOKEN, 1, "", now, desired, "integers", reconciled=True)
    world.mirror.record = Copy(world.layouts.record, ids[1])
    last = {layout.epoch: layout.base + each for layout in past}
    before = (changes, last.pop(changes)) if past else None
    recorded = Recorded((*past, register.layout), last)
    for counter in (*desired.counters, *(f"tenant-{number:04}" for number in range(1, counters))):
        world.layouts.registers[counter] = replace(register, counter=counter)
        world.mirror.copies[counter] = Copy(world.layouts.registers[counter], ids[1])
        if past:
            world.archive.layouts[counter] = past
        for region, item in wanted_items(register).items():
            item = replace(item, issued=item.issued + ISSUED * item.stride, past=before)
            world.tables[region].items[counter], world.receipts[region].recorded[counter] = item, recorded
    return world


def world(names: Sequence[str], counters: int) -> Tables:
    """Return the stand-in's tables after `MAX_PAST` changes of layout. Counters share their attributes."""
    tables, model = Tables(), reconciled_world(names, 2, MAX_PAST, int(time.time()))
    home = {"LAYOUTS_TABLE": model.layouts, "MIRROR_TABLE": model.mirror, "ARCHIVE_TABLE": model.archive}
    found: dict[tuple[str, str], Any] = {(names[0], NAMES[name]): table for name, table in home.items()}
    found |= {(name, NAMES["COUNTERS_TABLE"]): table for name, table in model.tables.items()}
    found |= {(name, NAMES["RECEIPTS_TABLE"]): table for name, table in model.receipts.items()}
    for place, table in found.items():
        made = tables.tables[place] = StoredTable(getattr(table, "id", ""))
        for key, record in table.records().items():
            attributes = {name: value for name, value in record.items() if name not in KEYS}
            tenants = (key.replace(TENANT, f"tenant-{number:04}") for number in range(1, counters))
            made.items |= dict.fromkeys(tenants if TENANT in key else [key], Stored(attributes, size_of(attributes)))
    return tables


def asked(regions: Sequence[str], leaving: Sequence[str], label: str) -> dict[str, Any]:
    """Return what a deployment asks for; the first region is at home. The settings seldom name all counters."""
    return {
        "regions": list(regions),
        "leaving": list(leaving),
        "counters": ["integers"],
        "floors": {},
        "window": WINDOW,
        "headroom": 10_000,
        "scheduleMinutes": EVERY // 60,
        "layoutsLabel": f"{regions[0]} {label}",
        "firstLayoutsLabel": f"{regions[0]} {label}",
        "defaultCounter": "integers",
        "defaultChosen": False,
        "tableLabels": dict.fromkeys(regions, label),
    }


def change(names: Sequence[str], tables: Tables) -> dict[str, Any]:
    """Return the event of a deployment that replaces the last but one of the regions by the last one."""
    *stay, leaves, comes = names
    label = tables.tables[names[0], NAMES["LAYOUTS_TABLE"]].id
    return {"desired": asked([*stay, comes], [leaves], label), "follows": TOKEN, "requested": int(time.time())}


def main(arguments: Sequence[str] | None = None) -> None:
    """Print how long the runs take."""
    from components.settings.aws_regions import partitions  # the measured process doesn't need it

    parser = ArgumentParser(prog="python -m proof.bench.reconcile", description=__doc__)
    parser.add_argument("--counters", type=int, default=COUNTERS, help="how many (default: %(default)s)")
    parser.add_argument("--regions", type=int, default=REGIONS, help="how many (default: %(default)s)")
    parser.add_argument("--part", type=float, default=120, help="seconds of the change that are measured (120)")
    parser.add_argument("--conflicts", type=float, default=0, help="the share of transactions that conflict (0)")
    options = parser.parse_args(arguments)
    others = sorted(region for region, partition in partitions().items() if partition == "aws" and region != HOME)
    names = [HOME, *others[: options.regions]]
    processors = sorted(os.sched_getaffinity(0))[:2]  # if there is only one, both share it
    os.sched_setaffinity(0, processors[-1:])
    tables = world(names, options.counters)
    tables.conflicts = options.conflicts
    conflicts = f"; {options.conflicts:.0%} of transactions conflict" if options.conflicts else ""
    print(
        f"{options.counters:,} counters in {options.regions} regions, after {MAX_PAST} changes of layout{conflicts}\n"
    )
    with (
        serving(tables.answer, DELAYS) as server,
        ProcessPoolExecutor(1, get_context("spawn"), begin, (server.url, processors[0])) as coordinator,
    ):
        rows = [["a quiet run", "seconds", "processor seconds", "memory MB", "calls"]]
        for name in ("cold", "warm"):
            tables.calls.clear()
            quiet = coordinator.submit(run, SCHEDULED).result()
            if quiet.error or quiet.done != options.counters:
                raise SystemExit(f"{quiet.done} of {options.counters} counters: {quiet.error}")
            measured = (f"{quiet.seconds:.0f}", f"{quiet.processor:.1f}", f"{quiet.memory:.0f}")
            rows.append([name, *measured, f"{tables.calls.total():,}"])
        print(aligned(rows, names=True), flush=True)
        tables.calls.clear()
        spent = time.process_time()
        changed = coordinator.submit(run, change(names, tables), RESERVE / 1000 + options.part).result()
        spent = time.process_time() - spent
    if not changed.done:
        raise SystemExit(f"no counter was changed in {options.part:.0f} s: {changed.error}")
    pace = changed.done / (changed.seconds - changed.scanned)
    in_a_run = int(pace * (LIMIT - RESERVE / 1000 - changed.scanned))
    runs = -(-options.counters // in_a_run)
    left = options.counters - (runs - 1) * in_a_run
    minutes = ((runs - 1) * -(-LIMIT // EVERY) * EVERY + changed.scanned + left / pace) / 60
    calls = (tables.calls.total() - tables.calls["Scan"]) / changed.done
    # The last two columns are shares of a processor. Where the coordinator's is far from all of it, other programs had
    # it, or the calls were too few to fill it. Where the stand-in's is, the stand-in was too slow.
    columns = {
        "a change": "",
        "seconds": f"{changed.seconds:.0f}",
        "before it works": f"{changed.scanned:.0f}",
        "memory MB": f"{changed.memory:.0f}",
        "counters": f"{changed.done:,}",
        "a minute": f"{60 * pace:.0f}",
        "calls a counter": f"{calls:.0f}",
        "processor": f"{changed.processor / changed.seconds:.0%}",
        "stand-in": f"{spent / changed.seconds:.0%}",
    }
    print(
        "\n" + aligned([list(columns), list(columns.values())]),
        f"measured: {changed.done:,} counters. Computed from their pace: {in_a_run:,} counters in a run of {LIMIT} s; "
        f"all {options.counters:,} after {runs} runs and {minutes:.0f} minutes.",
        sep="\n",
    )


if __name__ == "__main__":
    isolate()
    main()
