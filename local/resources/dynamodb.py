"""DynamoDB tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from ..state import Made
from .kind import Aws, Result

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_dynamodb import DynamoDBClient


class Table:
    """A DynamoDB table."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the table, or bring it to `inputs`."""
        client = aws.client("dynamodb", inputs["region"])
        name = inputs["name"]
        if before is None:
            client.create_table(
                TableName=name,
                BillingMode=inputs["billingMode"],
                KeySchema=[{"AttributeName": inputs["hashKey"], "KeyType": "HASH"}],
                AttributeDefinitions=[
                    {"AttributeName": attribute["name"], "AttributeType": attribute["type"]}
                    for attribute in inputs["attributes"]
                ],
                StreamSpecification=(
                    {"StreamEnabled": True, "StreamViewType": inputs["streamViewType"]}
                    if inputs["streamEnabled"]
                    else {"StreamEnabled": False}
                ),
            )
            client.get_waiter("table_exists").wait(TableName=name, WaiterConfig={"Delay": 1, "MaxAttempts": 30})
        client.update_table(TableName=name, DeletionProtectionEnabled=inputs["deletionProtectionEnabled"])
        client.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": inputs["pointInTimeRecovery"]["enabled"]},
        )
        if "ttl" in inputs and not _expires(client, name):  # AWS refuses to enable it twice
            client.update_time_to_live(
                TableName=name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": inputs["ttl"]["attributeName"]},
            )
        return Result(name, _outputs(client.describe_table(TableName=name)["Table"]))

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or raise the service's error if it no longer exists."""
        client = aws.client("dynamodb", made.inputs["region"])
        return _outputs(client.describe_table(TableName=made.id)["Table"])

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the table with all that is in it."""
        client = aws.client("dynamodb", made.inputs["region"])
        client.delete_table(TableName=made.id)
        client.get_waiter("table_not_exists").wait(TableName=made.id, WaiterConfig={"Delay": 1, "MaxAttempts": 30})


def _expires(client: "DynamoDBClient", table: str) -> bool:
    """Return whether the table deletes what is old."""
    found = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    return found.get("TimeToLiveStatus") in ("ENABLING", "ENABLED")


def _outputs(table: Mapping[str, Any]) -> dict[str, Any]:
    return {"arn": table["TableArn"], "streamLabel": table.get("LatestStreamLabel", "")}
