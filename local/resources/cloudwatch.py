"""CloudWatch log groups, alarms and dashboards.

The local server keeps alarms and dashboards, but it writes no metrics of what runs here, so the alarms never go off.
The tests of the alarms evaluate them themselves (tests/components/evaluation.py).
"""

import json
from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from .kind import Aws, Result


class LogGroup:
    """A log group."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the log group, or change how long it keeps logs.

        This server takes a key only where it creates the group. On AWS, a later one is for what is logged from then on.
        """
        client = aws.client("logs", inputs["region"])
        name = inputs["name"]
        if before is None:
            key = {"kmsKeyId": inputs["kmsKeyId"]} if "kmsKeyId" in inputs else {}
            client.create_log_group(logGroupName=name, **key)
        client.put_retention_policy(logGroupName=name, retentionInDays=inputs["retentionInDays"])
        group = client.describe_log_groups(logGroupNamePrefix=name)["logGroups"][0]
        arn = group.get("arn", "").removesuffix(":*")  # as the provider gives it out
        return Result(name, {"arn": arn})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if it no longer exists."""
        groups = aws.client("logs", made.inputs["region"]).describe_log_groups(logGroupNamePrefix=made.id)
        return made.outputs if any(group.get("logGroupName") == made.id for group in groups["logGroups"]) else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the log group with its logs."""
        client = aws.client("logs", made.inputs["region"])
        client.delete_log_group(logGroupName=made.id)


PARAMETERS = {
    "alarmDescription": "AlarmDescription",
    "namespace": "Namespace",
    "metricName": "MetricName",
    "statistic": "Statistic",
    "extendedStatistic": "ExtendedStatistic",
    "evaluateLowSampleCountPercentiles": "EvaluateLowSampleCountPercentile",
    "period": "Period",
    "evaluationPeriods": "EvaluationPeriods",
    "datapointsToAlarm": "DatapointsToAlarm",
    "comparisonOperator": "ComparisonOperator",
    "threshold": "Threshold",
    "treatMissingData": "TreatMissingData",
    "alarmActions": "AlarmActions",
    "okActions": "OKActions",
}
"""The provider's inputs, and what PutMetricAlarm calls them."""

NOT_DESCRIBED = frozenset({"statistic", "evaluateLowSampleCountPercentiles"})
"""What the server doesn't give back as it was put."""


class MetricAlarm:
    """An alarm on a metric, or on an expression of one. The server keeps no expressions: they aren't compared."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the alarm, over an earlier one."""
        client = aws.client("cloudwatch", inputs["region"])
        watched: dict[str, Any] = (
            {"Metrics": [_query(query) for query in inputs["metricQueries"]]}
            if "metricQueries" in inputs
            else {"Dimensions": _dimensions(inputs["dimensions"])}
        )
        client.put_metric_alarm(
            AlarmName=inputs["name"],
            **watched,
            **{PARAMETERS[key]: value for key, value in inputs.items() if key in PARAMETERS},
        )
        (alarm,) = client.describe_alarms(AlarmNames=[inputs["name"]])["MetricAlarms"]
        return Result(inputs["name"], {"arn": alarm["AlarmArn"]})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs and its inputs as they are now, or None if it no longer exists."""
        found = aws.client("cloudwatch", made.inputs["region"]).describe_alarms(AlarmNames=[made.id])["MetricAlarms"]
        if not found:
            return None
        wanted = made.inputs.keys() - NOT_DESCRIBED
        described = {key: found[0].get(name) for key, name in PARAMETERS.items() if key in wanted}
        if "dimensions" in wanted:
            described["dimensions"] = {dimension["Name"]: dimension["Value"] for dimension in found[0]["Dimensions"]}
        return {**made.outputs, **described}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the alarm, which AWS refuses as long as a composite alarm joins it."""
        aws.client("cloudwatch", made.inputs["region"]).delete_alarms(AlarmNames=[made.id])


class CompositeAlarm:
    """An alarm on other alarms."""

    identity: tuple[str, ...] = ("region", "alarmName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the alarm, over an earlier one. The alarms that it joins must exist."""
        client = aws.client("cloudwatch", inputs["region"])
        client.put_composite_alarm(
            AlarmName=inputs["alarmName"],
            AlarmRule=inputs["alarmRule"],
            AlarmDescription=inputs.get("alarmDescription", ""),
        )
        return Result(inputs["alarmName"], {"arn": _composite(client, inputs["alarmName"])[0]["AlarmArn"]})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs and its rule as it is now, or None if it no longer exists."""
        found = _composite(aws.client("cloudwatch", made.inputs["region"]), made.id)
        return {**made.outputs, "alarmRule": found[0]["AlarmRule"]} if found else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the alarm."""
        aws.client("cloudwatch", made.inputs["region"]).delete_alarms(AlarmNames=[made.id])


class Dashboard:
    """A dashboard."""

    identity: tuple[str, ...] = ("region", "dashboardName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the dashboard, over an earlier one."""
        client, name = aws.client("cloudwatch", inputs["region"]), inputs["dashboardName"]
        client.put_dashboard(DashboardName=name, DashboardBody=inputs["dashboardBody"])
        return Result(name, {"dashboardArn": client.get_dashboard(DashboardName=name)["DashboardArn"]})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs and its body as it is now, or raise the service's error if it no longer exists."""
        client = aws.client("cloudwatch", made.inputs["region"])
        body = client.get_dashboard(DashboardName=made.id)["DashboardBody"]
        same = json.loads(body) == json.loads(made.inputs["dashboardBody"])
        return {**made.outputs, "dashboardBody": made.inputs["dashboardBody"] if same else body}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the dashboard."""
        aws.client("cloudwatch", made.inputs["region"]).delete_dashboards(DashboardNames=[made.id])


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
    """Return a part of an expression as PutMetricAlarm takes it."""
    asked: dict[str, Any] = {"Id": query["id"], "ReturnData": query.get("returnData", False)}
    if "expression" in query:
        return {**asked, "Expression": query["expression"], "Label": query["label"]}
    metric = query["metric"]
    named = {
        "Namespace": metric["namespace"],
        "MetricName": metric["metricName"],
        "Dimensions": _dimensions(metric["dimensions"]),
    }
    return {**asked, "MetricStat": {"Metric": named, "Period": metric["period"], "Stat": metric["stat"]}}


def _dimensions(dimensions: Mapping[str, str]) -> list[dict[str, str]]:
    return [{"Name": name, "Value": value} for name, value in dimensions.items()]


def _composite(client: Any, name: str) -> list[dict[str, Any]]:
    return client.describe_alarms(AlarmNames=[name], AlarmTypes=["CompositeAlarm"])["CompositeAlarms"]
