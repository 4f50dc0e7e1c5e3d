"""Measures a run, and writes its metrics to the log, from which CloudWatch reads them: no call is made for them."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from global_integers_core.names import CHECK_COUNTER

from .log import write
from .protocol.model import Absent, DeploymentRecord, Item, Register, item_in
from .protocol.plan import wanted_items
from .protocol.reconcile import Outcome
from .protocol.run import RunResult, pending_regions
from .protocol.scan import TablesScan

NAMESPACE = "GlobalIntegers"

UNITS = {
    "UnfinishedSeconds": "Seconds",
    "WindowLeft": "Percent",
    "LostTables": "Count",
    "FailedRuns": "Count",
    "PendingRegions": "Count",
    "Repairs": "Count",
    "IntegersPerSecond": "Count/Second",
}
"""Metric → its unit. Each costs $0.30 a month, so a value that neither an alarm nor the dashboard needs is in the log
line only."""

OF_ALARMS = ("UnfinishedSeconds", "WindowLeft", "LostTables", "FailedRuns")
"""The metrics that every stack has."""

OF_DASHBOARD = ("PendingRegions", "Repairs")
"""Those that the dashboard needs too."""

OF_A_REGION = ("IntegersPerSecond", "WindowLeft")
"""Those that it needs of each region."""


@dataclass
class RunStatistics:
    """What a run shows in its metrics."""

    stack: str
    """`<project>-<stack>`."""
    kind: str
    """Who asked for the run: `schedule`, `deployment`, `creation`, `deletion` or `grant`."""
    result: RunResult
    dashboard: bool = False
    """Whether the stack has a dashboard, which needs more metrics than the alarms."""
    failed: bool = True
    """Whether it was refused or failed: true until it has succeeded."""


def lost_tables(scan: TablesScan, record: DeploymentRecord | None) -> list[str]:
    """Return the tables that were found gone, recreated, restored or without a register's item, as `region table`.

    A region that doesn't answer isn't among them. Nor is the layouts table while it is gone: the run fails then.
    """
    without = {
        region
        for name, register in scan.registers.items()
        for region, known in zip(register.regions, register.ids, strict=True)
        if known is not None and _is_lost(scan.items[region], scan.ids[region], known, name)
    }
    lost = [f"{region} counters" for region in scan.items if region in without]
    here = [copy.original for copy in scan.copies.values() if copy.mirror_id == scan.mirror_id]
    # Registers are put back before the scan, and their copies follow after it.
    if any(each.layouts_id != scan.layouts_id for each in (*here, *scan.registers.values())) or any(
        each.regions and each.counter not in scan.registers for each in here
    ):
        lost.append("home layouts")
    emptied = bool(scan.registers) and not scan.copies and record is not None and record.report != "{}"
    if emptied or any(copy.mirror_id != scan.mirror_id for copy in scan.copies.values()):
        lost.append("home mirror")
    return lost


def _is_lost(items: Mapping[str, Item | Absent] | Absent, id_: str | Absent, known: str, name: str) -> bool:
    if items is Absent.UNREACHABLE or id_ is Absent.UNREACHABLE:
        return False
    return isinstance(items, Absent) or id_ != known or name not in items


LEAST_SECONDS = 30
"""A rate is measured over at least this time. What was minted in one second says little of the next hour."""


def rates(scan: TablesScan, outcomes: Mapping[str, Outcome], before: TablesScan | None) -> dict[str, dict[str, float]]:
    """Return the metrics `OF_A_REGION` of each region that answered and of which a rate is known.

    What is left is that of the counter with the least, in percent of its window, 0 to 100. After a run that could raise
    all limits it is 75 or more. `outcomes` are those of the run that has scanned, as far as it got. `before` is what an
    earlier run of the same process saw.
    """
    found: dict[str, list[tuple[float, float]]] = {}
    for counter, register in scan.registers.items():
        first = wanted_items(register)
        outcome = outcomes.get(counter, Outcome(register, register.regions))
        after = first if outcome.register is register else wanted_items(outcome.register)
        for region in register.regions:
            item = _item(scan, region, counter)
            if item is None or item.epoch != register.epoch or item.held:
                continue
            rate = _rate(region, register, first[region], item, before, scan.at)
            if rate is None:
                continue
            current = item if region in outcome.pending else after.get(region, item)
            if current.epoch == item.epoch:
                left = (max(item.ceiling, current.ceiling) - item.issued) / item.stride
            else:
                left = (current.ceiling - current.issued) / current.stride
            percent = min(100.0, 100 * left / outcome.register.window)
            found.setdefault(region, []).append((rate, percent))
    return {
        region: {
            "IntegersPerSecond": sum(rate for rate, _ in counters),
            "WindowLeft": min(percent for _, percent in counters),
        }
        for region, counters in found.items()
    }


def _item(scan: TablesScan, region: str, counter: str) -> Item | None:
    item = item_in(scan.items.get(region, Absent.GONE), counter)
    return item if isinstance(item, Item) else None


def _rate(
    region: str, register: Register, first: Item, item: Item, before: TablesScan | None, now: float
) -> float | None:
    """Return a counter's integers per second in one region; None if it was seen for too short a time.

    It is measured since the run that is remembered, or else since the limit was granted: then it is an average, and
    a region that is behind the others seems slower than it is.
    """
    start, seconds = first.issued, now - (before.at if before is not None else now)
    if before is not None and seconds >= LEAST_SECONDS:
        seen = _item(before, region, register.counter)
        start = seen.issued if seen is not None and seen.epoch == item.epoch else start
    else:
        seconds = now - register.granted
        if seconds < LEAST_SECONDS:
            return None
        granted_at = register.limit - register.window * len(register.regions)
        start += max(granted_at - start, 0) // item.stride * item.stride
    return max(item.issued - start, 0) / item.stride / seconds


def documents(statistics: RunStatistics, ended: float, before: TablesScan | None) -> list[dict[str, Any]]:
    """Return the lines of a run: that of the stack, then for a dashboard one for each region whose pace is known.

    CloudWatch user guide, "Specification: Embedded metric format": CloudWatch makes metrics of what a line names as
    such. It has one value for each dimension, so each region has a line of its own.

    What the run didn't look at is left out, and costs no call. `ended` is in seconds since 1970, `before` is what an
    earlier run of the same process saw.
    """
    scan, outcomes, record = statistics.result.scan, statistics.result.outcomes, statistics.result.record
    repaired = sorted(outcomes.keys() & {*scan.broken})
    named: dict[str, Any] = {"Run": statistics.kind, "Failed": int(statistics.failed), "repaired": repaired[:10]}
    values: dict[str, float] = {"Repairs": len(repaired)}
    if statistics.kind in ("schedule", "deployment"):  # others may run all the time: that doesn't prove that it runs
        # Only a failed scheduled run may wake somebody: a refused deployment has a user who sees it.
        values["FailedRuns"] = int(statistics.failed and statistics.kind == "schedule")
    if record is not None:
        values["UnfinishedSeconds"] = 0 if record.reconciled else max(int(ended) - record.requested, 0)
    regions: dict[str, dict[str, float]] = {}
    if scan.items:
        pending, lost = pending_regions(outcomes.values()), lost_tables(scan, record)
        named |= {"pending": pending, "lost": lost, "Counters": len({*scan.registers, *outcomes} - {CHECK_COUNTER})}
        values |= {"PendingRegions": len(pending), "LostTables": len(lost)}
        regions = {region: _rounded(pace) for region, pace in sorted(rates(scan, outcomes, before).items())}
    if regions:
        named["regions"] = regions
        values["WindowLeft"] = min(pace["WindowLeft"] for pace in regions.values())
    stack = {"Stack": statistics.stack}
    if not statistics.dashboard:
        return [{**_document(ended, stack, values, OF_ALARMS), **named}]
    of_regions = (_document(ended, {**stack, "Region": region}, pace, OF_A_REGION) for region, pace in regions.items())
    return [{**_document(ended, stack, values, (*OF_ALARMS, *OF_DASHBOARD)), **named}, *of_regions]


class Metrics:
    """Writes the metrics of every run, and remembers the items that the last one saw.

    The memory is the process's own. Lambda keeps a function that runs every few minutes in the same one, mostly; the
    first run in a new process measures rates since the last grant instead.
    """

    def __init__(self) -> None:
        self._before: TablesScan | None = None

    def write(self, statistics: RunStatistics) -> None:
        """Write the lines of a run that has just ended to the log."""
        for document in documents(statistics, time.time(), self._before):
            write("INFO", **document)  # without a level and a time, Lambda adds them (guide, "Log-level filtering")
        scan = statistics.result.scan
        if scan.items and (self._before is None or scan.at - self._before.at >= LEAST_SECONDS):
            self._before = TablesScan(items=scan.items, at=scan.at)


def _document(
    ended: float, dimensions: Mapping[str, str], values: Mapping[str, float], metrics: Sequence[str]
) -> dict[str, Any]:
    """Return a line with these values. It is of the format only if some of them are metrics."""
    line = {**dimensions, **_rounded(values)}
    named = [{"Name": name, "Unit": UNITS[name]} for name in metrics if name in values]
    directive = {"Namespace": NAMESPACE, "Dimensions": [list(dimensions)], "Metrics": named}
    return {"_aws": {"Timestamp": int(ended * 1000), "CloudWatchMetrics": [directive]}, **line} if named else line


def _rounded(values: Mapping[str, float]) -> dict[str, float]:
    return {name: round(value, 3) for name, value in values.items()}
