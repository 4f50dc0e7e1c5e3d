"""Tables that are deleted, and restored with what they held earlier."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:  # the stubs are for the checks, not for running
    from types_boto3_dynamodb import DynamoDBClient

WAIT: Any = {"Delay": 1, "MaxAttempts": 30}


class Backup(NamedTuple):
    """A table's description and items at a moment."""

    description: Mapping[str, Any]
    items: list[dict[str, Any]]


def back_up(client: "DynamoDBClient", table: str) -> Backup:
    """Return the table as it is now."""
    description: Any = client.describe_table(TableName=table)["Table"]
    pages = client.get_paginator("scan").paginate(TableName=table, ConsistentRead=True)
    return Backup(description, [dict(item) for page in pages for item in page["Items"]])


def lose(client: "DynamoDBClient", table: str) -> None:
    """Delete the table with all that is in it."""
    client.delete_table(TableName=table)
    client.get_waiter("table_not_exists").wait(TableName=table, WaiterConfig=WAIT)


def tables_of(client: "DynamoDBClient", prefix: str) -> list[str]:
    """Return the names of all tables that begin so."""
    pages = client.get_paginator("list_tables").paginate()
    return [name for page in pages for name in page["TableNames"] if name.startswith(prefix)]


def restore(client: "DynamoDBClient", backup: Backup) -> None:
    """Make a table of the same name, which must not exist, with what the backup holds.

    Like a restored table on AWS, it has another id. (A server's own backups aren't used: DynamoDB Local has none.)
    """
    description = backup.description
    table = description["TableName"]
    stream = description.get("StreamSpecification", {"StreamEnabled": False})
    client.create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=description["KeySchema"],
        AttributeDefinitions=description["AttributeDefinitions"],
        StreamSpecification=stream,
    )
    client.get_waiter("table_exists").wait(TableName=table, WaiterConfig=WAIT)
    for item in backup.items:
        client.put_item(TableName=table, Item=item)
