"""The alarms of a deployment, as plain values: all of an alarm is its entry in `ALARMS`.

From it follow the checks and defaults of the setting `alarms` (`settings/rules.py`), and the tables of
docs/operations.md, which `make fix` writes. That page also has a paragraph for each: what to do.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass
from typing import Literal

from .stack_metrics import Metric, StackMetrics

FIVE_MINUTES = 300

ABOVE = "GreaterThanThreshold"
AT_LEAST = "GreaterThanOrEqualToThreshold"
BELOW = "LessThanThreshold"

MORE = "docs/operations.md says what to do."


@dataclass(frozen=True)
class Evaluation:
    """How a metric is evaluated (CloudWatch API reference, PutMetricAlarm)."""

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


@dataclass(frozen=True)
class Alarm:
    """An alarm: what it is about, and how it is made in each place that has it."""

    name: str
    """What the settings call it."""
    _: KW_ONLY
    default: int
    """Its threshold, unless the settings have another. 0 switches it off."""
    runs: int = 0
    """To the default, so many times `scheduleMinutes` are added."""
    most: int
    """The highest threshold."""
    unit: str
    """Of the threshold."""
    meaning: str
    """What the alarm says: `{region}` is its region, or the API of the domain there."""
    goes_off: str
    """The column "goes off at" in docs/operations.md."""
    every_region: bool
    """Whether each region has it, in that region. Otherwise it is in the home region, and the composite alarm joins it.
    """
    metric: Callable[[StackMetrics, str], Metric]
    """The metric in a region."""
    domain_metric: str = ""
    """What counts the same at the API of a domain, by its name for HTTP APIs. `metric` is then only of callers of the
    Function URL. A `domain` adds an alarm on this one, and `functionUrls: false` removes the other."""
    evaluation: Callable[[int, int], Evaluation]
    """How the metric is evaluated, by the threshold and `scheduleMinutes`."""
    after_deployment: bool = False
    """Whether it is made after the first run of the coordinator, instead of before."""

    def threshold(self, schedule_minutes: int) -> int:
        """Return its threshold, unless the settings have another."""
        return self.default + self.runs * schedule_minutes


def _counted(limit: int, _: int) -> Evaluation:
    """Two bad periods of three: one burst, or one retried deployment, is no alarm."""
    return Evaluation("Sum", FIVE_MINUTES, AT_LEAST, limit, "zero", breaching=2, periods=3)


def _slow(statistic: str) -> Callable[[int, int], Evaluation]:
    """Three bad periods, one after the other. A period without requests is a good one."""
    return lambda limit, _: Evaluation(statistic, FIVE_MINUTES, ABOVE, limit, "notBreaching", breaching=3, periods=3)


def _lasting(limit: int, minutes: int) -> Evaluation:
    """Bad in half an hour, or in one run if there are fewer: the next run may reach the region."""
    runs = max(1, min(3, 30 // minutes))
    return Evaluation("Minimum", minutes * 60, BELOW, limit, "ignore", runs, runs)


ALARMS: Mapping[str, Alarm] = {
    alarm.name: alarm
    for alarm in (
        Alarm(
            "errors",
            default=10,
            most=10**6,
            unit="responses 5xx in 5 minutes",
            meaning="{region} answers 5xx to too many requests",
            goes_off="responses 5xx in 5 minutes, twice in 15",
            every_region=True,
            metric=lambda metrics, region: metrics.url("Url5xxCount", region),
            domain_metric="5xx",
            evaluation=_counted,
        ),
        Alarm(
            "throttles",
            default=10,
            most=10**6,
            unit="throttled requests in 5 minutes",
            meaning="Lambda refuses requests in {region}: too many at once",
            goes_off="throttled requests in 5 minutes, twice in 15",
            every_region=True,
            metric=lambda metrics, region: metrics.url("Throttles", region),
            evaluation=_counted,
        ),
        Alarm(
            "tableThrottles",
            default=10,
            most=10**6,
            unit="throttled writes in 5 minutes",
            meaning="DynamoDB refuses writes of counters in {region}: too many per second",
            goes_off="throttled writes in 5 minutes, twice in 15",
            every_region=True,
            metric=lambda metrics, region: metrics.table("WriteThrottleEvents", region),
            evaluation=_counted,
        ),
        Alarm(
            "latency",
            default=1000,
            most=30_000,
            unit="milliseconds, of the slowest 1 %",
            meaning="{region} is slow for 1 % of its requests",
            goes_off="99th percentile of the function's `Duration` in ms, in three periods of 5 minutes",
            every_region=True,
            # Not `UrlRequestLatency`: AWS recommends Average or Max for it, so it may have no percentiles. For this
            # one, CloudWatch's user guide recommends an alarm on a percentile ("Recommended alarms"). With a domain,
            # there are two alarms, not one on an expression: the rule for percentiles of few samples is for one metric.
            metric=lambda metrics, region: metrics.url("Duration", region),
            domain_metric="Latency",
            evaluation=_slow("p99"),
        ),
        # Those on the coordinator's metrics. A window without a datapoint may lie between two runs.
        Alarm(
            "unfinished",
            default=15,
            most=1440,
            unit="minutes",
            meaning="a change that was admitted is not finished",
            goes_off="minutes since an unfinished change was requested",
            every_region=False,
            metric=lambda metrics, _: metrics.stack("UnfinishedSeconds"),
            evaluation=lambda limit, minutes: Evaluation("Maximum", minutes * 60, ABOVE, limit * 60, "ignore"),
        ),
        Alarm(
            "ceiling",
            default=25,
            most=99,
            unit="percent",
            meaning="a region doesn't get the integers that it needs from the home region",
            goes_off="less of its window that a region has left, though the coordinator runs",
            every_region=False,
            metric=lambda metrics, _: metrics.stack("WindowLeft"),
            evaluation=_lasting,
        ),
        Alarm(
            "lostTables",
            default=1,
            most=100,
            unit="tables",
            meaning="a table was deleted, recreated or restored",
            goes_off="lost tables found",
            every_region=False,
            metric=lambda metrics, _: metrics.stack("LostTables"),
            evaluation=lambda limit, minutes: Evaluation("Maximum", minutes * 60, AT_LEAST, limit, "ignore"),
        ),
        Alarm(
            "failedRuns",
            default=2,
            most=10,
            unit="failed runs in a row or nearly so",
            meaning="the coordinator's scheduled runs fail",
            goes_off="N of the last N + 1 scheduled runs failed",
            every_region=False,
            metric=lambda metrics, _: metrics.stack("FailedRuns"),
            evaluation=lambda limit, minutes: Evaluation("Sum", minutes * 60 * (limit + 1), AT_LEAST, limit, "zero"),
        ),
        Alarm(
            "noRun",
            default=5,
            runs=3,
            most=1440,
            unit="minutes",
            meaning="the coordinator has not run",
            goes_off="minutes without a run",
            every_region=False,
            metric=lambda metrics, _: metrics.stack("FailedRuns"),
            evaluation=lambda limit, _: Evaluation("SampleCount", limit * 60, BELOW, 1, "zero"),
            after_deployment=True,
        ),
    )
}
"""Name → alarm."""


@dataclass(frozen=True)
class MetricAlarm:
    """An alarm on one metric, as CloudWatch has it."""

    alarm: Alarm
    metric: Metric
    limit: int
    """The threshold of the settings, in the unit of `alarm`."""
    evaluation: Evaluation
    of_domain: bool = False
    """Whether it is about the callers of the domain."""

    @property
    def name(self) -> str:
        """What it is called: as its threshold, or `domainErrors` for the `errors` of the domain."""
        name = self.alarm.name
        return f"domain{name[0].upper()}{name[1:]}" if self.of_domain else name

    def text(self, prefix: str) -> str:
        """Return its description. It begins with the prefix of the deployment's names."""
        region = f"the API of the domain in {self.metric.region}" if self.of_domain else self.metric.region
        return f"{prefix}: {self.alarm.meaning.format(region=region)} ({self.limit} {self.alarm.unit}). {MORE}"


def alarms(metrics: StackMetrics) -> list[MetricAlarm]:
    """Return the alarms that are switched on: those of each region that mints, then those of the whole."""
    minting = [region for region in metrics.regions if region not in metrics.paused]
    of_regions = [(alarm, region) for region in minting for alarm in ALARMS.values() if alarm.every_region]
    of_the_whole = [(alarm, metrics.home) for alarm in ALARMS.values() if not alarm.every_region]
    return [
        MetricAlarm(alarm, metric, limit, alarm.evaluation(limit, metrics.schedule_minutes), of_domain)
        for alarm, region in [*of_regions, *of_the_whole]
        for metric, of_domain in _on(metrics, alarm, region)
        if (limit := metrics.thresholds[alarm.name])
    ]


def _on(metrics: StackMetrics, alarm: Alarm, region: str) -> Iterator[tuple[Metric, bool]]:
    """Yield the metrics that an alarm is on in a region, and whether each is about the callers of the domain."""
    if metrics.function_urls or not alarm.domain_metric:
        yield alarm.metric(metrics, region), False
    if alarm.domain_metric and region in metrics.apis:
        yield metrics.domain(alarm.domain_metric, region), True
