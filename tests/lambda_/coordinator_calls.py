"""Calls of the coordinator as a deployment and the schedule make them, and a look at what came of it."""

import json
import os
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import coordinate.handler
from aws_client.service import DynamoDB, ServiceError, set_deadline
from coordinate.dynamodb.encoding import attributes_of, item_of, item_values, record_of, register_of
from coordinate.protocol.model import DeploymentRecord, Item, Register

from components.coordinator.deployment import StoredRecord, event
from components.coordinator.deployment import record_of as stored_record_of
from global_integers_core.names import CHECK_COUNTER
from global_integers_core.records import RECORD_KEY
from local.aws_clients import Aws
from tests.lambda_.coordinate.sample_records import desired_state_document

if TYPE_CHECKING:
    from tests.lambda_.fixtures import Stack

HOME = "us-east-1"
REGIONS = ["us-east-1", "eu-west-1", "ap-southeast-2"]


PATIENCE = 60
"""Seconds that a client waits for the server, which answers at once: but the machine may be as busy as can be."""


def all_time() -> int:
    """Return the milliseconds that a function has at first."""
    return 900_000


def make_table(aws: Aws, region: str, table: str, key: str = "counter") -> None:
    aws.client("dynamodb", region).create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "KEYS_ONLY"},
    )


def deploy(*regions: str, **settings: Any) -> dict[str, Any]:
    """Deploy with these settings (`deployment`), and return the coordinator's reply."""
    return send(deployment(*regions, **settings))


AS_DEPLOYED = ["integers", CHECK_COUNTER]
"""The counters of a stack as the program deploys it. Where a table has no `CHECK_COUNTER`, it is new."""


def deployment(*regions: str, counters: Sequence[str] = ("integers",), **settings: Any) -> dict[str, Any]:
    """Return a deployment's event, as the program makes it from what its preview reads.

    `regions` are the layout, by default `REGIONS`; `settings` replace others of the desired state.
    """
    names, home = list(regions) or REGIONS, _label(HOME, os.environ["LAYOUTS_TABLE"], "LatestStreamLabel")
    everywhere = (*names, *settings.get("leaving", ()))
    common: dict[str, Any] = {
        "counters": [*counters],
        "defaultCounter": counters[0],
        "window": 100_000_000,
        "tableLabels": {region: _label(region, os.environ["COUNTERS_TABLE"]) for region in everywhere},
        "layoutsLabel": f"{HOME} {home}",
        "firstLayoutsLabel": f"{HOME} {home}",
    }
    record, its_copy = (_stored(os.environ[table]) for table in ("LAYOUTS_TABLE", "MIRROR_TABLE"))
    return json.loads(event(desired_state_document(*names, **common | settings), record, its_copy, int(time.time())))


def _stored(table: str) -> StoredRecord | None:
    """Return the record, or its copy in the mirror, as the program reads it."""
    found = _called(HOME, "GetItem", TableName=table, Key={"counter": {"S": RECORD_KEY}}).get("Item")
    return stored_record_of(json.dumps(found), table) if found else None


def scheduled_run(remaining: Callable[[], int] = all_time) -> dict[str, Any]:
    """Run the coordinator as the schedule does."""
    return send({"schedule": True}, remaining)


def create(*counters: str) -> dict[str, Any]:
    """Create counters as an operator does."""
    return send({"create": list(counters)})


ARN = f"arn:aws:lambda:{HOME}:000000000000:function:shop-coordinate"
"""The coordinator's, without a qualifier."""

DEPLOYMENTS = f"{ARN}:deployments"


def send(
    event: dict[str, Any], remaining: Callable[[], int] = all_time, *, invoked: str = DEPLOYMENTS
) -> dict[str, Any]:
    """Send the coordinator an event. `remaining` says how many milliseconds the function has left.

    `invoked` is the ARN by which it is called.
    """
    context = SimpleNamespace(get_remaining_time_in_millis=remaining, invoked_function_arn=invoked)
    try:
        return coordinate.handler.handler(event, context)
    finally:
        set_deadline(None)


def _label(region: str, table: str, label: str = "TableId") -> str:
    try:
        return _called(region, "DescribeTable", TableName=table)["Table"].get(label, "")
    except ServiceError as error:
        if error.code != "ResourceNotFoundException":
            raise
        return ""


def _called(region: str, operation: str, **request: Any) -> dict[str, Any]:
    with closing(DynamoDB(region)) as dynamodb:
        return dynamodb.call(operation, request)


def item(stack: "Stack", region: str, counter: str = "integers") -> Item | None:
    found = _found(stack, region, stack.counters, counter)
    return item_of(found) if found else None


def items(stack: "Stack", *regions: str, counter: str = "integers") -> list[Item | None]:
    return [item(stack, region, counter) for region in regions or REGIONS]


def put_item(stack: "Stack", region: str, new: Item, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", region).put_item(
        TableName=stack.counters, Item={"counter": {"S": counter}, **item_values(new)}
    )


def delete_item(stack: "Stack", region: str, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", region).delete_item(TableName=stack.counters, Key={"counter": {"S": counter}})


def record(stack: "Stack") -> DeploymentRecord:
    found = _found(stack, HOME, stack.layouts, RECORD_KEY)
    assert found is not None, "there is no record"
    return record_of(found)


def register(stack: "Stack", counter: str = "integers") -> Register | None:
    found = _found(stack, HOME, stack.layouts, counter)
    return register_of(found) if found else None


def put_at_home(stack: "Stack", new: DeploymentRecord | Register) -> None:
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.layouts, Item=attributes_of(new))


def _found(stack: "Stack", region: str, table: str, key: str) -> dict[str, Any] | None:
    client: Any = stack.aws.client("dynamodb", region)
    return client.get_item(TableName=table, Key={"counter": {"S": key}}).get("Item")
