"""The alarms of a deployment, as plain values: the tests evaluate them.

docs/operations.md has a paragraph for each: what it means, what to look at, what to do.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..settings.rules import EVERY_REGION, THRESHOLDS
from .metrics import Metric, Watched

FIVE_MINUTES = 300

MEANINGS = {
    "errors": "{region} answers 5xx to too many requests",
    "throttles": "Lambda refuses requests in {region}: too many at once",
    "tableThrottles": "DynamoDB refuses writes of counters in {region}: too many per second",
    "latency": "{region} is slow for 1 % of its requests",
    "unfinished": "a change that was accepted is not finished",
    "ceiling": "a region has few integers left at its present rate",
    "lostTables": "a table was deleted, recreated or restored",
    "failedRuns": "the schedule's runs of the coordinator fail",
    "noRun": "the coordinator has not run",
    "ill": "one of the alarms on the coordinator's metrics is in alarm",
}
"""What an alarm says. Its threshold follows."""

MORE = "docs/operations.md says what to do."


@dataclass(frozen=True)
class Alarm:
    """One alarm on one metric (CloudWatch API reference, PutMetricAlarm)."""

    key: str
    """What the settings call it."""
    metric: Metric
    statistic: str
    period: int
    """Seconds of which one datapoint is made, a multiple of 60. The window slides every minute."""
    comparison: Literal["GreaterThanOrEqualToThreshold", "GreaterThanThreshold", "LessThanThreshold"]
    threshold: float
    missing: Literal["zero", "notBreaching", "ignore"]
    """What a period without data is. `ignore` keeps the alarm as it was.

    `zero` is for counts that have no data while there is nothing to count. CloudWatch's evaluation range is longer
    than the alarm's periods, by how much isn't documented (user guide, "Configuring how CloudWatch alarms treat missing
    data"). So silence would be noticed late, and two bad periods far apart could count as two of three. CloudWatch may
    also ignore missing data of AWS/DynamoDB, whatever `TreatMissingData` is (API reference, PutMetricAlarm). With
    `FILL(metric, 0)`, no data are missing."""
    breaching: int = 1
    """How many of the last `periods` datapoints must breach the threshold."""
    periods: int = 1
    text: str = ""
    """What it says to whoever is woken."""
    front: Literal["", "address"] = ""
    """`address`, if it is about the callers that come by it."""

    @property
    def name(self) -> str:
        """What it is called: as its threshold, or `addressErrors` for the `errors` of the domain."""
        return f"{self.front}{self.key[0].upper()}{self.key[1:]}" if self.front else self.key

    @property
    def of_the_whole(self) -> bool:
        """Whether it is on the coordinator's metrics, so that the composite alarm joins it."""
        return self.key not in EVERY_REGION


def alarms(watched: Watched) -> list[Alarm]:
    """Return the alarms that are switched on: those of each region, then those of the whole."""
    return [alarm for alarm in _all(watched) if watched.settings.alarms[alarm.key]]


def _all(watched: Watched) -> Iterator[Alarm]:
    for region in watched.settings.regions:
        if region not in watched.settings.paused:
            yield from _regional(watched, region)
    yield from _whole(watched)


def _regional(watched: Watched, region: str) -> Iterator[Alarm]:
    """Return a region's alarms. Two bad periods of three: one burst, or one retried deployment, wakes nobody."""
    if watched.settings.function_urls:
        yield _count(watched, "errors", watched.url("Url5xxCount", region))
    yield _count(watched, "throttles", watched.url("Throttles", region))
    yield _count(watched, "tableThrottles", watched.table("WriteThrottleEvents", region))
    if watched.settings.function_urls:
        yield _latency(watched, watched.url("UrlRequestLatency", region))
    if region in watched.apis:
        # Not one alarm on an expression of both: the rule for percentiles of few samples is for a single metric.
        errors = _count(watched, "errors", watched.domain("5xx", region))
        latency = _latency(watched, watched.domain("Latency", region))
        for alarm in (errors, latency):
            text = _text(watched, alarm.key, f"the API of the address in {region}")
            yield replace(alarm, front="address", text=text)


def _count(watched: Watched, key: str, metric: Metric) -> Alarm:
    return Alarm(
        key,
        metric,
        "Sum",
        FIVE_MINUTES,
        "GreaterThanOrEqualToThreshold",
        watched.settings.alarms[key],
        "zero",
        breaching=2,
        periods=3,
        text=_text(watched, key, metric.region),
    )


def _latency(watched: Watched, metric: Metric) -> Alarm:
    return Alarm(
        "latency",
        metric,
        "p99",
        FIVE_MINUTES,
        "GreaterThanThreshold",
        watched.settings.alarms["latency"],
        "notBreaching",
        breaching=3,
        periods=3,
        text=_text(watched, "latency", metric.region),
    )


def _whole(watched: Watched) -> Iterator[Alarm]:
    """Return the alarms on the coordinator's metrics.

    Between two runs there may be a window without a datapoint, which says nothing: only `noRun` is about silence.
    """
    limits, minutes = watched.settings.alarms, watched.settings.watch_minutes
    between = minutes * 60
    lasting = max(1, min(3, 30 // minutes))  # runs: a burst between two of them is no lasting rate
    found = (
        Alarm(
            "unfinished",
            watched.stack("UnfinishedSeconds"),
            "Maximum",
            between,
            "GreaterThanThreshold",
            limits["unfinished"] * 60,
            "ignore",
        ),
        Alarm(
            "ceiling",
            watched.stack("HoursToCeiling"),
            "Minimum",
            between,
            "LessThanThreshold",
            limits["ceiling"],
            "ignore",
            breaching=lasting,
            periods=lasting,
        ),
        Alarm(
            "lostTables",
            watched.stack("LostTables"),
            "Maximum",
            between,
            "GreaterThanOrEqualToThreshold",
            limits["lostTables"],
            "ignore",
        ),
        Alarm(
            "failedRuns",
            watched.stack("Failed", Run="schedule"),
            "Sum",
            between * (limits["failedRuns"] + 1),
            "GreaterThanOrEqualToThreshold",
            limits["failedRuns"],
            "zero",
        ),
        Alarm(
            "noRun",
            watched.stack("Failed"),
            "SampleCount",
            limits["noRun"] * 60,
            "LessThanThreshold",
            1,
            "zero",
        ),
    )
    for alarm in found:
        yield replace(alarm, text=_text(watched, alarm.key))


def _text(watched: Watched, key: str, region: str = "") -> str:
    meaning = MEANINGS[key].format(region=region)
    sentence = f"{watched.names.prefix}: {meaning} ({watched.settings.alarms[key]} {THRESHOLDS[key].unit})."
    return f"{sentence} {MORE}"
