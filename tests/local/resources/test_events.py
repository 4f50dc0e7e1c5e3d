"""EventBridge rules: the local server runs their schedules, in every region."""

import json
import time
from collections import Counter
from pathlib import Path

import pytest

from local.aws_clients import Aws
from local.engine.program import Registration
from tests.local.recorder import RECORDER
from tests.local.registrations import HOME, function, permission, registration, role, up

OTHER = "ap-southeast-2"


def rule(name: str, region: str, expression: str = "rate(1 minute)") -> Registration:
    inputs = {"region": region, "name": name, "scheduleExpression": expression}
    return registration("aws:cloudwatch/eventRule:EventRule", name, inputs)


def target(name: str, region: str, age: int = 60) -> Registration:
    inputs = {
        "region": region,
        "rule": name,
        "targetId": name,
        "arn": f"arn:aws:lambda:{region}:000000000000:function:{name}",
        "input": json.dumps({"schedule": True, "region": region}),
        "retryPolicy": {"maximumEventAgeInSeconds": age, "maximumRetryAttempts": 0},
    }
    return registration("aws:cloudwatch/eventTarget:EventTarget", name, inputs)


@pytest.mark.long
def test_a_schedule_calls_its_function_in_every_region(aws: Aws, name: str, folder: Path) -> None:
    calls = folder / "calls"
    made = [role(name)]
    for region in (HOME, OTHER):
        allowed = permission(name, region=region, sourceArn=f"arn:aws:events:{region}:000000000000:rule/{name}")
        scheduled = function(name, RECORDER.read_text(), {"CALLS": str(calls)}, region)
        made += [scheduled, allowed, rule(name, region), target(name, region)]
    up(aws, *made)

    events: list[str] = []
    while len(set(events)) < 2:  # the schedule's minute, and the server's ten seconds between two looks at the clock
        time.sleep(1)
        events = calls.read_text().splitlines() if calls.exists() else []
    up(aws)

    assert {json.dumps({"schedule": True, "region": region}) for region in (HOME, OTHER)} == set(events)


def test_a_rule_and_its_target_are_changed_in_place_and_deleted(aws: Aws, name: str) -> None:
    client = aws.client("events", OTHER)
    [made, _], events = up(aws, rule(name, OTHER), target(name, OTHER))
    assert events == Counter(created=2)
    assert made["arn"] == f"arn:aws:events:{OTHER}:000000000000:rule/{name}"
    assert up(aws, rule(name, OTHER), target(name, OTHER))[1] == Counter(unchanged=2)

    assert up(aws, rule(name, OTHER, "rate(5 minutes)"), target(name, OTHER, 120))[1] == Counter(updated=2)
    assert client.describe_rule(Name=name)["ScheduleExpression"] == "rate(5 minutes)"
    (found,) = client.list_targets_by_rule(Rule=name)["Targets"]
    assert found["RetryPolicy"] == {"MaximumEventAgeInSeconds": 120, "MaximumRetryAttempts": 0}
    assert json.loads(found["Input"]) == {"schedule": True, "region": OTHER}

    assert up(aws, rule(name, OTHER, "rate(5 minutes)"))[1] == Counter(unchanged=1, deleted=1)
    assert client.list_targets_by_rule(Rule=name)["Targets"] == []
    up(aws)
    assert client.list_rules(NamePrefix=name)["Rules"] == []


def test_a_rule_that_somebody_changed_or_deleted_is_put_back(aws: Aws, name: str) -> None:
    client = aws.client("events", HOME)
    up(aws, rule(name, HOME), target(name, HOME))

    client.put_rule(Name=name, ScheduleExpression="rate(1 day)")
    assert up(aws, rule(name, HOME), target(name, HOME))[1] == Counter(updated=1, unchanged=1)
    assert client.describe_rule(Name=name)["ScheduleExpression"] == "rate(1 minute)"

    client.put_rule(Name=name, ScheduleExpression="rate(1 minute)", State="DISABLED")
    assert up(aws, rule(name, HOME), target(name, HOME))[1] == Counter(updated=1, unchanged=1)
    assert client.describe_rule(Name=name)["State"] == "ENABLED"

    client.remove_targets(Rule=name, Ids=[name])
    client.delete_rule(Name=name)
    assert up(aws, rule(name, HOME), target(name, HOME))[1] == Counter(created=2)
