"""Calls of the coordinator as a deployment and the schedule make them, and a look at what came of it."""

import json
import os
import time
from collections.abc import Callable
from contextlib import closing
from types import SimpleNamespace
from typing import Any, Protocol

import coordinate.handler
import pytest
from aws_client.service import DynamoDB, ServiceError, set_deadline
from coordinate.dynamodb.encoding import attributes_of, copy_of, item_of, item_values, record_of, register_of
from coordinate.protocol.model import Copy, DeploymentRecord, Item, Register

from components.coordinator.deployment import StoredRecord, event
from components.coordinator.deployment import record_of as stored_record_of
from global_integers_core.names import CHECK_COUNTER
from global_integers_core.records import RECORD_KEY
from local.aws_clients import Aws

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


laid_out = deploy
"""For tests that begin with a stack and are about something else."""


def deployment(
    *regions: str,
    counters: list[str] | None = None,
    leaving: list[str] | None = None,
    floors: dict[str, Any] | None = None,
    recovery: dict[str, Any] | None = None,
    window: int = 100_000_000,
    schedule_minutes: int = 5,
    home: str | None = None,
    first: str | None = None,
) -> dict[str, Any]:
    """Return a deployment's event, as the program makes it from what its preview reads.

    Args:
        regions: the layout, by default `REGIONS`.
        counters: by default `integers`.
        leaving: regions that are out of the layout, but not deleted yet.
        floors: by counter, or by `*`.
        recovery: the answer to a loss.
        window: integers a region.
        schedule_minutes: between two scheduled runs.
        home: by default that of the layouts table as it is now.
        first: what `home` was at the first deployment, by default what it is now.
    """
    names, leavers = list(regions) or REGIONS, leaving or []
    home = home or home_now()
    desired = {
        "regions": names,
        "leaving": leavers,
        "counters": counters or ["integers"],
        "floors": floors or {},
        "recovery": recovery or {},
        "window": window,
        "scheduleMinutes": schedule_minutes,
        "tableLabels": {region: _label(region, os.environ["COUNTERS_TABLE"]) for region in (*names, *leavers)},
        "layoutsLabel": home,
        "firstLayoutsLabel": home if first is None else first,
        "defaultCounter": (counters or ["integers"])[0],
    }
    record, its_copy = (_stored(os.environ[table]) for table in ("LAYOUTS_TABLE", "MIRROR_TABLE"))
    return json.loads(event(desired, record, its_copy, int(time.time())))


def _stored(table: str) -> StoredRecord | None:
    """Return the record, or its copy in the mirror, as the program reads it."""
    found = _called(HOME, "GetItem", TableName=table, Key={"counter": {"S": RECORD_KEY}}).get("Item")
    return stored_record_of(json.dumps(found), table) if found else None


def home_now() -> str:
    """Return the home region, and what tells its layouts table from a recreated one."""
    return f"{HOME} {_label(HOME, os.environ['LAYOUTS_TABLE'], 'LatestStreamLabel')}"


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


def reach_at(patch: pytest.MonkeyPatch, endpoint: str, *regions: str) -> None:
    """Let the coordinator reach these regions at another endpoint, by default all."""

    def reached(region: str, **options: Any) -> DynamoDB:
        with pytest.MonkeyPatch.context() as environment:
            if region in regions or not regions:
                environment.setenv("AWS_ENDPOINT_URL_DYNAMODB", endpoint)
            return DynamoDB(region, **options)

    patch.setattr("coordinate.dynamodb.calls.DynamoDB", reached)


class Tables(Protocol):
    """Where the counters tables are."""

    @property
    def aws(self) -> Aws: ...
    @property
    def counters(self) -> str: ...


class AllTables(Tables, Protocol):
    """Where the layouts table and its mirror are, too."""

    @property
    def layouts(self) -> str: ...
    @property
    def mirror(self) -> str: ...


def item(stack: Tables, region: str, counter: str = "integers") -> Item | None:
    found = _found(stack, region, stack.counters, counter)
    return item_of(found) if found else None


def items(stack: Tables, *regions: str, counter: str = "integers") -> list[Item | None]:
    return [item(stack, region, counter) for region in regions or REGIONS]


def put_item(stack: Tables, region: str, new: Item, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", region).put_item(
        TableName=stack.counters, Item={"counter": {"S": counter}, **item_values(new)}
    )


def delete_item(stack: Tables, region: str, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", region).delete_item(TableName=stack.counters, Key={"counter": {"S": counter}})


def record(stack: AllTables) -> DeploymentRecord:
    found = _found(stack, HOME, stack.layouts, RECORD_KEY)
    assert found is not None, "there is no record"
    return record_of(found)


def put_record(stack: AllTables, new: DeploymentRecord) -> None:
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.layouts, Item=attributes_of(new))


def register(stack: AllTables, counter: str = "integers") -> Register | None:
    found = _found(stack, HOME, stack.layouts, counter)
    return register_of(found) if found else None


def put_register(stack: AllTables, new: Register) -> None:
    stack.aws.client("dynamodb", HOME).put_item(TableName=stack.layouts, Item=attributes_of(new))


def delete_register(stack: AllTables, counter: str = "integers") -> None:
    stack.aws.client("dynamodb", HOME).delete_item(TableName=stack.layouts, Key={"counter": {"S": counter}})


def copy(stack: AllTables, counter: str = "integers") -> Copy[Register] | None:
    found = _found(stack, HOME, stack.mirror, counter)
    return copy_of(register_of)(found) if found else None


def _found(stack: Tables, region: str, table: str, key: str) -> dict[str, Any] | None:
    client: Any = stack.aws.client("dynamodb", region)
    return client.get_item(TableName=table, Key={"counter": {"S": key}}).get("Item")
