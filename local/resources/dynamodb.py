"""DynamoDB tables, and an item of one."""

import json
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from ..aws_clients import Aws
from ..paths import LocalError
from ..stack import Made
from .kind import Applied, Kind

SOON: Any = {"Delay": 1, "MaxAttempts": 30}


class Table(Kind):
    """A DynamoDB table."""

    identity = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Applied:
        """Create the table, or bring it to `inputs`."""
        client, name = aws.client("dynamodb", inputs["region"]), inputs["name"]
        stream = _stream(inputs)
        if before is None:
            attributes = inputs["attributes"]
            client.create_table(
                TableName=name,
                BillingMode=inputs["billingMode"],
                KeySchema=[{"AttributeName": inputs["hashKey"], "KeyType": "HASH"}],
                AttributeDefinitions=[{"AttributeName": of["name"], "AttributeType": of["type"]} for of in attributes],
                StreamSpecification=stream,
                SSESpecification=_encryption(inputs),
            )
        elif _has_stream(client.describe_table(TableName=name)["Table"]) != inputs["streamEnabled"]:
            client.update_table(TableName=name, StreamSpecification=stream)  # AWS refuses to enable it twice
        client.get_waiter("table_exists").wait(TableName=name, WaiterConfig=SOON)
        client.update_table(TableName=name, DeletionProtectionEnabled=inputs["deletionProtectionEnabled"])
        if before is not None and before.inputs.get("serverSideEncryption") != inputs.get("serverSideEncryption"):
            client.update_table(TableName=name, SSESpecification=_encryption(inputs))
        client.update_continuous_backups(
            TableName=name,
            PointInTimeRecoverySpecification={"PointInTimeRecoveryEnabled": inputs["pointInTimeRecovery"]["enabled"]},
        )
        if "ttl" in inputs and not _expires(client, name):  # AWS refuses to enable it twice
            client.update_time_to_live(
                TableName=name,
                TimeToLiveSpecification={"Enabled": True, "AttributeName": inputs["ttl"]["attributeName"]},
            )
        return name, {}

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs and those inputs that somebody else may have changed."""
        client = aws.client("dynamodb", made.inputs["region"])
        table = client.describe_table(TableName=made.id)["Table"]
        backups = client.describe_continuous_backups(TableName=made.id)["ContinuousBackupsDescription"]
        recovery = backups.get("PointInTimeRecoveryDescription", {}).get("PointInTimeRecoveryStatus")
        return {
            "arn": table.get("TableArn", ""),
            "streamLabel": table.get("LatestStreamLabel", ""),
            "streamEnabled": _has_stream(table),
            "deletionProtectionEnabled": table.get("DeletionProtectionEnabled", False),
            "pointInTimeRecovery": {"enabled": recovery == "ENABLED"},
            **({"ttl": {**made.inputs["ttl"], "enabled": _expires(client, made.id)}} if "ttl" in made.inputs else {}),
        }

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the table and wait for it."""
        client = aws.client("dynamodb", made.inputs["region"])
        client.delete_table(TableName=made.id)
        client.get_waiter("table_not_exists").wait(TableName=made.id, WaiterConfig=SOON)


def table_item(aws: Aws, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an item as `aws.dynamodb.get_table_item` does: its attributes with their types, as JSON.

    If there is no such table, the error says "couldn't find resource", as Terraform's provider does. If the call fails
    otherwise, it has "operation error" in its text, as from AWS's SDK.
    """
    table = arguments["tableName"]
    client = aws.client("dynamodb", arguments["region"])
    try:
        found = client.get_item(TableName=table, Key=json.loads(arguments["key"]), ConsistentRead=True)
    except client.exceptions.ResourceNotFoundException as error:
        raise LocalError(f"reading an item of {table}: couldn't find resource") from error
    except (ClientError, BotoCoreError) as error:
        raise LocalError(f"reading an item of {table}: operation error DynamoDB: GetItem, {error}") from error
    if "Item" not in found:
        raise LocalError(f"reading the item {arguments['key']} of {table}: empty result")
    return {**arguments, "id": f"{table} {arguments['key']}", "item": json.dumps(found["Item"])}


def _stream(inputs: Mapping[str, Any]) -> Any:
    if not inputs["streamEnabled"]:
        return {"StreamEnabled": False}
    return {"StreamEnabled": True, "StreamViewType": inputs["streamViewType"]}


def _encryption(inputs: Mapping[str, Any]) -> Any:
    wanted: Mapping[str, Any] | None = inputs.get("serverSideEncryption")
    if not wanted:
        return {"Enabled": False}  # by AWS's own key
    return {"Enabled": True, "SSEType": "KMS", "KMSMasterKeyId": wanted["kmsKeyArn"]}


def _has_stream(table: Mapping[str, Any]) -> bool:
    return bool(table.get("StreamSpecification", {}).get("StreamEnabled"))


def _expires(client: Any, table: str) -> bool:
    found = client.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
    return found.get("TimeToLiveStatus") in ("ENABLING", "ENABLED")
