"""The functions in this process, as Lambda would run them, on tables of the local AWS server."""

import json
from collections.abc import Callable, Generator
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from uuid import uuid4

import aws.deadline
import boto3
import mint.handler
import mint.runtime
import pytest

from local.resources import Aws
from tests.lambda_.laying_out import make_table

HOME = "us-east-1"
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
Stack = SimpleNamespace
Ask = Callable[..., dict[str, Any]]


@pytest.fixture
def stack(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables in four regions (one that may come), and the functions' environment."""
    unique = uuid4().hex[:8]
    counters, layouts, receipts = (f"t{unique}-{name}" for name in ("counters", "layouts", "receipts"))
    tables = [(region, counters) for region in (*REGIONS, "us-west-2")] + [(HOME, layouts)]
    for region, table in tables:
        make_table(aws, region, table)
    make_table(aws, HOME, receipts, key="receipt")
    tables.append((HOME, receipts))
    for name, value in {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": HOME,
        "AWS_DEFAULT_REGION": HOME,
        "COUNTERS_TABLE": counters,
        "LAYOUTS_TABLE": layouts,
        "RECEIPTS_TABLE": receipts,
        "DEFAULT_COUNTER": "integers",
        "IDEMPOTENCY_HOURS": "24",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.DEFAULT_SESSION = None
    forget()
    yield SimpleNamespace(aws=aws, counters=counters, layouts=layouts, receipts=receipts, monkeypatch=monkeypatch)
    forget()
    boto3.DEFAULT_SESSION = None
    for region, table in tables:
        client = aws.client("dynamodb", region)
        if table in client.list_tables()["TableNames"]:
            client.delete_table(TableName=table)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The environment that Lambda gives a function, and no limit of time from an earlier test."""
    for name, value in {
        "AWS_REGION": "eu-west-1",
        "AWS_ACCESS_KEY_ID": "AKID",
        "AWS_SECRET_ACCESS_KEY": "secret",
        "AWS_SESSION_TOKEN": "the-token",
    }.items():
        monkeypatch.setenv(name, value)
    aws.deadline.begin(None)
    yield
    aws.deadline.begin(None)


def forget() -> None:
    """What a warm function remembers: as if it were cold."""
    mint.runtime.forget()


@pytest.fixture
def ask(stack: Stack) -> Ask:
    """`ask("GET", "/orders", region=...)`: the minting function's answer to a Function URL's event."""
    event = json.loads((Path(__file__).parent / "events" / "get.json").read_text())

    def asked(
        method: str = "GET", path: str = "/", region: str = HOME, *, warm: bool = False, **headers: str
    ) -> dict[str, Any]:
        stack.monkeypatch.setenv("AWS_REGION", region)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        if not warm:
            forget()
            boto3.DEFAULT_SESSION = None
        path, _, query = path.partition("?")
        sent = {**event["headers"], **{name.replace("_", "-"): value for name, value in headers.items()}}
        http = {**event["requestContext"]["http"], "method": method, "path": path}
        answer = mint.handler.handler(
            {
                **event,
                "rawPath": path,
                "rawQueryString": query,
                "headers": sent,
                "requestContext": {**event["requestContext"], "http": http},
            },
            SimpleNamespace(aws_request_id="request-1"),
        )
        stack.monkeypatch.setenv("AWS_REGION", HOME)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", HOME)
        is_json = answer["body"] and "json" in answer["headers"]["Content-Type"]
        document = json.loads(answer["body"]) if is_json else None
        return {**answer, "document": document}

    return asked
