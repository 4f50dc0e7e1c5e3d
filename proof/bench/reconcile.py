"""Measure the coordinator at ten thousand counters in thirty regions: `python -m proof.bench.reconcile`, on Linux.

AWS's runtime has one processor, as a Lambda function of 1,769 MB has.
DynamoDB in memory (`stand_in.py`) has another processor, and answers after 5 ms at home and 150 ms elsewhere. It
speaks plain HTTP, so TLS is not in the figures. Every counter has had forty layouts before.

A part of the change of all layouts is measured, and the rest is computed from its pace.
"""

import os
import re
import time
from argparse import ArgumentParser
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import UUID

from proof.bench.stand_in import serving  # puts `lambda` on the import path, for the imports below

# isort: split
from coordinate.dynamodb.encoding import attributes_of, item_values
from coordinate.protocol.model import MAX_PAST, Copy, DeploymentRecord, Register
from coordinate.protocol.plan import wanted_items

from components.settings.aws_regions import partitions
from global_integers_core.lattice import Layout
from global_integers_core.names import DEPLOYMENTS_ALIAS
from global_integers_core.records import ADMITTED_KEY, HOME_KEY, RECORD_KEY, Recorded, layouts_key
from local.environment import isolate
from local.paths import ROOT
from proof.bench.figures import aligned
from proof.bench.runtime_api import FunctionError, Runtime
from proof.faulty_server import Fault
from proof.simulation.deployments import SimulatedSettings, decoded, desired
from proof.simulation.dynamodb import Database, Table
from proof.simulation.world import RECORDED

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

WINDOW = 1000
ISSUED = 1_234_567
"""Integers that each region has minted in each epoch."""

NAMES = {
    "LAYOUTS_TABLE": "layouts",
    "MIRROR_TABLE": "mirror",
    "COUNTERS_TABLE": "counters",
    "RECEIPTS_TABLE": "receipts",
}
"""Environment variable → name of a table."""

TOKEN = "8f14e45fceea167a/0"  # noqa: S105 (no secret)
"""As long as that of any record."""

SCHEDULED: dict[str, Any] = {"schedule": True}


def reconciled(names: Sequence[str], counters: int, changes: int, now: int, first: int = 1) -> Database:
    """Return tables in which nothing is left to do. All counters are alike, and the first region is at home.

    Each of the changes before, up to `MAX_PAST`, has replaced a region: that makes the longest history. The last of
    the names has yet to join.
    """
    database, ids = Database(metered=True), [str(UUID(int=number)) for number in range(1, len(names) + 3)]
    layouts = database.create(names[0], NAMES["LAYOUTS_TABLE"], id_=ids[0])
    mirror = database.create(names[0], NAMES["MIRROR_TABLE"], id_=ids[1])
    present = tuple(names[:-1])
    each = ISSUED * len(present)
    missing = (1 + epoch % len(present) for epoch in range(1, changes + 1))
    lists = [(*names[:place], *names[place + 1 :]) for place in missing]
    past = tuple(Layout(epoch, first + (epoch - 1) * each, regions) for epoch, regions in enumerate(lists, 1))
    base = first + changes * each
    limit = base - 1 + (ISSUED + WINDOW) * len(present)
    register = Register("", ids[0], changes + 1, present, tuple(ids[2:-1]), base, limit, WINDOW, now, 0, changes)
    wanted = decoded(asked(present, (), ids[0]))
    record = DeploymentRecord(ids[0], TOKEN, 1, "", now, wanted, reconciled=True, term=1)
    _put(layouts, [RECORD_KEY], attributes_of(record))
    _put(layouts, [ADMITTED_KEY], attributes_of(record.admitted))
    _put(mirror, [RECORD_KEY], attributes_of(Copy(record, ids[1])))
    every = (*wanted.counters, *(f"tenant-{number:04}" for number in range(1, counters)))
    _put(layouts, every, attributes_of(register))
    _put(mirror, every, attributes_of(Copy(register, ids[1])))
    recorded = Recorded((*past, register.layout), {layout.epoch: layout.base + each for layout in past[:-1]})
    before = (changes, past[-1].base + each) if past else None
    items = wanted_items(register)
    for region, id_ in zip(names, ids[2:], strict=True):
        table = database.create(region, NAMES["COUNTERS_TABLE"], id_=id_)
        receipts = database.create(region, NAMES["RECEIPTS_TABLE"], "receipt")
        if region in items:
            item = items[region]
            item = replace(item, issued=item.issued + ISSUED * item.stride, past=before)
            _put(table, every, item_values(item))
            _put(receipts, map(layouts_key, every), RECORDED.encode(recorded))
            _put(receipts, [HOME_KEY], {"home": {"S": names[0]}, "term": {"N": "1"}})
    return database


def _put(table: Table, names: Iterable[str], attributes: Mapping[str, Any]) -> None:
    """Put an item of each name. They share the attributes."""
    table.items.update((name, {**attributes, table.key: {"S": name}}) for name in names)


def regions_and_another(regions: int) -> list[str]:
    """Return so many regions, with the home region first, and one that has yet to join."""
    others = sorted(region for region, partition in partitions().items() if partition == "aws" and region != HOME)
    return [HOME, *others[:regions]]


def asked(regions: Sequence[str], leaving: Sequence[str], label: str) -> dict[str, Any]:
    """Return what a deployment asks for; the first region is at home. The settings seldom name all counters."""
    settings, layouts = SimulatedSettings(regions, leaving, ("integers",), window=WINDOW), f"{regions[0]} {label}"
    wanted = desired(settings, layouts, layouts, dict.fromkeys(regions, label))
    return wanted | {"scheduleMinutes": EVERY // 60}


def change(names: Sequence[str], database: Database) -> dict[str, Any]:
    """Return the event of a deployment that replaces the last but one of the regions by the last one."""
    *stay, leaves, comes = names
    label = database.tables[names[0], NAMES["LAYOUTS_TABLE"]].id
    return {"desired": asked([*stay, comes], [leaves], label), "follows": TOKEN, "requested": int(time.time())}


def coordinator(url: str) -> Runtime:
    """Return AWS's runtime of the coordinator, whose DynamoDB is at this URL."""
    own = {"AWS_ENDPOINT_URL_DYNAMODB": url, "PYTHONPATH": str(ROOT), "STACK": "bench-stack"}
    handler = "coordinate.handler.handler"
    return Runtime(ROOT / "lambda", "coordinator", handler, HOME, NAMES | own, qualifier=DEPLOYMENTS_ALIAS)


def main() -> None:
    """Print how long the runs take."""
    parser = ArgumentParser(prog="python -m proof.bench.reconcile", description=__doc__)
    parser.add_argument("--part", type=float, default=120, help="seconds of the change that are measured (120)")
    options = parser.parse_args()
    names = regions_and_another(REGIONS)
    processors = sorted(os.sched_getaffinity(0))[:2]  # if there is only one, both share it
    os.sched_setaffinity(0, processors[-1:])
    database = reconciled(names, COUNTERS, MAX_PAST, int(time.time()))
    database.metered = False
    print(f"{COUNTERS:,} counters in {REGIONS} regions, after {MAX_PAST} changes of layout\n")
    rows = [["", "seconds", "processor seconds", "memory MB", "counters", "calls"]]
    with serving(database, DELAYS) as server, coordinator(server.url) as function:
        os.sched_setaffinity(function.pid, processors[:1])
        function.start()

        def measured(name: str, event: Mapping[str, Any], limit: float) -> tuple[float, int]:
            """Have a run of at most `limit` seconds. Return its seconds, and the counters that are done."""
            database.calls.clear()
            function.timeout, began, (before, _) = limit, time.monotonic(), function.usage()
            try:
                done = function.invoke(event)["registered"]
            except FunctionError as error:
                found = re.search(r"(\d+) of \d+ counters", str(error))
                if not found or found[1] == "0":
                    raise
                done = int(found[1])
            seconds, (spent, memory) = time.monotonic() - began, function.usage()
            figures = (f"{seconds:.0f}", f"{spent - before:.1f}", f"{memory:.0f}", f"{done:,}")
            rows.append([name, *figures, f"{database.calls.total():,}"])
            return seconds, done

        measured("a quiet run, cold", SCHEDULED, LIMIT)
        quiet, _ = measured("a quiet run, warm", SCHEDULED, LIMIT)
        changed, done = measured("a change", change(names, database), RESERVE / 1000 + options.part)
    print(aligned(rows, names=True))
    pace = done / (changed - quiet)  # it begins when it has read all, as a quiet run does
    in_a_run = int(pace * (LIMIT - RESERVE / 1000 - quiet))
    runs = -(-COUNTERS // in_a_run)
    left = COUNTERS - (runs - 1) * in_a_run
    minutes = ((runs - 1) * -(-LIMIT // EVERY) * EVERY + quiet + left / pace) / 60
    print(
        f"\nComputed from the pace of the change: {in_a_run:,} counters in a run of {LIMIT} s; "
        f"all {COUNTERS:,} after {runs} runs and {minutes:.0f} minutes."
    )


if __name__ == "__main__":
    isolate()
    main()
