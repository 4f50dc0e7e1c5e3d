"""Writes a run's metrics as log lines, from which CloudWatch makes metrics: no call, no write, no wait.

CloudWatch user guide, "Specification: Embedded metric format". Such a line has one value for each dimension, so each
region has a line of its own beside that of the stack.
"""

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from integers.names import CHECK_COUNTER

from .report import pending_regions
from .statistics import LEAST_SECONDS, Pace, Positions, RunStatistics, paces, positions

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


@dataclass(frozen=True)
class RunOf:
    """A run that has ended."""

    stack: str
    """`<project>-<stack>`."""
    kind: str
    """Who asked for it: `schedule`, `deployment` or `creation`."""
    failed: bool
    """Whether it was refused or failed."""
    ended: float
    """Seconds since 1970."""


def kind_of(event: Mapping[str, Any]) -> str:
    """Return who asks for a run, by its event, which may be a wrong one."""
    return "schedule" if "watch" in event else "deployment" if "wish" in event else "creation"


def documents(run: RunOf, statistics: RunStatistics, before: Positions | None) -> list[dict[str, Any]]:
    """Return the lines of a run: that of the stack, then one for each region whose pace is known.

    What the run didn't look at is left out, and costs no call: a creation of counters and a run that gave way to
    another one scan no table. A change that replaced an unfinished one counts from when it was asked for itself.

    Args:
        run: the run.
        statistics: what it read and wrote.
        before: what an earlier run of the same process saw, if there was one.
    """
    values: dict[str, float] = {"Repairs": len(statistics.repaired)}
    if run.kind != "creation":  # callers may create counters all the time: that doesn't prove that the schedule runs
        values["Failed"] = int(run.failed)
    named: dict[str, Any] = {"run": run.kind, "repaired": sorted(statistics.repaired)[:10]}
    record = statistics.record
    if record is not None:
        values["UnfinishedSeconds"] = 0 if record.reconciled else max(int(run.ended) - record.asked, 0)
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
    stack = _document(run, {"Stack": run.stack}, values)
    # Only a failed run of the schedule may wake somebody: a refused deployment has a user who sees it.
    stack["Run"], stack["Failed"] = run.kind, int(run.failed)
    stack["_aws"]["CloudWatchMetrics"].append(_directive(["Stack", "Run"], ["Failed"]))
    return [
        {**stack, **named},
        *(
            _document(
                run,
                {"Stack": run.stack, "Region": region},
                {"IntegersPerSecond": pace.per_second, "HoursToCeiling": pace.hours},
            )
            for region, pace in sorted(regions.items())
        ),
    ]


class Metrics:
    """Writes the metrics of every run, and remembers the positions that the last one saw.

    The memory is the process's own. Lambda keeps a function that runs every few minutes in the same one, mostly; the
    first run in a new process measures rates since the last grant instead.
    """

    def __init__(self) -> None:
        self._before: Positions | None = None

    def write(self, run: RunOf, statistics: RunStatistics) -> None:
        """Write a run's lines to the log."""
        for document in documents(run, statistics, self._before):
            sys.stderr.write(json.dumps(document) + "\n")
        long_ago = self._before is None or statistics.scanned - self._before.at >= LEAST_SECONDS
        if statistics.items and long_ago:
            self._before = positions(statistics.items, statistics.scanned)


def _document(run: RunOf, dimensions: Mapping[str, str], values: Mapping[str, float]) -> dict[str, Any]:
    at = datetime.fromtimestamp(run.ended, UTC)
    return {
        # Without these two, Lambda makes a line of level INFO of it (Lambda guide, "Log-level filtering").
        "timestamp": at.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "level": "INFO",
        "_aws": {
            "Timestamp": int(run.ended * 1000),
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
