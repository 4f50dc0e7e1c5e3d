"""The coordinator also runs by schedule, and by nothing else that EventBridge could send."""

import json

import pytest

from components.schedule import rate
from tests.components.aws_answers import FUNCTION, PERMISSION, RETRIES, RULE, TARGET
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly


@pytest.mark.parametrize(
    ("minutes", "expression"), [(1, "rate(1 minute)"), (2, "rate(2 minutes)"), (60, "rate(60 minutes)")]
)
def test_the_unit_agrees_with_the_number_as_eventbridge_demands(minutes: int, expression: str) -> None:
    assert rate(minutes) == expression
    assert deploy(config(HOME, watchMinutes=minutes)).one(RULE).inputs["scheduleExpression"] == expression


def test_it_runs_at_home_every_five_minutes(signed: Deployment) -> None:
    rule, target = signed.one(RULE), signed.one(TARGET)

    assert (rule.inputs["name"], rule.inputs["scheduleExpression"]) == (f"{PREFIX}-watch", "rate(5 minutes)")
    assert target.inputs["rule"] == rule.inputs["name"]
    assert target.inputs["arn"].endswith(f":function:{PREFIX}-coordinate")
    assert json.loads(target.inputs["input"]) == {"watch": True}
    assert rule.inputs["region"] == target.inputs["region"] == HOME


def test_only_this_rule_may_start_it(signed: Deployment) -> None:
    permission = signed.one(PERMISSION, principal="events.amazonaws.com")

    assert permission.inputs["function"] == f"{PREFIX}-coordinate"
    assert permission.inputs["action"] == "lambda:InvokeFunction"
    assert permission.inputs["sourceArn"].endswith(f":{HOME}:123456789012:rule/{PREFIX}-watch")
    assert permission.inputs["region"] == HOME


def test_a_run_that_fails_or_is_late_is_left_to_the_next_one(signed: Deployment) -> None:
    once = {"maximumRetryAttempts": 0, "maximumEventAgeInSeconds": 60}

    assert signed.one(TARGET).inputs["retryPolicy"] == once
    assert once.items() <= signed.one(RETRIES, functionName=f"{PREFIX}-coordinate", region=HOME).inputs.items()


def test_a_deployment_that_fails_has_a_schedule_that_carries_it_on() -> None:
    _, deployment = deploy_badly(config(*THREE), failing="integers-coordinator-settle")

    assert {resource.type for resource in deployment.resources} >= {RULE, TARGET, RETRIES}
    coordinate = deployment.one(FUNCTION, name=f"{PREFIX}-coordinate")
    assert coordinate.urn in deployment.one(TARGET).dependencies
