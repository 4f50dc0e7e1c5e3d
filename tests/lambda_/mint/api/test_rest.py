"""A REST API's events (payload format 1.0) get the same responses as a Function URL's."""

import json
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mint.handler
import pytest

from tests.lambda_.coordinator_calls import item, laid_out
from tests.lambda_.fixtures import Stack, forget
from tests.lambda_.mint.api.test_request import EVENTS, rest_event

SHOP = "arn:aws:iam::123456789012:role/shop-web"

Send = Callable[..., dict[str, Any]]


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
    response = send(rest_event("POST", "/", "count=2"))

    assert set(response) == {"statusCode", "headers", "body", "isBase64Encoded"}
    assert (response["statusCode"], response["isBase64Encoded"]) == (200, False)
    assert all(isinstance(value, str) for value in response["headers"].values())
    assert json.loads(response["body"]) == {"counter": "integers", "region": "us-east-1", "integers": [1, 4]}
    assert "isBase64Encoded" not in mint.handler.handler(json.loads((EVENTS / "get.json").read_text()), None)


def test_the_same_key_has_the_same_integer_through_both(send: Send, stack: Stack) -> None:
    rest = send(rest_event("POST", "/", Idempotency_Key="k"))
    url = json.loads((EVENTS / "get.json").read_text())
    url["headers"]["idempotency-key"] = "k"
    before = item(stack, "us-east-1")

    replayed = send(url)
    assert replayed["body"] == rest["body"]
    assert replayed["headers"]["Idempotency-Replayed"] == "true"
    assert item(stack, "us-east-1") == before


def test_head_has_no_body_and_an_error_says_its_region(send: Send) -> None:
    assert send(rest_event("HEAD", "/-/health"))["body"] == ""
    response = send(rest_event("DELETE"))

    assert (response["statusCode"], response["headers"]["Allow"]) == (405, "GET, POST")
    assert json.loads(response["body"])["region"] == "us-east-1"


@pytest.mark.parametrize(
    ("method", "path", "signed", "status"),
    [
        ("POST", "/orders", "rest_signed_by_role", 200),
        ("POST", "/", "rest_signed_by_role", 403),
        ("POST", "/orders", "rest_signed_by_user", 403),
        ("POST", "/orders", "rest_get", 403),
        ("GET", "/-/health", "rest_get", 200),
    ],
)
def test_a_caller_is_who_was_checked(send: Send, method: str, path: str, signed: str, status: int) -> None:
    sent = json.loads((EVENTS / f"{signed}.json").read_text()) | {"httpMethod": method, "path": path}
    response = send(sent, CALLERS=json.dumps({SHOP: ["orders"]}))

    assert response["statusCode"] == status
    if status == 403 and signed == "rest_get":
        assert "who signed it" in response["body"]


def test_no_caller_can_name_itself(send: Send) -> None:
    """A Lambda authorizer's context, headers and parameters are others' words."""
    forged = rest_event("POST", "/orders", f"userArn={SHOP}", userArn=SHOP)
    forged["requestContext"]["authorizer"] = {"iam": {"userArn": SHOP}, "userArn": SHOP}

    assert send(forged, CALLERS=json.dumps({SHOP: ["orders"]}))["statusCode"] == 403
