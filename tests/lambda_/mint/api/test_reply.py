"""Responses: JSON, plain text and problem documents."""

import json
from http import HTTPStatus
from typing import Any

import pytest
from mint.api.formats import SHORT
from mint.api.reply import finished, json_response, minted_response, problem_response
from mint.api.request import MintRequest, Problem, received
from mint.model import Block

from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import Ask, Stack


def test_a_block_in_text_has_one_integer_per_line(ask: Ask, stack: Stack) -> None:
    laid_out()

    assert ask("GET", "/?count=3", accept="text/plain")["body"] == "1\n4\n7\n"


def test_errors_are_always_problem_documents(ask: Ask, stack: Stack) -> None:
    laid_out()

    assert ask("GET", "/none", accept="text/plain")["headers"]["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(("count", "document"), [(1, {"integers": [7]}), (None, {"integer": 7})])
def test_a_block_of_one_is_a_list(count: int | None, document: dict[str, Any]) -> None:
    response = minted_response(MintRequest("orders", count), "eu-west-1", Block(7, 3, 1), replayed=True)

    assert json.loads(response["body"]) == {"counter": "orders", "region": "eu-west-1", **document}
    assert response["headers"]["Idempotency-Replayed"] == "true"


def test_a_block_in_short_is_its_ends_and_its_stride(ask: Ask, stack: Stack) -> None:
    laid_out()

    response = ask("POST", "/?count=100000", accept=SHORT)

    assert response["headers"]["Content-Type"] == SHORT
    assert json.loads(response["body"]) == {
        "counter": "integers",
        "region": "us-east-1",
        "first": 1,
        "last": 299_998,
        "stride": 3,
        "count": 100_000,
    }
    assert json.loads(ask("POST", "/", accept=SHORT)["body"])["count"] == 1


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/plain", "text/plain, application/json;q=0.5"])
def test_only_a_thousand_integers_are_listed(ask: Ask, stack: Stack, accept: str) -> None:
    laid_out()

    listed, short = (ask("POST", f"/?count={count}", accept=accept) for count in (1000, 1001))

    assert listed["body"].count("\n" if accept.startswith("text") else ",") >= 999
    assert listed["headers"]["Content-Type"] != SHORT
    assert (short["headers"]["Content-Type"], short["headers"]["Vary"]) == (SHORT, "Accept")
    assert json.loads(short["body"]) == {
        "counter": "integers",
        "region": "us-east-1",
        "first": 3001,
        "last": 6001,
        "stride": 3,
        "count": 1001,
    }


@pytest.mark.parametrize("accept", ["application/json", "text/plain", SHORT])
def test_a_large_block_is_as_short_when_it_is_replayed(ask: Ask, stack: Stack, accept: str) -> None:
    laid_out()

    first, again = (ask("POST", "/?count=100000", accept=accept, idempotency_key="k") for _ in range(2))

    assert (first["body"], "Idempotency-Replayed" in first["headers"]) == (again["body"], False)
    assert again["headers"] == {**first["headers"], "Idempotency-Replayed": "true"}
    assert len(again["body"]) < 200


def test_a_problem_has_its_headers_and_is_not_stored() -> None:
    response = problem_response(Problem(HTTPStatus.SERVICE_UNAVAILABLE, "try again", {"Retry-After": "1"}), "eu-west-1")

    assert response["headers"] == {
        "Content-Type": "application/problem+json",
        "Cache-Control": "no-store",
        "Retry-After": "1",
    }
    assert json.loads(response["body"]) == {
        "type": "about:blank",
        "title": "Service Unavailable",
        "status": 503,
        "detail": "try again",
        "region": "eu-west-1",
    }


def test_without_its_body_a_response_is_the_same_otherwise() -> None:
    response = json_response({"a": 1}, HTTPStatus.CREATED)

    get, head = (received({"requestContext": {"http": {"method": method}}}) for method in ("GET", "HEAD"))
    assert finished(response, get) == response
    assert finished(response, head) == {**response, "body": ""}
    assert response["body"] == '{"a": 1}'
