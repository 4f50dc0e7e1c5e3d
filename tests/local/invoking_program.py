"""A small program that asks a function at every deployment, as this project's program asks the coordinator.

`python -m tests.local.invoking_program <endpoint> <settings as JSON>` deploys it in a process that may be killed.
"""

import json
import sys
from collections import Counter
from typing import Any

import pulumi
import pulumi_aws as aws

from components.function import trusting
from local.aws_clients import Aws
from local.engine import deploy
from tests.local.recorder import RECORDER

HOME = "us-east-1"


def program() -> None:
    """Register a function and its invocation."""
    config = pulumi.Config("asking")
    name = config.require("name")
    logs = aws.cloudwatch.LogGroup("logs", name=f"/aws/lambda/{name}", region=HOME, retention_in_days=1)
    role = aws.iam.Role(
        "role",
        name=name,
        path=config.get("path"),
        assume_role_policy=trusting("lambda.amazonaws.com"),
        opts=pulumi.ResourceOptions(ignore_changes=["path"]),
    )
    function = aws.lambda_.Function(
        "function",
        name=name,
        region=HOME,
        role=role.arn,
        runtime="python3.14",
        architectures=["arm64"],
        handler="recorder.handler",
        code=pulumi.AssetArchive({"recorder.py": pulumi.FileAsset(str(RECORDER))}),
        memory_size=128,
        timeout=60,
        reserved_concurrent_executions=-1,
        environment=aws.lambda_.FunctionEnvironmentArgs(variables={"CALLS": config.require("calls")}),
        logging_config=aws.lambda_.FunctionLoggingConfigArgs(
            log_format="JSON", log_group=logs.name, application_log_level="WARN", system_log_level="WARN"
        ),
    )
    event = config.get("event")
    if event is not None:
        asked = aws.lambda_.Invocation(
            "asked",
            region=HOME,
            function_name=function.name,
            lifecycle_scope="CREATE_ONLY",
            input=event,
        )
        pulumi.export("result", asked.result.apply(json.loads))
        after = config.get("after")
        if after is not None:  # a table whose key isn't among its attributes is refused
            attributes = [aws.dynamodb.TableAttributeArgs(name="key", type="S")]
            aws.dynamodb.Table(
                "after",
                name=f"{name}-after",
                region=HOME,
                billing_mode="PAY_PER_REQUEST",
                hash_key=after,
                attributes=attributes,
                stream_enabled=False,
                deletion_protection_enabled=False,
                point_in_time_recovery=aws.dynamodb.TablePointInTimeRecoveryArgs(enabled=True),
                opts=pulumi.ResourceOptions(depends_on=[asked]),
            )
    pulumi.export("path", role.path)


def deployed(endpoint: str, settings: dict[str, str]) -> tuple[dict[str, Any], Counter[str]]:
    """Deploy it. Return what it exports, and how often each event was reported for the invocation."""
    events: Counter[str] = Counter()

    def report(event: str, kind: str, _name: str) -> None:
        sys.stdout.write(f"{event} {kind}\n")
        sys.stdout.flush()
        if kind == "aws:lambda/invocation:Invocation":
            events[event] += 1

    config = {f"asking:{key}": value for key, value in settings.items()}
    return deploy("asking", settings["name"], config, Aws(endpoint), report, program), events


if __name__ == "__main__":
    deployed(sys.argv[1], json.loads(sys.argv[2]))
