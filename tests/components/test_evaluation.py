"""The evaluator that the tests of the alarms use follows the rules of CloudWatch's user guide."""

from typing import Any

import pytest

from tests.components.evaluation import MINUTE, Series, composite, history

ALARM: dict[str, Any] = {
    "region": "eu-west-1",
    "namespace": "N",
    "metricName": "M",
    "dimensions": {"A": "1"},
    "statistic": "Sum",
    "period": MINUTE,
    "evaluationPeriods": 3,
    "datapointsToAlarm": 2,
    "comparisonOperator": "GreaterThanOrEqualToThreshold",
    "threshold": 1,
    "treatMissingData": "notBreaching",
}


def series(values: dict[float, float], region: str = "eu-west-1", **dimensions: str) -> Series:
    made = Series()
    for minute, value in values.items():
        made.put(region, "N", "M", dimensions or {"A": "1"}, minute * MINUTE, value)
    return made


def last(values: dict[float, float], minutes: int = 3, **changed: Any) -> str:
    return history({**ALARM, **changed}, series(values), minutes)[-1]


@pytest.mark.parametrize(
    ("values", "state"),
    [({1: 0, 2: 1, 3: 1}, "ALARM"), ({1: 1, 2: 0, 3: 1}, "ALARM"), ({1: 0, 2: 0, 3: 1}, "OK"), ({0: 1, 3: 1}, "OK")],
)
def test_so_many_of_the_last_datapoints_must_breach(values: dict[float, float], state: str) -> None:
    assert last(values) == state


@pytest.mark.parametrize(
    ("missing", "states"),
    [("breaching", ["ALARM", "ALARM"]), ("notBreaching", ["OK", "OK"]), ("ignore", ["INSUFFICIENT_DATA", "ALARM"])],
)
def test_missing_data_is_what_the_alarm_says(missing: str, states: list[str]) -> None:
    changed = {**ALARM, "treatMissingData": missing}

    assert history(changed, Series(), 3)[-1] == states[0]
    assert history(changed, series({2: 1, 3: 1}), 30)[-1] == states[1]


@pytest.mark.parametrize(
    ("statistic", "threshold", "state"),
    [("Sum", 5, "ALARM"), ("Sum", 6, "OK"), ("Maximum", 3, "ALARM"), ("Maximum", 4, "OK"), ("Minimum", 2, "ALARM"),
     ("Minimum", 3, "OK"), ("SampleCount", 2, "ALARM"), ("SampleCount", 3, "OK")],
)  # fmt: skip
def test_a_datapoint_is_the_statistic_of_a_period(statistic: str, threshold: int, state: str) -> None:
    one: dict[str, Any] = {
        "statistic": statistic,
        "threshold": threshold,
        "evaluationPeriods": 1,
        "datapointsToAlarm": 1,
    }

    assert last({2.5: 2, 3: 3}, **one) == state


def test_other_dimensions_and_other_regions_are_other_metrics() -> None:
    values: dict[float, float] = {1: 1, 2: 1, 3: 1}

    assert history(ALARM, series(values), 3)[-1] == "ALARM"
    assert history(ALARM, series(values, "us-east-1"), 3)[-1] == "OK"
    assert history(ALARM, series(values, A="2"), 3)[-1] == "OK"
    assert history(ALARM, series(values, A="1", B="1"), 3)[-1] == "OK"


def test_a_percentile_of_few_samples_changes_nothing() -> None:
    slow = {**ALARM, "statistic": None, "extendedStatistic": "p99", "evaluateLowSampleCountPercentiles": "ignore"}
    some: dict[float, float] = {2 + n / 10_000: 5 for n in range(1, 1001)}
    fewer = dict(list(some.items())[:999])

    assert history({**slow, "datapointsToAlarm": 1}, series(some), 3)[-1] == "ALARM"
    assert history({**slow, "datapointsToAlarm": 1}, series(fewer), 3)[-1] == "OK", "as it was before"


def test_a_composite_alarm_goes_off_with_any_of_its_alarms() -> None:
    rule = 'ALARM("a") OR ALARM("b")'

    assert composite(rule, {"a": "OK", "b": "ALARM"}) == "ALARM"
    assert composite(rule, {"a": "OK", "b": "INSUFFICIENT_DATA"}) == "OK"
