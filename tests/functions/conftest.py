"""The functions in this process, as Lambda would run them, on tables of the local AWS server."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import boto3
import mint.handler
import pytest

from local.resources import Aws

HOME = "us-east-1"
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
Stack = SimpleNamespace
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def stack(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables in four regions (one that may come), and the functions' environment."""
    unique = uuid4().hex[:8]
    counters, layouts = f"t{unique}-counters", f"t{unique}-layouts"
    tables = [(region, counters) for region in (*REGIONS, "us-west-2")] + [(HOME, layouts)]
    for region, table in tables:
        make_table(aws, region, table)
    for name, value in {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": HOME,
        "AWS_DEFAULT_REGION": HOME,
        "COUNTERS_TABLE": counters,
        "LAYOUTS_TABLE": layouts,
        "DEFAULT_COUNTER": "integers",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.DEFAULT_SESSION = None
    mint.handler._table.cache_clear()
    yield SimpleNamespace(aws=aws, counters=counters, layouts=layouts, monkeypatch=monkeypatch)
    mint.handler._table.cache_clear()
    boto3.DEFAULT_SESSION = None
    for region, table in tables:
        client = aws.client("dynamodb", region)
        if table in client.list_tables()["TableNames"]:
            client.delete_table(TableName=table)


def make_table(aws: Aws, region: str, table: str) -> None:
    aws.client("dynamodb", region).create_table(
        TableName=table,
        BillingMode="PAY_PER_REQUEST",
        KeySchema=[{"AttributeName": "counter", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "counter", "AttributeType": "S"}],
    )


@pytest.fixture
def ask(stack: Stack) -> Ask:
    """`ask("GET", "/orders", region=...)`: the minting function's answer to a Function URL's event."""
    event = json.loads((Path(__file__).parent / "events" / "get.json").read_text())

    def asked(method: str = "GET", path: str = "/", region: str = HOME) -> dict[str, Any]:
        stack.monkeypatch.setenv("AWS_REGION", region)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        mint.handler._table.cache_clear()
        boto3.DEFAULT_SESSION = None
        http = {**event["requestContext"]["http"], "method": method, "path": path}
        answer = mint.handler.handler(
            {**event, "rawPath": path, "requestContext": {**event["requestContext"], "http": http}},
            SimpleNamespace(aws_request_id="request-1"),
        )
        stack.monkeypatch.setenv("AWS_REGION", HOME)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", HOME)
        return {**answer, "document": json.loads(answer["body"])}

    return asked
