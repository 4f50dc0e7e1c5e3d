"""Evaluates alarms over series of metrics, as CloudWatch does (user guide, "Alarm evaluation").

An alarm sees only the metric of its own region with exactly its dimensions. Its window slides: it is evaluated every
minute. Where data are missing, CloudWatch also looks at older periods (user guide, "Configuring how CloudWatch alarms
treat missing data"). At how many, it doesn't say; and its two pages differ on missing data of AWS/DynamoDB. So there
are several readings, and what an alarm does must not depend on which is right.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
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

    further: int = 2
    """How many periods before an alarm's own are looked at where data are missing."""
    dynamodb_ignores: bool = False
    """Whether missing data of AWS/DynamoDB keep an alarm as it was, whatever it says."""
    statistic_sets: bool = False
    """Whether Lambda publishes the metrics of `MAYBE_SETS` as statistic sets, which have no percentiles."""


LIKELY = Reading()
READINGS = [Reading(*each) for each in product((0, 1, 2, 5), (False, True), (False, True))]

MAYBE_SETS = frozenset({"UrlRequestLatency"})
"""Lambda guide, "Monitoring Lambda function URLs", says Average or Max. A percentile needs raw data (CloudWatch API
reference, GetMetricStatistics). For `Duration` of functions and `Latency` of APIs, CloudWatch's guide itself recommends
alarms on a percentile ("Recommended alarms")."""


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

    def has_none_by(self, reading: Reading) -> bool:
        """Return whether there are no data, whatever happens: a percentile of what is published as statistic sets."""
        return reading.statistic_sets and self.statistic.startswith("p") and self.metric[2] in MAYBE_SETS


def history(alarm: Input, series: Series, minutes: int, *, start: int = 0, reading: Reading = LIKELY) -> list[str]:
    """Return an alarm's state at every minute from `start`.

    Args:
        alarm: a MetricAlarm as it is registered.
        series: the metrics.
        minutes: until when.
        start: when the alarm was made.
        reading: how AWS's documents are understood.
    """
    states: list[str] = []
    state = "INSUFFICIENT_DATA"
    for minute in range(start, minutes + 1):
        state = _state(alarm, series, minute * MINUTE, state, reading)
        states.append(state)
    return states


def histories(alarm: Input, series: Series, minutes: int, *, start: int = 0) -> list[list[str]]:
    """Return what `history` returns, by every reading."""
    return [history(alarm, series, minutes, start=start, reading=reading) for reading in READINGS]


def fires(alarm: Input, series: Series, minutes: int) -> bool:
    """Return whether an alarm goes off, which must be the same by every reading."""
    (found,) = {"ALARM" in states for states in histories(alarm, series, minutes)}
    return found


def composite(rule: str, states: Mapping[str, str]) -> str:
    """Return the state of a composite alarm whose rule is `ALARM("a") OR ALARM("b") …`, by those of its alarms."""
    assert re.fullmatch(r'ALARM\("[^"]+"\)( OR ALARM\("[^"]+"\))*', rule), rule
    return "ALARM" if any(states[name] == "ALARM" for name in re.findall(r'"([^"]+)"', rule)) else "OK"


def _state(alarm: Input, series: Series, now: float, before: str, reading: Reading) -> str:
    data, periods = AlarmData.of(alarm), int(alarm["evaluationPeriods"])
    wanted = periods if data.filled else periods + reading.further
    points: list[bool | None] = []
    for number in range(wanted):
        end = now - number * data.period
        values = [] if data.has_none_by(reading) else series.between(data.metric, end - data.period, end)
        if number < periods and _few(alarm, values):
            return before
        if values or data.filled:
            points.append(_breaches(alarm, _datapoint(data.statistic, values) if values else 0))
        else:
            points.append(None)
    missing = alarm["treatMissingData"]
    if reading.dynamodb_ignores and data.metric[1] == "AWS/DynamoDB":
        missing = "ignore"
    return judged(points, periods, int(alarm["datapointsToAlarm"]), missing, before)


def judged(points: Sequence[bool | None], periods: int, needed: int, missing: str, before: str) -> str:
    """Return the state that follows from the datapoints of the evaluation range.

    Args:
        points: whether each breaches, the newest first; None: there are no data.
        periods: how many periods the alarm has ("N").
        needed: how many must breach ("M").
        missing: how it treats missing data.
        before: its state.
    """
    real = [point for point in points if point is not None]
    absent = periods - len(real)
    if absent <= 0:
        return "ALARM" if sum(real[:periods]) >= needed else "OK"
    bad = sum(real)
    match missing:
        case "breaching":
            return "ALARM" if bad + absent >= needed else "OK"
        case "notBreaching":
            return "ALARM" if bad >= needed else "OK"
        case "ignore":
            if bad >= needed:
                return "ALARM"
            return "OK" if bad < len(real) else before
        case other:
            raise ValueError(f"no alarm treats missing data as {other} yet")


def _few(alarm: Input, values: list[float]) -> bool:
    """Return whether a percentile has too few samples to change the state ("Percentile-based alarms")."""
    percentile = alarm.get("extendedStatistic")
    if percentile is None or not values or alarm["evaluateLowSampleCountPercentiles"] != "ignore":
        return False
    return len(values) < 10 / (1 - int(percentile[1:]) / 100) - 1e-9


def _datapoint(statistic: str, values: list[float]) -> float:
    match statistic:
        case "Sum":
            return sum(values)
        case "Maximum":
            return max(values)
        case "Minimum":
            return min(values)
        case "SampleCount":
            return len(values)
        case "p99":
            return sorted(values)[int(len(values) * 0.99)]
        case other:
            raise ValueError(f"no alarm needs the statistic {other} yet")


def _breaches(alarm: Input, value: float) -> bool:
    match alarm["comparisonOperator"]:
        case "GreaterThanOrEqualToThreshold":
            return value >= alarm["threshold"]
        case "GreaterThanThreshold":
            return value > alarm["threshold"]
        case "LessThanThreshold":
            return value < alarm["threshold"]
        case other:
            raise ValueError(f"no alarm needs the comparison {other} yet")
