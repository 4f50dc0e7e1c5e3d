"""Resources of every kind on a real server: made, found as they are, changed in place, made again and deleted."""

from collections import Counter
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.aws_clients import Aws
from local.engine.program import Registration
from local.resources import KINDS
from local.stack import State
from tests.local.registrations import HOME, alias, function, permission, registration, retries, role, up

METRIC = {"namespace": "AWS/Lambda", "metricName": "Url5xxCount", "dimensions": {"FunctionName": "mint"}}
SUM = {**METRIC, "statistic": "Sum", "period": 300}
PERCENTILE = {**METRIC, "period": 300, "extendedStatistic": "p99", "evaluateLowSampleCountPercentiles": "ignore"}
EXPRESSION = {
    "metricQueries": [
        {"id": "metric", "metric": {**METRIC, "stat": "Sum", "period": 300}},
        {"id": "filled", "expression": "FILL(metric, 0)", "label": "Duration", "returnData": True},
    ]
}
CHANGED = "arn:aws:events:us-east-1:000000000000:rule/changed"

Case = tuple[list[Registration], Registration, Registration, str, dict[str, Any], str]
"""What the resource needs, the resource, the same one changed; a call that shows it, and how it shows the change."""


def made(kind: str, title: str, **inputs: Any) -> Registration:
    service, _, name = kind.partition("/")
    return registration(f"aws:{service}/{name[0].lower()}{name[1:]}:{name}", title, {"region": HOME, **inputs})


def alarm(name: str, threshold: int, monitored: dict[str, Any]) -> Registration:
    limits = {"evaluationPeriods": 3, "datapointsToAlarm": 2, "threshold": threshold, "alarmDescription": "too many"}
    compared = {"comparisonOperator": "GreaterThanOrEqualToThreshold", "treatMissingData": "notBreaching"}
    actions: dict[str, Any] = {"alarmActions": [], "okActions": []}
    return made("cloudwatch/MetricAlarm", name, name=name, **limits, **compared, **actions, **monitored)


def composite(name: str, joined: str) -> Registration:
    inputs = {"alarmName": name, "alarmDescription": "any", "alarmRule": f'ALARM("{joined}")'}
    return made("cloudwatch/CompositeAlarm", name, **inputs)


def rule(name: str, minutes: int) -> Registration:
    return made("cloudwatch/EventRule", name, name=name, scheduleExpression=f"rate({minutes} minutes)")


def target(name: str, age: int) -> Registration:
    arn = f"arn:aws:lambda:{HOME}:000000000000:function:{name}"
    policy = {"maximumEventAgeInSeconds": age, "maximumRetryAttempts": 0}
    return made("cloudwatch/EventTarget", name, rule=name, targetId=name, arn=arn, input="{}", retryPolicy=policy)


def cases(name: str) -> dict[str, Case]:
    called = [role(name), function(name, "def handler(event, context): return 1", {}), alias(name, "used")]
    alarms, joined = [alarm(f"{name}-{n}", 10, SUM) for n in (1, 2)], {"AlarmTypes": ["CompositeAlarm"]}
    named, of_alias = {"AlarmNames": [name]}, {"FunctionName": name, "Qualifier": "used"}
    return {
        **{
            title: ([], alarm(name, 10, metric), alarm(name, 20, metric), "cloudwatch.describe_alarms", named, shown)
            for title, metric, shown in (
                ("an alarm", SUM, "'Threshold': 20"),
                ("an alarm on a percentile", PERCENTILE, "'ExtendedStatistic': 'p99'"),
                ("an alarm on an expression", EXPRESSION, "'Threshold': 20"),
            )
        },
        "a composite alarm": (
            *(alarms, composite(name, f"{name}-1"), composite(name, f"{name}-2")),
            *("cloudwatch.describe_alarms", {**named, **joined}, f"{name}-2"),
        ),
        "a rule": ([], rule(name, 2), rule(name, 5), "events.describe_rule", {"Name": name}, "rate(5 minutes)"),
        "a rule's target": (
            *([rule(name, 2)], target(name, 60), target(name, 120)),
            *("events.list_targets_by_rule", {"Rule": name}, "'MaximumEventAgeInSeconds': 120"),
        ),
        "an alias": (
            *(called, alias(name), alias(name, description="new")),
            *("lambda.get_alias", {"FunctionName": name, "Name": "minting"}, "new"),
        ),
        "settings of an alias for events": (
            *(called, retries(name, 0, "used"), retries(name, 1, "used")),
            *("lambda.get_function_event_invoke_config", of_alias, "'MaximumRetryAttempts': 1"),
        ),
        "a permission": (
            *(called, permission(name, qualifier="used"), permission(name, qualifier="used", sourceArn=CHANGED)),
            *("lambda.get_policy", of_alias, CHANGED),
        ),
    }


@pytest.mark.parametrize("kind", cases(""))
def test_it_is_made_changed_made_again_and_deleted(aws: Aws, name: str, kind: str) -> None:
    needed, one, other, call, arguments, changed = cases(name)[kind]
    service, _, operation = call.partition(".")
    client: Any = aws.client(service, HOME)  # pyright: ignore[reportArgumentType, reportCallIssue, reportUnknownVariableType]

    def shows() -> bool:
        try:
            return changed in str(getattr(client, operation)(**arguments))
        except ClientError:  # it isn't there
            return False

    assert up(aws, *needed, one)[1] == Counter(created=len(needed) + 1)
    assert up(aws, *needed, one)[1] == Counter(unchanged=len(needed) + 1)
    assert up(aws, *needed, other)[1]["unchanged"] == len(needed)
    assert shows()
    (present,) = [
        each for each in State("parts").resources.values() if (each.type, each.name) == (other.type, other.name)
    ]
    KINDS[other.type].delete(aws, present)  # as if by somebody else
    assert not shows()
    assert up(aws, *needed, other)[1] == Counter(unchanged=len(needed), created=1)
    assert shows()
    assert up(aws, *needed)[1] == Counter(unchanged=len(needed), deleted=1)
    assert not shows()
    up(aws)
