"""The alarms of a deployment, as plain values. docs/operations.md has a paragraph for each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from ..settings.args import Settings
from ..settings.rules import EVERY_REGION, THRESHOLDS
from .stack_metrics import Metric, StackMetrics

FIVE_MINUTES = 300

ABOVE = "GreaterThanThreshold"
AT_LEAST = "GreaterThanOrEqualToThreshold"
BELOW = "LessThanThreshold"

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
    comparison: str
    threshold: float
    missing: Literal["zero", "notBreaching", "ignore"]
    """What a period without data is. `ignore` keeps the alarm as it was.

    `zero`, by `FILL(metric, 0)`, is for counts that have no data while there is nothing to count. CloudWatch evaluates
    more than the alarm's periods; how many isn't documented (user guide, "Configuring how CloudWatch alarms treat
    missing data"). So silence would be noticed late, and two bad periods far apart could count as two of three.
    CloudWatch may also ignore missing data of AWS/DynamoDB (API reference, PutMetricAlarm)."""
    breaching: int = 1
    """How many of the last `periods` datapoints must breach the threshold."""
    periods: int = 1
    of_domain: bool = False
    """Whether it is about the callers of the domain."""

    @property
    def name(self) -> str:
        """What it is called: as its threshold, or `domainErrors` for the `errors` of the domain."""
        return f"domain{self.key[0].upper()}{self.key[1:]}" if self.of_domain else self.key

    @property
    def of_the_whole(self) -> bool:
        """Whether it is on the coordinator's metrics, so that the composite alarm joins it."""
        return self.key not in EVERY_REGION

    def text(self, settings: Settings) -> str:
        """Return its description."""
        region = f"the API of the domain in {self.metric.region}" if self.of_domain else self.metric.region
        of = THRESHOLDS[self.key]
        return f"{settings.prefix}: {of.meaning.format(region=region)} ({settings.alarms[self.key]} {of.unit}). {MORE}"


def alarms(metrics: StackMetrics) -> list[Alarm]:
    """Return the alarms that are switched on: those of each region, then those of the whole."""
    settings = metrics.settings
    minting = [region for region in settings.regions if region not in settings.paused]
    found = [*(alarm for region in minting for alarm in _regional(metrics, region)), *_whole(metrics)]
    return [alarm for alarm in found if settings.alarms[alarm.key]]


def _regional(metrics: StackMetrics, region: str) -> Iterator[Alarm]:
    """Return a region's alarms. Two bad periods of three: one burst, or one retried deployment, is no alarm."""
    limits = metrics.settings.alarms

    def count(key: str, metric: Metric) -> Alarm:
        return Alarm(key, metric, "Sum", FIVE_MINUTES, AT_LEAST, limits[key], "zero", breaching=2, periods=3)

    def latency(metric: Metric) -> Alarm:
        limit = limits["latency"]
        return Alarm("latency", metric, "p99", FIVE_MINUTES, ABOVE, limit, "notBreaching", breaching=3, periods=3)

    if metrics.settings.function_urls:
        yield count("errors", metrics.url("Url5xxCount", region))
    yield count("throttles", metrics.url("Throttles", region))
    yield count("tableThrottles", metrics.table("WriteThrottleEvents", region))
    if metrics.settings.function_urls:
        # Not `UrlRequestLatency`: AWS recommends Average or Max for it, so it may have no percentiles. For this one,
        # CloudWatch's user guide recommends an alarm on a percentile ("Recommended alarms").
        yield latency(metrics.url("Duration", region))
    if region in metrics.apis:
        # Not one alarm on an expression of both: the rule for percentiles of few samples is for a single metric.
        yield replace(count("errors", metrics.domain("5xx", region)), of_domain=True)
        yield replace(latency(metrics.domain("Latency", region)), of_domain=True)


def _whole(metrics: StackMetrics) -> list[Alarm]:
    """Return the alarms on the coordinator's metrics. A window without a datapoint may lie between two runs."""
    limits, minutes, stack = metrics.settings.alarms, metrics.settings.schedule_minutes, metrics.stack
    between, ceiling, failed = minutes * 60, limits["ceiling"], limits["failedRuns"]
    lasting = max(1, min(3, 30 // minutes))  # runs: a burst between two of them is no lasting rate
    return [
        Alarm("unfinished", stack("UnfinishedSeconds"), "Maximum", between, ABOVE, limits["unfinished"] * 60, "ignore"),
        Alarm("ceiling", stack("HoursToCeiling"), "Minimum", between, BELOW, ceiling, "ignore", lasting, lasting),
        Alarm("lostTables", stack("LostTables"), "Maximum", between, AT_LEAST, limits["lostTables"], "ignore"),
        Alarm("failedRuns", stack("FailedRuns"), "Sum", between * (failed + 1), AT_LEAST, failed, "zero"),
        Alarm("noRun", stack("FailedRuns"), "SampleCount", limits["noRun"] * 60, BELOW, 1, "zero"),
    ]
