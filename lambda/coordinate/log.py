"""Writes the log, a line of JSON each: phases of counters, what is odd, and the metrics of a run.

No call is made for metrics: CloudWatch reads them from the log.
"""

import json
import sys
import time
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from integers.names import CHECK_COUNTER

from .protocol.operations import Operation, WriteRegister
from .run import RunResult, pending_regions
from .statistics import LEAST_SECONDS, Pace, Positions, RunStatistics, paces, phase_of, positions


def log_change(operation: Operation, answer: Any) -> None:
    """Log an operation that has changed a register."""
    if isinstance(operation, WriteRegister) and answer:
        new = operation.new
        layout = {"counter": new.counter, "epoch": new.epoch, "base": new.base, "limit": new.limit}
        _write("INFO", phase=phase_of(operation.old, new), **layout, regions=new.regions)


def warn_of(result: RunResult) -> None:
    """Log the counters that regions have and that have no register, and what can't be read.

    Unknown counters go on minting, and are created again only if a floor is set for them.
    """
    for counter, regions in result.unknown.items():
        warn("unknown", counter=counter, regions=list(regions))
    for key, tables in result.stray.items():
        warn("stray", counter=key, tables=list(tables))


def warn(phase: str, **fields: Any) -> None:
    """Log what the run goes on without, and why."""
    _write("WARN", phase=phase, **fields)


def _write(level: str, **fields: Any) -> None:
    # Lambda passes on a line of JSON unchanged (Lambda guide, "Using JSON log format").
    sys.stderr.write(json.dumps({"timestamp": _timestamp(datetime.now(UTC)), "level": level, **fields}) + "\n")


def _timestamp(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


NAMESPACE = "GlobalIntegers"

UNITS = {
    "Counters": "Count",
    "IntegersPerSecond": "Count/Second",
    "HoursToCeiling": "None",
    "UnfinishedSeconds": "Seconds",
    "PendingRegions": "Count",
    "LostTables": "Count",
    "Repairs": "Count",
    "Failed": "Count",
}
"""Metric → its unit. CloudWatch has none for hours."""

OF_A_REGION = ("IntegersPerSecond", "HoursToCeiling")
"""The metrics that each region has too. Every further one costs $0.30 a month for each region."""


def kind_of(event: Mapping[str, Any]) -> str:
    """Return who asks for a run, by its event, which may be a wrong one."""
    return "schedule" if "watch" in event else "deployment" if "wish" in event else "creation"


def documents(statistics: RunStatistics, ended: float, before: Positions | None) -> list[dict[str, Any]]:
    """Return the lines of a run: that of the stack, then one for each region whose pace is known.

    CloudWatch user guide, "Specification: Embedded metric format": CloudWatch makes metrics of them. Such a line has
    one value for each dimension, so each region has a line of its own.

    What the run didn't look at is left out, and costs no call: a creation of counters and a run that gave way to
    another one scan no table. A change that replaced an unfinished one counts from when it was asked for itself.

    Args:
        statistics: what the run has read and written.
        ended: when, in seconds since 1970.
        before: what an earlier run of the same process saw, if there was one.
    """
    values: dict[str, float] = {"Repairs": len(statistics.repaired)}
    if statistics.kind != "creation":  # counters may be created all the time: that doesn't prove that the schedule runs
        values["Failed"] = int(statistics.failed)
    named: dict[str, Any] = {"run": statistics.kind, "repaired": sorted(statistics.repaired)[:10]}
    record = statistics.record
    if record is not None:
        values["UnfinishedSeconds"] = 0 if record.reconciled else max(int(ended) - record.asked, 0)
    regions: dict[str, Pace] = {}
    if statistics.registers is not None and statistics.items:
        pending, lost = pending_regions(statistics.outcomes.values()), statistics.lost_tables()
        named |= {"pending": pending, "lost": lost}
        values |= {"PendingRegions": len(pending), "LostTables": len(lost)}
        values["Counters"] = len({*statistics.registers, *statistics.outcomes} - {CHECK_COUNTER})
        regions = paces(statistics.registers, statistics.items, statistics.outcomes, before, statistics.scanned)
    if regions:
        values["IntegersPerSecond"] = sum(pace.per_second for pace in regions.values())
        values["HoursToCeiling"] = min(pace.hours for pace in regions.values())
    stack = _document(ended, {"Stack": statistics.stack}, values)
    # Only a failed run of the schedule may wake somebody: a refused deployment has a user who sees it.
    stack["Run"], stack["Failed"] = statistics.kind, int(statistics.failed)
    stack["_aws"]["CloudWatchMetrics"].append(_directive(["Stack", "Run"], ["Failed"]))
    lines = [{**stack, **named}]
    for region, pace in sorted(regions.items()):
        of_region = {"IntegersPerSecond": pace.per_second, "HoursToCeiling": pace.hours}
        lines.append(_document(ended, {"Stack": statistics.stack, "Region": region}, of_region))
    return lines


class Metrics:
    """Writes the metrics of every run, and remembers the positions that the last one saw.

    The memory is the process's own. Lambda keeps a function that runs every few minutes in the same one, mostly; the
    first run in a new process measures rates since the last grant instead.
    """

    def __init__(self) -> None:
        self._before: Positions | None = None

    def write(self, statistics: RunStatistics) -> None:
        """Write the lines of a run that has just ended to the log."""
        for document in documents(statistics, time.time(), self._before):
            sys.stderr.write(json.dumps(document) + "\n")
        long_ago = self._before is None or statistics.scanned - self._before.at >= LEAST_SECONDS
        if statistics.items and long_ago:
            self._before = positions(statistics.items, statistics.scanned)


def _document(ended: float, dimensions: Mapping[str, str], values: Mapping[str, float]) -> dict[str, Any]:
    return {
        # Without these two, Lambda makes a line of level INFO of it (Lambda guide, "Log-level filtering").
        "timestamp": _timestamp(datetime.fromtimestamp(ended, UTC)),
        "level": "INFO",
        "_aws": {
            "Timestamp": int(ended * 1000),
            "CloudWatchMetrics": [_directive(list(dimensions), list(values))],
        },
        **dimensions,
        **{name: round(value, 3) for name, value in values.items()},
    }


def _directive(dimensions: list[str], names: list[str]) -> dict[str, Any]:
    return {
        "Namespace": NAMESPACE,
        "Dimensions": [dimensions],
        "Metrics": [{"Name": name, "Unit": UNITS[name]} for name in names],
    }
