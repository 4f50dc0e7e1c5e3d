"""Fixtures: the functions in this process, as Lambda runs them, on tables of the local AWS server."""

import json
from collections.abc import Generator
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, TypedDict
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


@dataclass(frozen=True)
class Stack:
    """The tables of one test, by their names, and the server that has them."""

    aws: Aws
    counters: str
    layouts: str
    mirror: str
    receipts: str
    monkeypatch: pytest.MonkeyPatch
    """Undone when the tables are deleted."""


class Response(TypedDict):
    """The minting function's response, with its decoded JSON."""

    statusCode: int
    headers: dict[str, str]
    body: str
    document: Any
    """None if the body is not JSON."""


class Ask(Protocol):
    """`ask("GET", "/orders", "eu-west-1")` sends the minting function a Function URL's event."""

    def __call__(
        self,
        method: str = "GET",
        path: str = "/",
        region: str = HOME,
        *,
        warm: bool = False,
        accept: str | None = None,
        idempotency_key: str | None = None,
    ) -> Response:
        """Return the response of a cold function, or of the one that ran last if `warm`.

        Args:
            method: the request's method.
            path: with the query string, if there is one.
            region: the function's region.
            warm: whether the function keeps what it has in memory.
            accept: the Accept header, by default that of the recorded event.
            idempotency_key: the Idempotency-Key header.
        """
        ...


@pytest.fixture
def stack(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables in four regions, of which one may join later, and the functions' environment."""
    unique = uuid4().hex[:8]
    names = ("counters", "layouts", "mirror", "receipts")
    counters, layouts, mirror, receipts = (f"t{unique}-{name}" for name in names)
    tables = [(region, counters) for region in (*REGIONS, "us-west-2")] + [(HOME, layouts), (HOME, mirror)]
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
        "MIRROR_TABLE": mirror,
        "RECEIPTS_TABLE": receipts,
        "DEFAULT_COUNTER": "integers",
        "IDEMPOTENCY_HOURS": "24",
        "STACK": f"t{unique}",
    }.items():
        monkeypatch.setenv(name, value)
    boto3.DEFAULT_SESSION = None
    forget()
    yield Stack(aws, counters, layouts, mirror, receipts, monkeypatch)
    forget()
    boto3.DEFAULT_SESSION = None
    for region, table in tables:
        client = aws.client("dynamodb", region)
        if table in client.list_tables()["TableNames"]:
            client.delete_table(TableName=table)


@pytest.fixture
def credentials(monkeypatch: pytest.MonkeyPatch) -> Generator[None]:
    """The environment that Lambda gives a function, and no deadline from an earlier test."""
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
    """Make the function cold: it forgets what it has in memory."""
    mint.runtime.forget()


@pytest.fixture
def ask(stack: Stack) -> Ask:
    """Requests to the minting function on the tables of `stack`."""
    event = json.loads((Path(__file__).parent / "events" / "get.json").read_text())

    def ask(
        method: str = "GET",
        path: str = "/",
        region: str = HOME,
        *,
        warm: bool = False,
        accept: str | None = None,
        idempotency_key: str | None = None,
    ) -> Response:
        stack.monkeypatch.setenv("AWS_REGION", region)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        if not warm:
            forget()
            boto3.DEFAULT_SESSION = None
        path, _, query = path.partition("?")
        given = {"accept": accept, "idempotency-key": idempotency_key}
        http = {**event["requestContext"]["http"], "method": method, "path": path}
        response = mint.handler.handler(
            {
                **event,
                "rawPath": path,
                "rawQueryString": query,
                "headers": {**event["headers"], **{name: value for name, value in given.items() if value is not None}},
                "requestContext": {**event["requestContext"], "http": http},
            },
            SimpleNamespace(aws_request_id="request-1"),
        )
        stack.monkeypatch.setenv("AWS_REGION", HOME)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", HOME)
        headers, body = response["headers"], response["body"]
        is_json = body and "json" in headers["Content-Type"]
        document = json.loads(body) if is_json else None
        return Response(statusCode=response["statusCode"], headers=headers, body=body, document=document)

    return ask
