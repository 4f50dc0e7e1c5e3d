"""Fixtures: the functions in this process, as Lambda runs them, on tables of the local AWS server."""

import json
from collections.abc import Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Protocol, TypedDict

import aws_client.service
import mint.handler
import mint.minting
import pytest
from aws_client.service import DynamoDB, ServiceError

from components.settings.args import minting_environment
from local.aws_clients import Aws
from tests.lambda_.coordinator_calls import PATIENCE, make_table
from tests.lambda_.in_process import answer_in_process

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
        self, method: str = "GET", path: str = "/", region: str = HOME, *, warm: bool = False, **headers: str
    ) -> Response:
        """Return the response of a cold function, or of the one that ran last if `warm`.

        Args:
            method: the request's method.
            path: with the query string, if there is one.
            region: the function's region.
            warm: whether the function keeps what it has in memory.
            headers: besides those of the recorded event, such as `idempotency_key="k"`.
        """
        ...


TABLES = {
    (HOME, "layouts"): "counter",
    (HOME, "mirror"): "counter",
    **{(region, "counters"): "counter" for region in (*REGIONS, "us-west-2")},
    **{(region, "receipts"): "receipt" for region in (*REGIONS, "us-west-2")},
}
"""The tables of a stack, by region and name, with their keys."""


@pytest.fixture
def stack(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables of the local server."""
    yield from empty_tables(aws, monkeypatch)


@pytest.fixture
def quick_stack(monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables of a DynamoDB in this process."""
    yield from empty_tables(answer_in_process(monkeypatch), monkeypatch)


def empty_tables(aws: Any, monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables in four regions, of which one may join later, and the functions' environment.

    A process makes the tables once, and again where a test has deleted them. The others are emptied after each test.
    """
    for name, value in {
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": HOME,
        "AWS_DEFAULT_REGION": HOME,
        "COUNTERS_TABLE": "counters",
        "LAYOUTS_TABLE": "layouts",
        "MIRROR_TABLE": "mirror",
        "RECEIPTS_TABLE": "receipts",
        "DEFAULT_COUNTER": "integers",
        **minting_environment(),
        "STACK": "shop",
    }.items():
        monkeypatch.setenv(name, value)
    for module in ("coordinate.dynamodb.calls", "aws_client.service"):
        for timeout in ("TIMEOUT", "CONNECT_TIMEOUT"):
            monkeypatch.setattr(f"{module}.{timeout}", PATIENCE)
    for region in (*REGIONS, "us-west-2"):
        with closing(DynamoDB(region)) as dynamodb:
            for (place, table), key in TABLES.items():
                if place == region and not emptied(dynamodb, table, key):
                    make_table(aws, region, table, key)
    forget()
    yield Stack(aws, "counters", "layouts", "mirror", "receipts", monkeypatch)
    forget()


def emptied(dynamodb: DynamoDB, table: str, key: str) -> bool:
    """Delete all records of a table. Return False if it isn't there."""
    try:
        found = dynamodb.call("Scan", {"TableName": table, "ConsistentRead": True})["Items"]
    except ServiceError as error:
        if error.code == "ResourceNotFoundException":
            return False
        raise
    for record in found:
        dynamodb.call("DeleteItem", {"TableName": table, "Key": {key: record[key]}})
    return True


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
    aws_client.service.set_deadline(None)
    yield
    aws_client.service.set_deadline(None)


def forget() -> None:
    """Make the function cold: it forgets what it has in memory."""
    mint.minting.forget()


@pytest.fixture
def ask(stack: Stack) -> Ask:
    """Requests to the minting function on the tables of `stack`."""
    event = json.loads((Path(__file__).parent / "events" / "get.json").read_text())

    def ask(
        method: str = "GET", path: str = "/", region: str = HOME, *, warm: bool = False, **headers: str
    ) -> Response:
        stack.monkeypatch.setenv("AWS_REGION", region)
        stack.monkeypatch.setenv("AWS_DEFAULT_REGION", region)
        if not warm:
            forget()
        path, _, query = path.partition("?")
        sent_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        http = {**event["requestContext"]["http"], "method": method, "path": path}
        response = mint.handler.handler(
            {
                **event,
                "rawPath": path,
                "rawQueryString": query,
                "headers": {**event["headers"], **sent_headers},
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
