"""EventBridge rules that run on a schedule, and what they call. The local server runs the schedule itself."""

from collections.abc import Mapping
from typing import Any

from ..engine.state import Made
from .kind import Aws, Result


class Rule:
    """A rule with a schedule."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the rule, over an earlier one."""
        rule = aws.client("events", inputs["region"]).put_rule(
            Name=inputs["name"],
            ScheduleExpression=inputs["scheduleExpression"],
            Description=inputs.get("description", ""),
            State=inputs.get("state", "ENABLED"),
        )
        return Result(inputs["name"], {"arn": rule["RuleArn"]})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        rule = aws.client("events", made.inputs["region"]).describe_rule(Name=made.id)
        if rule.get("State") != made.inputs.get("state", "ENABLED"):
            return {**made.outputs, "scheduleExpression": ""}  # it runs on no schedule
        return {**made.outputs, "scheduleExpression": rule.get("ScheduleExpression", "")}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the rule."""
        aws.client("events", made.inputs["region"]).delete_rule(Name=made.id)


class Target:
    """What a rule calls. Without a `targetId`, it has the rule's name."""

    identity: tuple[str, ...] = ("region", "rule", "targetId")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the target, over an earlier one."""
        target: dict[str, Any] = {"Id": inputs.get("targetId", inputs["rule"]), "Arn": inputs["arn"]}
        if "input" in inputs:
            target["Input"] = inputs["input"]
        if "retryPolicy" in inputs:
            retries: dict[str, int] = inputs["retryPolicy"]
            target["RetryPolicy"] = {name[0].upper() + name[1:]: number for name, number in retries.items()}
        aws.client("events", inputs["region"]).put_targets(Rule=inputs["rule"], Targets=[target])
        return Result(target["Id"], {"targetId": target["Id"]})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if the rule has no such target."""
        client = aws.client("events", made.inputs["region"])
        targets = client.list_targets_by_rule(Rule=made.inputs["rule"])["Targets"]
        return made.outputs if any(target["Id"] == made.id for target in targets) else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Take the target from the rule, which AWS doesn't delete as long as it has one."""
        client = aws.client("events", made.inputs["region"])
        client.remove_targets(Rule=made.inputs["rule"], Ids=[made.id])
