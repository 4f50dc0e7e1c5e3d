"""Alarms are stored as they were put, and refused as CloudWatch refuses them (API reference, "PutMetricAlarm")."""

from typing import Any

import pytest

from local.aws_clients import Aws
from local.engine.inputs import as_json
from local.resources.cloudwatch import METRIC_ALARM
from tests.components.aws_answers import ALARM
from tests.components.running import HOME, config, deploy

METRIC = {"Namespace": "AWS/Lambda", "MetricName": "Duration"}
ONE: dict[str, Any] = {**METRIC, "Statistic": "Sum", "Period": 60}
ALONE: dict[str, Any] = {"Id": "a", "MetricStat": {"Metric": METRIC, "Stat": "Sum", "Period": 60}, "ReturnData": True}
FILLED = {"Id": "b", "Expression": "FILL(a, 0)", "ReturnData": True}
WRONG: list[dict[str, Any]] = [
    {},
    {"Metrics": []},
    {**ONE, "Metrics": [ALONE]},
    {"Metrics": [ALONE], "Period": 60},
    {"Metrics": [ALONE, FILLED]},
    {"Metrics": [{**ALONE, "ReturnData": False}]},
    {"Metrics": [FILLED]},
    {"Metrics": [{**ALONE, "MetricStat": {**ALONE["MetricStat"], "Period": 90}}]},
    {**METRIC, "Period": 60},
    {**ONE, "ExtendedStatistic": "p99"},
    {**METRIC, "Period": 60, "ExtendedStatistic": "p101"},
    {**ONE, "EvaluateLowSampleCountPercentile": "skip"},
    {**ONE, "Period": 90},
    {**ONE, "Period": 3540, "EvaluationPeriods": 25},
    {**ONE, "Period": 3600, "EvaluationPeriods": 169},
    {**ONE, "EvaluationPeriods": 2, "DatapointsToAlarm": 3},
    {**ONE, "TreatMissingData": "zero"},
]


def test_each_alarm_of_the_program_is_as_it_was_put(aws: Aws) -> None:
    client: Any = aws.client("cloudwatch", HOME)
    alarms = [METRIC_ALARM.parameters(as_json(each.inputs)) for each in deploy(config(HOME)).of(ALARM)]
    for put in alarms:
        client.put_metric_alarm(**put)
        (found,) = client.describe_alarms(AlarmNames=[put["AlarmName"]])["MetricAlarms"]
        client.delete_alarms(AlarmNames=[put["AlarmName"]])

        assert found | put == found
        assert {*METRIC_ALARM.sources} & found.keys() == put.keys()
    assert alarms


@pytest.mark.parametrize("wrong", WRONG)
def test_what_cloudwatch_refuses_is_refused(aws: Aws, name: str, wrong: dict[str, Any]) -> None:
    client: Any = aws.client("cloudwatch", HOME)
    compared = {"ComparisonOperator": "GreaterThanThreshold", "Threshold": 1, "EvaluationPeriods": 1}
    with pytest.raises(client.exceptions.ClientError, match="ValidationError"):
        client.put_metric_alarm(**{"AlarmName": name, **compared, **wrong})

    assert client.describe_alarms(AlarmNames=[name])["MetricAlarms"] == []
