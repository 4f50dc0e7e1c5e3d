"""The proxy, between the minting function's own client and the local AWS server."""

import uuid
from collections.abc import Generator
from random import Random
from typing import Any

import pytest
from aws_client.service import DynamoDB, ServiceError
from coordinate.dynamodb.encoding import item_values
from coordinate.protocol.model import Item
from mint.table import CounterTable

from local.aws_clients import Aws
from proof.chaos.proxy import Proxy, hot
from tests.lambda_.coordinator_calls import make_table
from tests.local.machine import HANGING

REGION, OTHER = "eu-west-1", "us-east-1"


def patient(region: str) -> DynamoDB:
    """Return the functions' client, which doesn't repeat what a busy machine answers late."""
    return DynamoDB(region, timeout=HANGING, connect_timeout=HANGING)


@pytest.fixture
def proxy(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Proxy]:
    """A proxy without faults, which DynamoDB's clients use."""
    with Proxy(Random(0), ()) as proxy:
        proxy.server = aws.endpoint
        monkeypatch.setenv("AWS_ENDPOINT_URL_DYNAMODB", proxy.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "test")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "test")
        monkeypatch.delenv("AWS_SESSION_TOKEN", raising=False)
        yield proxy


@pytest.fixture
def table(aws: Aws) -> str:
    """A counters table in both regions, with the counter `orders` at 1, stride 3."""
    name = f"chaos-{uuid.uuid4().hex}-counters"
    for region in (REGION, OTHER):
        make_table(aws, region, name)
        item = {"counter": {"S": "orders"}, **item_values(Item(1, 3, 3001, 1))}
        aws.client("dynamodb", region).put_item(TableName=name, Item=item)
    return name


def fence(table: str, counter: str = "orders") -> dict[str, object]:
    return {
        "TableName": table,
        "Key": {"counter": {"S": counter}},
        "UpdateExpression": "SET ceiling = :ceiling",
        "ExpressionAttributeValues": {":ceiling": {"N": "301"}},
    }


def test_it_records_what_was_minted(proxy: Proxy, table: str) -> None:
    counters = CounterTable(table, patient(REGION))

    assert list(counters.mint("orders").integers()) == [4]
    assert list(counters.mint_block("orders", 3).integers()) == [7, 10, 13]

    assert [(write.region, write.counter, list(write.integers)) for write in proxy.writes] == [
        (REGION, "orders", [4]),
        (REGION, "orders", [7, 10, 13]),
    ]
    assert all(write.began < write.ended for write in proxy.writes)


def test_a_hot_item_is_throttled_for_the_coordinator(proxy: Proxy, table: str) -> None:
    item: dict[str, Any] = {"stride": {"N": "3"}, "counter": {"S": "orders"}}
    dynamodb = patient(REGION)

    with proxy.failing(hot(REGION, "orders")):
        for operation, write in (("UpdateItem", fence(table)), ("PutItem", {"TableName": table, "Item": item})):
            with pytest.raises(ServiceError) as refused:
                dynamodb.call(operation, write)
            assert refused.value.meaning == "throttled"
        dynamodb.call("UpdateItem", fence(table, "invoices"))
        patient(OTHER).call("UpdateItem", fence(table))
        assert proxy.injected == {"throttled": 6}  # three attempts each
        assert list(CounterTable(table, dynamodb).mint("orders").integers()) == [4]
