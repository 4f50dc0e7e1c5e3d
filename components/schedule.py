"""Runs the coordinator every few minutes."""

import json
from dataclasses import dataclass

import pulumi
import pulumi_aws as aws

from .staying import STAYS

EVENT = json.dumps({"watch": True})

MAX_AGE = 60
"""Seconds after which a run is dropped: the least that EventBridge and Lambda accept. The next run does its work."""


@dataclass
class ScheduleArgs:
    """Which function runs, and how often."""

    rule_name: str
    region: str
    function: aws.lambda_.Function
    minutes: int


class Schedule(pulumi.ComponentResource):
    """A rule, the function that it calls, and the permission to call it. A run that fails isn't retried."""

    def __init__(self, name: str, args: ScheduleArgs, opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("global-integers:index:Schedule", name, None, opts)
        child = pulumi.ResourceOptions(parent=self, ignore_changes=STAYS)

        rule = aws.cloudwatch.EventRule(
            f"{name}-rule",
            name=args.rule_name,
            region=args.region,
            description="Runs the coordinator, which mends what it can.",
            schedule_expression=rate(args.minutes),
            opts=child,
        )
        permission = aws.lambda_.Permission(
            f"{name}-permission",
            region=args.region,
            function=args.function.name,
            statement_id="global-integers-watch",
            action="lambda:InvokeFunction",
            principal="events.amazonaws.com",
            source_arn=rule.arn,
            opts=child,
        )
        aws.lambda_.FunctionEventInvokeConfig(
            f"{name}-retries",
            region=args.region,
            function_name=args.function.name,
            maximum_event_age_in_seconds=MAX_AGE,
            maximum_retry_attempts=0,
            opts=child,
        )
        aws.cloudwatch.EventTarget(
            f"{name}-target",
            region=args.region,
            rule=rule.name,
            target_id="coordinator",
            arn=args.function.arn,
            input=EVENT,
            retry_policy=aws.cloudwatch.EventTargetRetryPolicyArgs(
                maximum_event_age_in_seconds=MAX_AGE, maximum_retry_attempts=0
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[permission], ignore_changes=STAYS),
        )
        self.register_outputs({})


def rate(minutes: int) -> str:
    """Return the schedule's expression. EventBridge refuses `rate(1 minutes)`, and `rate(5 minute)` too."""
    return f"rate({minutes} minute{'' if minutes == 1 else 's'})"
