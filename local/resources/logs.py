"""CloudWatch log groups."""

from collections.abc import Mapping
from typing import Any

from ..state import Made
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
