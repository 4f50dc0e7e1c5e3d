"""What happens to tables and regions: deleted, recreated empty, restored from a backup, unreachable."""

from typing import Any

import pytest
from aws_client.service import DynamoDB

from tests.lambda_.coordinator_calls import HOME, make_table
from tests.lambda_.fixtures import Stack

Records = list[dict[str, Any]]

NOWHERE = "http://127.0.0.1:1"
"""An endpoint that refuses connections."""


def recreate(stack: Stack, region: str, table: str, key: str = "counter") -> None:
    """Delete a table, and make an empty one of its name."""
    delete(stack, region, table)
    make_table(stack.aws, region, table, key)


def delete(stack: Stack, region: str, table: str) -> None:
    stack.aws.client("dynamodb", region).delete_table(TableName=table)


def backup(stack: Stack, region: str, table: str) -> Records:
    """Return all records of a table, ordered by their keys."""
    found: list[Any] = list(stack.aws.client("dynamodb", region).scan(TableName=table, ConsistentRead=True)["Items"])
    return sorted(found, key=lambda each: each["counter"]["S"])


def restore(stack: Stack, region: str, table: str, records: Records) -> None:
    """Replace a table by another one of its name that has these records, as restoring it from a backup does."""
    recreate(stack, region, table)
    client = stack.aws.client("dynamodb", region)
    for each in records:
        client.put_item(TableName=table, Item=each)


def everything(stack: Stack, *regions: str) -> dict[str, Records]:
    """Return all records of the layouts table, of the mirror, and of these regions' counters tables."""
    return {
        "layouts": backup(stack, HOME, stack.layouts),
        "mirror": backup(stack, HOME, stack.mirror),
        **{region: backup(stack, region, stack.counters) for region in regions},
    }


def cut_off(patch: pytest.MonkeyPatch, *regions: str) -> None:
    """Let these regions refuse the coordinator's connections. They mint all the same."""

    def reached(region: str, **options: Any) -> DynamoDB:
        with pytest.MonkeyPatch.context() as environment:
            if region in regions:
                environment.setenv("AWS_ENDPOINT_URL_DYNAMODB", NOWHERE)
            return DynamoDB(region, **options)

    patch.setattr("coordinate.dynamodb.calls.DynamoDB", reached)
