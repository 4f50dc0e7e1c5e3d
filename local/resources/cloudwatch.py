"""CloudWatch log groups, alarms and dashboards, and EventBridge rules that run on a schedule.

The local server runs the schedules itself. It keeps alarms, but of what runs here it writes few metrics, and it
evaluates percentiles of few samples. Tests evaluate the alarms themselves
(tests/components/monitoring/evaluation.py).
"""

from collections.abc import Mapping
from typing import Any

from ..stack import Made
from .kind import ID, Call, Described, Inputs, Kind, NotMade, capital

RETENTION = Call("put_retention_policy", "retentionInDays", logGroupName="name")


def _retained(client: Any, inputs: Inputs, before: Made | None) -> None:
    if before is None:
        RETENTION.make(client, inputs)


def _log_group(inputs: Inputs, found: Any) -> dict[str, Any] | None:
    arns = (group.get("arn", "") for group in found["logGroups"] if group.get("logGroupName") == inputs[ID])
    return next(({"arn": arn.removesuffix(":*")} for arn in arns), None)  # as the provider gives it out


def _query(query: Mapping[str, Any]) -> dict[str, Any]:
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


def _queries(inputs: Inputs) -> list[dict[str, Any]] | None:
    return [_query(query) for query in inputs["metricQueries"]] if "metricQueries" in inputs else None


METRIC_ALARM = Call(
    "put_metric_alarm",
    "AlarmDescription Namespace MetricName Statistic ExtendedStatistic Period EvaluationPeriods "
    "DatapointsToAlarm ComparisonOperator Threshold TreatMissingData AlarmActions",
    AlarmName="name",
    EvaluateLowSampleCountPercentile="evaluateLowSampleCountPercentiles",
    OKActions="okActions",
    Metrics=_queries,
    Dimensions=lambda inputs: _dimensions(inputs["dimensions"]) if "dimensions" in inputs else None,
)


def _alarm(_inputs: Inputs, found: Any) -> dict[str, Any] | None:
    arns = (alarm["AlarmArn"] for alarm in (*found["MetricAlarms"], *found["CompositeAlarms"]))
    return next(({"arn": arn} for arn in arns), None)


def _target(inputs: Inputs) -> list[dict[str, Any]]:
    retries = capital(inputs["retryPolicy"])
    return [{"Id": inputs["targetId"], "Arn": inputs["arn"], "Input": inputs["input"], "RetryPolicy": retries}]


KINDS: dict[str, Kind] = {
    # The server takes a key only where it creates a group. On AWS, a later one is for what is logged from then on.
    "aws:cloudwatch/logGroup:LogGroup": Described(
        "logs",
        create=Call("create_log_group", "kmsKeyId", logGroupName="name"),
        update=RETENTION,
        then=_retained,
        read_by=Call("describe_log_groups", logGroupNamePrefix=ID),
        now=_log_group,
        delete_by=Call("delete_log_group", logGroupName=ID),
    ),
    "aws:cloudwatch/metricAlarm:MetricAlarm": Described(
        "cloudwatch",
        create=METRIC_ALARM,
        read_by=Call("describe_alarms", AlarmNames=[ID]),
        now=_alarm,
        delete_by="delete_alarms",  # which AWS refuses as long as a composite alarm joins it
    ),
    "aws:cloudwatch/compositeAlarm:CompositeAlarm": Described(  # the alarms that it joins must exist
        "cloudwatch",
        ("region", "alarmName"),
        create=Call("put_composite_alarm", "AlarmName AlarmRule AlarmDescription"),
        read_by=Call("describe_alarms", AlarmNames=[ID], AlarmTypes=lambda _inputs: ["CompositeAlarm"]),
        now=_alarm,
        delete_by=Call("delete_alarms", AlarmNames=[ID]),
    ),
    "aws:cloudwatch/dashboard:Dashboard": NotMade(("region", "dashboardName"), "{dashboardName}"),  # nothing shows it
    "aws:cloudwatch/eventRule:EventRule": Described(  # the server runs the schedule itself
        "events",
        create=Call(
            "put_rule",
            "Name ScheduleExpression",
            Description=lambda inputs: inputs.get("description", ""),
            State=lambda inputs: inputs.get("state", "ENABLED"),
        ),
        read_by=Call("describe_rule", Name=ID),
        now=lambda _inputs, found: {"arn": found["Arn"]},
        delete_by="delete_rule",
    ),
    "aws:cloudwatch/eventTarget:EventTarget": Described(  # AWS deletes no rule that has one
        "events",
        ("region", "rule", "targetId"),
        create=Call("put_targets", "Rule", Targets=_target),
        read_by=Call("list_targets_by_rule", "Rule"),
        now=lambda inputs, found: (
            {"targetId": inputs[ID]} if any(one["Id"] == inputs[ID] for one in found["Targets"]) else None
        ),
        delete_by=Call("remove_targets", "Rule", Ids=[ID]),
    ),
}
