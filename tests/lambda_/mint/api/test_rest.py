"""A REST API's events (payload format 1.0) get the same responses as a Function URL's."""

import json
from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import mint.handler
import pytest
from mint.api.request import (
    CounterRequest,
    ListCounters,
    MintRequest,
    OwnerOf,
    Problem,
    received,
    request_of,
)

from tests.lambda_.coordinator_calls import item, laid_out
from tests.lambda_.fixtures import Stack, forget

EVENTS = Path(__file__).parents[2] / "events"
SHOP = "arn:aws:iam::123456789012:role/shop-web"

Send = Callable[..., dict[str, Any]]


def event(
    method: str = "GET", path: str = "/", query: Any = None, sent: str = "rest_get", **headers: list[str]
) -> dict[str, Any]:
    """Return a recorded event, changed. A header's name has underscores for hyphens."""
    found: dict[str, Any] = json.loads((EVENTS / f"{sent}.json").read_text())
    changed = {name.replace("_", "-"): values for name, values in headers.items()}
    others = {name: values for name, values in found["multiValueHeaders"].items() if name.lower() not in changed}
    return found | {
        "httpMethod": method,
        "path": path,
        "multiValueQueryStringParameters": query,
        "multiValueHeaders": others | changed,
    }


def read(*arguments: Any, **headers: list[str]) -> object:
    return request_of(received(event(*arguments, **headers)), "integers")


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/", None, MintRequest("integers")),
        ("POST", "/orders", None, MintRequest("orders")),
        ("POST", "/orders", {"count": ["3"]}, MintRequest("orders", 3)),
        ("POST", "/orders", {"other": ["&count=4", ""]}, MintRequest("orders")),
        ("POST", "//orders", None, MintRequest("orders")),
        ("HEAD", "/orders/7", None, OwnerOf("orders", 7)),
        ("PUT", "/orders", None, CounterRequest("create", "orders")),
        ("GET", "/-/status", {"counter": ["orders"]}, CounterRequest("status", "orders")),
        ("GET", "/-/counters", {"limit": ["5"], "after": ["a/layouts"]}, ListCounters(5, "a/layouts")),
    ],
)
def test_an_event_is_read(method: str, path: str, query: Any, expected: object) -> None:
    assert read(method, path, query) == expected


def test_headers_are_read_in_any_case() -> None:
    assert read("POST", "/", IDEMPOTENCY_KEY=["k"], Accept=["text/plain"]) == MintRequest(
        "integers", None, "k", "text/plain"
    )
    assert read("GET", "/", Accept=["text/plain;q=0.1", "text/html"]) == CounterRequest("page", "integers")
    assert received(event("GET", "/")).https
    assert not received(event("GET", "/", X_Forwarded_Proto=["http"])).https


@pytest.mark.parametrize(
    ("query", "headers", "message"),
    [
        ({"count": ["1", "2"]}, {}, "count is given 2 times"),
        ({"count": ["1+1"]}, {}, "is not an integer from 1"),
        ({"count": [""]}, {}, "is not an integer from 1"),
        (None, {"Idempotency_Key": ["a", "b"]}, "given more than once"),
        (None, {"Idempotency_Key": ["a"], "idempotency_key": ["a"]}, "given more than once"),
        (None, {"Idempotency_Key": ['"a']}, "not a quoted string"),
    ],
)
def test_what_is_repeated_or_wrong_is_refused(query: Any, headers: dict[str, list[str]], message: str) -> None:
    with pytest.raises(Problem, match=message):
        read("POST", "/", query, **headers)


@pytest.mark.parametrize("path", ["/%6Frders", "/orders%2F7", "/mint/orders", "/orders/"])
def test_a_path_is_taken_as_it_was_sent(path: str) -> None:
    with pytest.raises(Problem) as problem:
        read("GET", path)

    assert problem.value.status == 404


@pytest.mark.parametrize(
    ("body", "encoded", "status"),
    [
        ("x" * 64 * 1024, False, 200),
        ("x" * (64 * 1024 + 1), False, 413),
        (b64encode(b"x" * 64 * 1024).decode(), True, 200),
        (b64encode(b"x" * (64 * 1024 + 1)).decode(), True, 413),
    ],
)
def test_a_body_is_measured_as_it_was_sent(send: Send, body: str, encoded: bool, status: int) -> None:
    assert send(event("POST") | {"body": body, "isBase64Encoded": encoded})["statusCode"] == status


@pytest.fixture
def send(stack: Stack) -> Send:
    """`send(event)`: the response of a cold function, in `HOME`."""
    laid_out(counters=["integers", "orders"])

    def send(sent: dict[str, Any], **environment: str) -> dict[str, Any]:
        for name, value in environment.items():
            stack.monkeypatch.setenv(name, value)
        forget()
        return mint.handler.handler(sent, SimpleNamespace(aws_request_id="request-1"))

    return send


def test_the_response_is_in_the_form_of_a_rest_api(send: Send) -> None:
    response = send(event("POST", "/", {"count": ["2"]}))

    assert set(response) == {"statusCode", "headers", "body", "isBase64Encoded"}
    assert (response["statusCode"], response["isBase64Encoded"]) == (200, False)
    assert all(isinstance(value, str) for value in response["headers"].values())
    assert json.loads(response["body"]) == {"counter": "integers", "region": "us-east-1", "integers": [1, 4]}
    assert "isBase64Encoded" not in mint.handler.handler(json.loads((EVENTS / "get.json").read_text()), None)


def test_the_same_key_has_the_same_integer_through_both(send: Send, stack: Stack) -> None:
    rest = send(event("POST", "/", Idempotency_Key=["k"]))
    url = json.loads((EVENTS / "get.json").read_text())
    url["headers"]["idempotency-key"] = "k"
    url["requestContext"]["http"]["method"] = "POST"
    before = item(stack, "us-east-1")

    replayed = send(url)
    assert replayed["body"] == rest["body"]
    assert replayed["headers"]["Idempotency-Replayed"] == "true"
    assert item(stack, "us-east-1") == before


def test_head_has_no_body_and_an_error_says_its_region(send: Send) -> None:
    assert send(event("HEAD", "/-/health"))["body"] == ""
    response = send(event("DELETE"))

    assert (response["statusCode"], response["headers"]["Allow"]) == (405, "GET, POST")
    assert json.loads(response["body"])["region"] == "us-east-1"


def test_a_callers_identity_is_the_one_that_was_checked(send: Send) -> None:
    rules = json.dumps({SHOP: ["orders"]})

    assert send(event("POST", "/orders", sent="rest_signed_by_role"), CALLERS=rules)["statusCode"] == 200
    assert send(event("POST", "/", sent="rest_signed_by_role"), CALLERS=rules)["statusCode"] == 403
    assert send(event("POST", "/orders", sent="rest_signed_by_user"), CALLERS=rules)["statusCode"] == 403
    unsigned = send(event("POST", "/orders"), CALLERS=rules)
    assert unsigned["statusCode"] == 403
    assert "who signed it" in unsigned["body"]


def test_no_caller_can_name_itself(send: Send) -> None:
    """A Lambda authorizer's context, headers and parameters are others' words."""
    forged = event("POST", "/orders", {"userArn": [SHOP]}, userArn=[SHOP])
    forged["requestContext"]["authorizer"] = {"iam": {"userArn": SHOP}, "userArn": SHOP}

    assert send(forged, CALLERS=json.dumps({SHOP: ["orders"]}))["statusCode"] == 403


def test_health_needs_no_identity(send: Send) -> None:
    response = send(event("GET", "/-/health"), CALLERS=json.dumps({SHOP: ["orders"]}))

    assert json.loads(response["body"]) == {"status": "ok", "region": "us-east-1"}
    assert read("GET", "/-/health") == CounterRequest("health", "integers")


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, {"a": None}, {"a": 1}, {"a": [None, "\ud800"]}])
@pytest.mark.parametrize(
    "member", ["path", "requestContext", "multiValueHeaders", "multiValueQueryStringParameters", "body", "httpMethod"]
)
def test_an_odd_event_is_read_or_refused(member: str, odd: Any) -> None:
    found = received(event() | {member: odd})

    with suppress(Problem):
        assert isinstance(request_of(found, "integers"), MintRequest)


@pytest.mark.parametrize("domain", ["integers.example.com", None])
def test_the_counter_of_the_coordinators_check_is_out_of_reach(domain: str | None) -> None:
    sent = event("POST", "/-check")
    sent["requestContext"]["domainName"] = domain

    with pytest.raises(Problem) as problem:
        request_of(received(sent), "integers")
    assert problem.value.status == 404
