"""Evaluates alarms over series of metrics, as CloudWatch does (user guide, "Alarm evaluation").

An alarm sees only the metric of its own region with exactly its dimensions. Its window slides: it is evaluated every
minute. Where data are missing, CloudWatch also looks at older periods (user guide, "Configuring how CloudWatch alarms
treat missing data"). At how many, it doesn't say; and its two pages differ on missing data of AWS/DynamoDB. So there
are several readings, and what an alarm does must not depend on which is right.
"""

import operator
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, NamedTuple

MINUTE = 60

Key = tuple[str, str, str, frozenset[tuple[str, str]]]
Input = Mapping[str, Any]
"""A MetricAlarm as it is registered."""


@dataclass
class Series:
    """All metrics: (region, namespace, name, dimensions) → the time of a value, in seconds, and the value."""

    points: dict[Key, list[tuple[float, float]]] = field(default_factory=dict[Key, list[tuple[float, float]]])

    def put(
        self, region: str, namespace: str, name: str, dimensions: Mapping[str, str], at: float, value: float
    ) -> None:
        """Add a value."""
        key = (region, namespace, name, frozenset(dimensions.items()))
        self.points.setdefault(key, []).append((at, value))

    def read(self, region: str, documents: Iterable[Mapping[str, Any]], start: float = 0) -> None:
        """Add the metrics of log lines, by their times since `start`: of those in the embedded metric format."""
        for document in documents:
            if "_aws" not in document:
                continue
            at = document["_aws"]["Timestamp"] / 1000 - start
            for directive in document["_aws"]["CloudWatchMetrics"]:
                for names in directive["Dimensions"]:
                    dimensions = {name: document[name] for name in names}
                    for metric in directive["Metrics"]:
                        self.put(
                            region, directive["Namespace"], metric["Name"], dimensions, at, document[metric["Name"]]
                        )

    def between(self, key: Key, start: float, end: float) -> list[float]:
        """Return the values of a metric after `start`, up to `end`."""
        return [value for at, value in self.points.get(key, ()) if start < at <= end]


class Reading(NamedTuple):
    """How AWS's documents may be understood."""

    further: int
    """How many periods before an alarm's own are looked at where data are missing."""
    dynamodb_ignores: bool
    """Whether missing data of AWS/DynamoDB keep an alarm as it was, whatever it says."""


READINGS = [Reading(*each) for each in product((0, 1, 2, 5), (False, True))]


@dataclass(frozen=True)
class AlarmData:
    """What an alarm evaluates."""

    metric: Key
    statistic: str
    period: int
    filled: bool
    """Whether a period without data is 0: `FILL(…, 0)`."""

    @classmethod
    def of(cls, alarm: Input) -> "AlarmData":
        """Read it from an alarm on a metric, or on the expression that fills one."""
        filled = "metricQueries" in alarm
        asked = alarm
        if filled:
            query, expression = alarm["metricQueries"]
            assert (expression["expression"], expression["returnData"]) == (f"FILL({query['id']}, 0)", True)
            assert not query.get("returnData")
            asked = query["metric"]
        dimensions = frozenset(asked["dimensions"].items())
        statistic = asked["stat"] if filled else asked.get("statistic") or asked["extendedStatistic"]
        metric = (alarm["region"], asked["namespace"], asked["metricName"], dimensions)
        return cls(metric, statistic, asked["period"], filled)


def histories(alarm: Input, series: Series, minutes: int, *, start: int = 0) -> Iterator[list[str]]:
    """Return the state at every minute of an alarm that is made at `start`, by every reading."""
    for reading in READINGS:
        states = ["INSUFFICIENT_DATA"]
        for minute in range(start, minutes + 1):
            states.append(_state(alarm, series, minute * MINUTE, states[-1], reading))
        yield states[1:]


def fires(alarm: Input, series: Series, minutes: int, *, start: int = 0) -> bool:
    """Return whether an alarm goes off, which must be the same by every reading."""
    (found,) = {"ALARM" in states for states in histories(alarm, series, minutes, start=start)}
    return found


def _state(alarm: Input, series: Series, now: float, before: str, reading: Reading) -> str:
    data, periods = AlarmData.of(alarm), int(alarm["evaluationPeriods"])
    wanted = periods if data.filled else periods + reading.further
    points: list[bool | None] = []
    for number in range(wanted):
        end = now - number * data.period
        values = series.between(data.metric, end - data.period, end)
        if number < periods and _few(alarm, values):
            return before
        if values or data.filled:
            value = STATISTICS[data.statistic](values) if values else 0
            points.append(COMPARISONS[alarm["comparisonOperator"]](value, alarm["threshold"]))
        else:
            points.append(None)
    missing = alarm["treatMissingData"]
    if reading.dynamodb_ignores and data.metric[1] == "AWS/DynamoDB":
        missing = "ignore"
    return _judged(points, periods, int(alarm["datapointsToAlarm"]), missing, before)


def _judged(points: Sequence[bool | None], periods: int, needed: int, missing: str, before: str) -> str:
    """Return the state that follows from whether each datapoint of the evaluation range breaches, the newest first.

    None: there are no data. `needed` of `periods` must breach; `missing` is how the alarm treats missing data.
    """
    real = [point for point in points if point is not None]
    absent, bad = periods - len(real), sum(real)
    if absent <= 0:
        return "ALARM" if sum(real[:periods]) >= needed else "OK"
    if missing == "ignore" and bad < needed:
        return "OK" if bad < len(real) else before
    return "ALARM" if bad + (absent if missing == "breaching" else 0) >= needed else "OK"


def _few(alarm: Input, values: list[float]) -> bool:
    """Return whether a percentile has too few samples to change the state ("Percentile-based alarms")."""
    percentile = alarm.get("extendedStatistic")
    if percentile is None or not values or alarm["evaluateLowSampleCountPercentiles"] != "ignore":
        return False
    return len(values) < 10 / (1 - int(percentile[1:]) / 100) - 1e-9


STATISTICS: Mapping[str, Callable[[list[float]], float]] = {
    "Sum": sum,
    "Maximum": max,
    "Minimum": min,
    "SampleCount": len,
    "p99": lambda values: sorted(values)[int(len(values) * 0.99)],
}
COMPARISONS: Mapping[str, Callable[[float, float], bool]] = {
    "GreaterThanOrEqualToThreshold": operator.ge,
    "GreaterThanThreshold": operator.gt,
    "LessThanThreshold": operator.lt,
}
