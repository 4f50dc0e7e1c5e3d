"""Calls of the coordinator as a deployment makes them, and a look at what came of it."""

from types import SimpleNamespace
from typing import Any, Protocol

import coordinate.handler
from coordinate.encoding import item_of, item_values, register_attributes, register_of
from coordinate.model import Item, Register

from local.resources import Aws

HOME = "us-east-1"
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]
CONTEXT = SimpleNamespace(get_remaining_time_in_millis=lambda: 900_000)


def make_table(aws: Aws, region: str, table: str, key: str = "counter") -> None:
    aws.client("dynamodb", region).create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
    )


def deploy(*regions: str, counters: list[str] | None = None, **more: Any) -> dict[str, Any]:
    event = {"regions": list(regions) or REGIONS, "counters": counters or ["integers"], **more}
    return coordinate.handler.handler({**event, "tf": {"action": "update", "prev_input": None}}, CONTEXT)


def create(*counters: str) -> dict[str, Any]:
    return coordinate.handler.handler({"create": list(counters)}, CONTEXT)


class Tables(Protocol):
    """Where the counters tables are."""

    @property
    def aws(self) -> Aws: ...
    @property
    def counters(self) -> str: ...


class AllTables(Tables, Protocol):
    """Where the layouts table is, too."""

    @property
    def layouts(self) -> str: ...


def item(stack: Tables, region: str, counter: str = "integers") -> Item | None:
    client = stack.aws.client("dynamodb", region)
    found = client.get_item(TableName=stack.counters, Key={"counter": {"S": counter}}).get("Item")
    return item_of(found) if found else None


def items(stack: Tables, *regions: str, counter: str = "integers") -> list[Item | None]:
    return [item(stack, region, counter) for region in regions or REGIONS]


def put_item(stack: Tables, region: str, new: Item, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", region).put_item(
        TableName=stack.counters, Item={"counter": {"S": counter}, **item_values(new)}
    )


def delete_item(stack: Tables, region: str, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", region).delete_item(TableName=stack.counters, Key={"counter": {"S": counter}})


def register(stack: AllTables, counter: str = "integers") -> Register | None:
    client = stack.aws.client("dynamodb", HOME)
    found = client.get_item(TableName=stack.layouts, Key={"counter": {"S": counter}}).get("Item")
    return register_of(found) if found else None


def put_register(stack: AllTables, new: Register) -> None:
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.layouts, Item=register_attributes(new))


def delete_register(stack: AllTables, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", HOME).delete_item(TableName=stack.layouts, Key={"counter": {"S": counter}})
