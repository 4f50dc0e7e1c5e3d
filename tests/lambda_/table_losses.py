"""What happens to tables: deleted, recreated empty. And what is in them."""

from typing import Any

from tests.lambda_.coordinator_calls import HOME, make_table
from tests.lambda_.fixtures import Stack


def recreate(stack: Stack, region: str, table: str, key: str = "counter") -> None:
    """Delete a table, and make an empty one of its name."""
    delete(stack, region, table)
    make_table(stack.aws, region, table, key)


def delete(stack: Stack, region: str, table: str) -> None:
    stack.aws.client("dynamodb", region).delete_table(TableName=table)


def everything(stack: Stack, *regions: str) -> dict[str, list[dict[str, Any]]]:
    """Return all records of the layouts table, of the mirror, and of these regions' counters tables, by their keys."""

    def records(region: str, table: str) -> list[dict[str, Any]]:
        found: list[Any] = list(
            stack.aws.client("dynamodb", region).scan(TableName=table, ConsistentRead=True)["Items"]
        )
        return sorted(found, key=lambda each: each["counter"]["S"])

    at_home = {table: records(HOME, table) for table in (stack.layouts, stack.mirror)}
    return {**at_home, **{region: records(region, stack.counters) for region in regions}}
