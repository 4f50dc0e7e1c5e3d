"""Evaluates alarms over series of metrics, as CloudWatch does (user guide, "Alarm evaluation").

An alarm sees only the metric of its own region with exactly its dimensions. Its window slides: it is evaluated every
minute. What is left out: where data is missing, CloudWatch also looks at somewhat older data before it counts a
period as missing.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

MINUTE = 60

Key = tuple[str, str, str, frozenset[tuple[str, str]]]


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
        """Add the metrics of log lines in the embedded metric format, by their times since `start`."""
        for document in documents:
            at = document["_aws"]["Timestamp"] / 1000 - start
            for directive in document["_aws"]["CloudWatchMetrics"]:
                for names in directive["Dimensions"]:
                    dimensions = {name: document[name] for name in names}
                    for metric in directive["Metrics"]:
                        self.put(
                            region, directive["Namespace"], metric["Name"], dimensions, at, document[metric["Name"]]
                        )

    def between(self, alarm: Mapping[str, Any], start: float, end: float) -> list[float]:
        """Return the values of an alarm's metric after `start`, up to `end`."""
        key = (alarm["region"], alarm["namespace"], alarm["metricName"], frozenset(alarm["dimensions"].items()))
        return [value for at, value in self.points.get(key, ()) if start < at <= end]


def history(alarm: Mapping[str, Any], series: Series, minutes: int, *, start: int = 0) -> list[str]:
    """Return an alarm's state at every minute from `start`.

    Args:
        alarm: a MetricAlarm as it is registered.
        series: the metrics.
        minutes: until when.
        start: when the alarm was made.
    """
    states: list[str] = []
    state = "INSUFFICIENT_DATA"
    for minute in range(start, minutes + 1):
        state = _state(alarm, series, minute * MINUTE, state)
        states.append(state)
    return states


def fires(alarm: Mapping[str, Any], series: Series, minutes: int) -> bool:
    """Return whether an alarm goes off."""
    return "ALARM" in history(alarm, series, minutes)


def composite(rule: str, states: Mapping[str, str]) -> str:
    """Return the state of a composite alarm whose rule is `ALARM("a") OR ALARM("b") …`, by those of its alarms."""
    assert re.fullmatch(r'ALARM\("[^"]+"\)( OR ALARM\("[^"]+"\))*', rule), rule
    return "ALARM" if any(states[name] == "ALARM" for name in re.findall(r'"([^"]+)"', rule)) else "OK"


def _state(alarm: Mapping[str, Any], series: Series, now: float, before: str) -> str:
    period, periods, missing = alarm["period"], int(alarm["evaluationPeriods"]), alarm["treatMissingData"]
    bad = good = 0
    for number in range(periods):
        end = now - number * period
        values = series.between(alarm, end - period, end)
        if _few(alarm, values):
            return before
        breaches = (
            _breaches(alarm, _datapoint(alarm, values))
            if values
            else {"breaching": True, "notBreaching": False}.get(missing)
        )
        bad += breaches is True
        good += breaches is False
    if bad >= alarm["datapointsToAlarm"]:
        return "ALARM"
    return "OK" if good > periods - alarm["datapointsToAlarm"] else before


def _few(alarm: Mapping[str, Any], values: list[float]) -> bool:
    """Return whether a percentile has too few samples to change the state ("Percentile-based alarms")."""
    percentile = alarm.get("extendedStatistic")
    if percentile is None or not values or alarm["evaluateLowSampleCountPercentiles"] != "ignore":
        return False
    return len(values) < 10 / (1 - int(percentile[1:]) / 100) - 1e-9


def _datapoint(alarm: Mapping[str, Any], values: list[float]) -> float:
    match alarm.get("statistic") or alarm["extendedStatistic"]:
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


def _breaches(alarm: Mapping[str, Any], value: float) -> bool:
    match alarm["comparisonOperator"]:
        case "GreaterThanOrEqualToThreshold":
            return value >= alarm["threshold"]
        case "GreaterThanThreshold":
            return value > alarm["threshold"]
        case "LessThanThreshold":
            return value < alarm["threshold"]
        case other:
            raise ValueError(f"no alarm needs the comparison {other} yet")
