"""Alarms and dashboards on a real server."""

import json
from collections import Counter
from typing import Any

import pytest

from local.aws_clients import Aws
from local.engine.program import Registration
from tests.local.registrations import HOME, registration, up

OTHER = "eu-west-1"


def alarm(name: str, region: str = HOME, **changed: object) -> Registration:
    inputs: dict[str, Any] = {
        "region": region,
        "name": name,
        "alarmDescription": "too many",
        "namespace": "AWS/Lambda",
        "metricName": "Url5xxCount",
        "dimensions": {"FunctionName": "mint"},
        "statistic": "Sum",
        "period": 300,
        "evaluationPeriods": 3,
        "datapointsToAlarm": 2,
        "comparisonOperator": "GreaterThanOrEqualToThreshold",
        "threshold": 10,
        "treatMissingData": "notBreaching",
        "alarmActions": [],
        "okActions": [],
    }
    return registration("aws:cloudwatch/metricAlarm:MetricAlarm", name, {**inputs, **changed})


def composite(name: str, *joined: str) -> Registration:
    rule = " OR ".join(f'ALARM("{one}")' for one in joined)
    inputs = {"region": HOME, "alarmName": name, "alarmRule": rule, "alarmDescription": "any"}
    return registration("aws:cloudwatch/compositeAlarm:CompositeAlarm", name, inputs)


def dashboard(name: str, *titles: str) -> Registration:
    body = json.dumps({"widgets": [{"type": "text", "properties": {"markdown": title}} for title in titles]})
    inputs = {"region": HOME, "dashboardName": name, "dashboardBody": body}
    return registration("aws:cloudwatch/dashboard:Dashboard", name, inputs)


def found(aws: Aws, name: str, region: str = HOME) -> dict[str, Any]:
    (one,) = aws.client("cloudwatch", region).describe_alarms(AlarmNames=[name])["MetricAlarms"]
    return one


def test_an_alarm_is_changed_in_its_region_and_deleted(aws: Aws, name: str) -> None:
    [made], events = up(aws, alarm(name, OTHER))
    assert events == Counter(created=1)
    assert made["arn"] == f"arn:aws:cloudwatch:{OTHER}:000000000000:alarm:{name}"
    assert found(aws, name, OTHER)["Dimensions"] == [{"Name": "FunctionName", "Value": "mint"}]
    assert (found(aws, name, OTHER)["Statistic"], found(aws, name, OTHER)["TreatMissingData"]) == (
        "Sum",
        "notBreaching",
    )
    assert up(aws, alarm(name, OTHER))[1] == Counter(unchanged=1)

    assert up(aws, alarm(name, OTHER, threshold=20))[1] == Counter(updated=1)
    assert found(aws, name, OTHER)["Threshold"] == 20
    assert aws.client("cloudwatch", HOME).describe_alarms(AlarmNames=[name])["MetricAlarms"] == []

    assert up(aws)[1] == Counter(deleted=1)
    assert aws.client("cloudwatch", OTHER).describe_alarms(AlarmNames=[name])["MetricAlarms"] == []


METRIC = {"namespace": "AWS/Lambda", "metricName": "Url5xxCount", "dimensions": {"FunctionName": "mint"}}
EXPRESSION: list[dict[str, Any]] = [
    {"id": "metric", "metric": {**METRIC, "stat": "Sum", "period": 300}},
    {"id": "filled", "expression": "FILL(metric, 0)", "label": "Duration", "returnData": True},
]


@pytest.mark.parametrize(
    ("instead", "monitored"),
    [
        (("statistic",), {"extendedStatistic": "p99", "evaluateLowSampleCountPercentiles": "ignore"}),
        (("namespace", "metricName", "dimensions", "statistic", "period"), {"metricQueries": EXPRESSION}),
    ],
    ids=["a percentile", "an expression"],
)
def test_an_alarm_on_something_else_is_made_and_changed(
    aws: Aws, name: str, instead: tuple[str, ...], monitored: dict[str, Any]
) -> None:
    made = alarm(name, **monitored)
    for key in instead:
        del made.inputs[key]

    assert up(aws, made)[1] == Counter(created=1)
    assert found(aws, name).get("ExtendedStatistic") == monitored.get("extendedStatistic")
    assert up(aws, made)[1] == Counter(unchanged=1)
    made.inputs["threshold"] = 20
    assert up(aws, made)[1] == Counter(updated=1)
    assert found(aws, name)["Threshold"] == 20


def test_an_alarm_that_somebody_changed_or_deleted_is_put_back(aws: Aws, name: str) -> None:
    up(aws, alarm(name))
    put: dict[str, Any] = found(aws, name)
    fields = ("AlarmName", "Namespace", "MetricName", "Period", "EvaluationPeriods", "ComparisonOperator", "Statistic")
    client = aws.client("cloudwatch", HOME)

    client.put_metric_alarm(**{key: put[key] for key in fields}, Threshold=1000)
    assert up(aws, alarm(name))[1] == Counter(updated=1)
    assert (found(aws, name)["Threshold"], found(aws, name)["DatapointsToAlarm"]) == (10, 2)

    client.delete_alarms(AlarmNames=[name])
    assert up(aws, alarm(name))[1] == Counter(created=1)


def test_a_composite_alarm_joins_others_and_goes_before_them(aws: Aws, name: str) -> None:
    one, two, both = alarm(f"{name}-1"), alarm(f"{name}-2"), composite(name, f"{name}-1", f"{name}-2")
    assert up(aws, one, two, both)[1] == Counter(created=3)
    assert up(aws, one, two, both)[1] == Counter(unchanged=3)

    assert up(aws, one, composite(name, f"{name}-1"))[1] == Counter(unchanged=1, updated=1, deleted=1)
    assert up(aws)[1] == Counter(deleted=2)


def test_a_dashboard_is_changed_put_back_and_deleted(aws: Aws, name: str) -> None:
    client = aws.client("cloudwatch", HOME)
    assert up(aws, dashboard(name, "a"))[1] == Counter(created=1)
    assert up(aws, dashboard(name, "a"))[1] == Counter(unchanged=1)

    assert up(aws, dashboard(name, "a", "b"))[1] == Counter(updated=1)
    assert len(json.loads(client.get_dashboard(DashboardName=name)["DashboardBody"])["widgets"]) == 2

    client.put_dashboard(DashboardName=name, DashboardBody='{"widgets": []}')
    assert up(aws, dashboard(name, "a", "b"))[1] == Counter(updated=1)
    client.delete_dashboards(DashboardNames=[name])
    assert up(aws, dashboard(name, "a", "b"))[1] == Counter(created=1)

    up(aws)
    assert client.list_dashboards(DashboardNamePrefix=name)["DashboardEntries"] == []
