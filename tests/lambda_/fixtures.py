"""Fixtures: the functions in this process, as Lambda runs them, on tables of the local AWS server."""

import json
from collections.abc import Callable, Generator
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from urllib.parse import parse_qs

import aws_client.service
import mint.handler
import mint.minting
import pytest
from aws_client.service import DynamoDB, ServiceError

from components.settings.args import minting_environment
from local.aws_clients import Aws
from tests.lambda_.coordinator_calls import ARN, HOME, PATIENCE, REGIONS, make_table
from tests.lambda_.in_process import answer_in_process


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


Ask = Callable[..., dict[str, Any]]
"""`ask("GET", "/orders?count=2", "eu-west-1", idempotency_key="k")`: the response to a Function URL's event.

Its `document` is its decoded JSON, or None. The function is cold, unless it is asked for a `warm` one, which keeps what
it has in memory.
"""

EVENTS = Path(__file__).parent / "events"
"""As AWS documents them: of a Function URL or HTTP API (payload format 2.0), and of a REST API (1.0)."""


def recorded(name: str) -> dict[str, Any]:
    return json.loads((EVENTS / f"{name}.json").read_text())


def url_event(
    method: str = "GET", path: str = "/", query: str = "", event: str = "get", **headers: str | list[str]
) -> dict[str, Any]:
    """Return a recorded event with another request. A header's name may have underscores for hyphens."""
    found = recorded(event)
    found["requestContext"]["http"] |= {"method": method, "path": path}
    sent = {name: ",".join(values) for name, values in changed(found["headers"], headers).items()}
    return found | {"rawPath": path, "rawQueryString": query, "headers": sent}


def rest_event(
    method: str = "GET", path: str = "/", query: str = "", event: str = "get", **headers: str | list[str]
) -> dict[str, Any]:
    """Do the same for a REST API."""
    found = recorded(f"rest_{event}")
    return found | {
        "httpMethod": method,
        "path": path,
        "multiValueQueryStringParameters": parse_qs(query, keep_blank_values=True) or None,
        "multiValueHeaders": changed(found["multiValueHeaders"], headers),
    }


def changed(found: dict[str, Any], headers: dict[str, Any]) -> dict[str, list[str]]:
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    others = {name: value for name, value in found.items() if name.lower() not in map(str.lower, sent)}
    return {name: value if isinstance(value, list) else [value] for name, value in (others | sent).items()}


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


COORDINATOR = f"{ARN}:minting"
Sent = list[tuple[str, dict[str, Any]]]


@pytest.fixture
def sent(stack: Stack) -> Sent:
    """What minting functions send, to whom; nothing carries it out, so nobody waits for it."""
    events: Sent = []

    def send(function: str, event: dict[str, Any], timeout: float) -> None:
        events.append((function, event))

    stack.monkeypatch.setattr("mint.grants.send", send)
    stack.monkeypatch.setattr("mint.minting.MAX_WAIT", 0)
    stack.monkeypatch.setenv("COORDINATOR", COORDINATOR)
    return events


def forget() -> None:
    """Make the function cold: it forgets what it has in memory."""
    mint.minting.forget()


@pytest.fixture
def ask(stack: Stack) -> Ask:
    """Requests to the minting function on the tables of `stack`."""

    def ask(
        method: str = "GET", path: str = "/", region: str = HOME, *, warm: bool = False, **headers: str
    ) -> dict[str, Any]:
        path, _, query = path.partition("?")
        response = response_in(stack, region, url_event(method, path, query, **headers), warm=warm)
        is_json = response["body"] and "json" in response["headers"]["Content-Type"]
        return {**response, "document": json.loads(response["body"]) if is_json else None}

    return ask


def response_in(stack: Stack, region: str, event: dict[str, Any], *, warm: bool = False) -> dict[str, Any]:
    """Return a region's response to an event."""
    stack.monkeypatch.setenv("AWS_REGION", region)
    if not warm:
        forget()
    response = mint.handler.handler(event, SimpleNamespace(aws_request_id="request-1"))
    stack.monkeypatch.setenv("AWS_REGION", HOME)
    return response
