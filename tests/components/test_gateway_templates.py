"""What API Gateway is told to do, rendered as it renders it, and sent to a real DynamoDB."""

import json
import re
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError
from coordinate.model import Item
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from components.gateway_api import GatewaySpec, document
from components.gateway_templates import unavailable_template
from integers.names import COUNTER_NAME
from local.apigateway.velocity import Rendered, render
from tests.lambda_.laying_out import HOME, deploy, item, put_item

Ask = Callable[..., tuple[int, dict[str, str], Any]]

HOSTILE = [
    '"',
    '\\"',
    'x"}},"UpdateExpression":"SET issued = :zero","ExpressionAttributeValues":{":zero":{"N":"0"}},"X":{"a":{"b":"',
    "integers\n",
    "integers\\u0022",
    "$input.path('$')",
    "${context.identity.sourceIp}",
    "#set($counter = 'orders')",
    "#end",
    "integers/layouts",
    "/",
    "..",
    "%22",
    "Integers",
    "ïntegers",
    "٣",
    "\u2028",
    "a" * 64,
    " integers",
    "-integers",
    "\0",
]


def operation(table: str, path: str = "/{counter}") -> dict[str, Any]:
    arn = f"arn:aws:dynamodb:{HOME}:000000000000:table/{table}"
    door = GatewaySpec("door", arn, "arn:aws:iam::000000000000:role/door", "integers", signed=False)
    return document(door)["paths"][path]["get"]["x-amazon-apigateway-integration"]


def request_for(table: str, route: str = "/{counter}", **parameters: dict[str, str]) -> dict[str, Any]:
    """What DynamoDB is asked: JSON, or this fails."""
    template = operation(table, route)["requestTemplates"]["application/json"]
    return json.loads(render(template, parameters, "").text)


def answered(integration: dict[str, Any], status: int, body: str) -> tuple[int, dict[str, str], Any]:
    pattern = next(p for p in integration["responses"] if p == "default" or re.fullmatch(p, str(status)))
    response = integration["responses"][pattern]
    ((content_type, template),) = response["responseTemplates"].items()
    rendered: Rendered = render(template, {}, body)
    headers = {"Content-Type": content_type, **rendered.headers}
    return rendered.status or int(response["statusCode"]), headers, json.loads(rendered.text)


@pytest.fixture
def through(stack: Any) -> Ask:
    """`through("orders")`: a request through the door; status, headers and document."""

    def ask(counter: str = "integers", path: str = "/{counter}", **query: str) -> tuple[int, dict[str, str], Any]:
        in_path = {"counter": counter} if "{" in path else {}
        request = request_for(stack.counters, path, path=in_path, querystring=query)
        try:
            answer = stack.aws.client("dynamodb", HOME).update_item(**request)
        except ClientError as error:
            response: Any = error.response
            told = {"__type": f"com.amazonaws.dynamodb.v20120810#{response['Error']['Code']}"}
            told |= {"Item": response["Item"]} if "Item" in response else {}
            return answered(operation(stack.counters, path), 400, json.dumps(told))
        return answered(operation(stack.counters, path), 200, json.dumps({"Attributes": answer["Attributes"]}))

    return ask


def test_it_mints_what_the_function_would(stack: Any, through: Ask, ask: Any) -> None:
    deploy(counters=["integers", "orders"])

    assert through()[2] == {"counter": "integers", "region": HOME, "integer": 1}
    function = ask("POST", "/")
    assert function["document"] == {"counter": "integers", "region": HOME, "integer": 4}
    status, headers, document = through("integers", count="1")
    assert (status, headers) == (200, {"Content-Type": "application/json"})
    assert document == {**function["document"], "integer": 7}
    assert through("orders")[2]["integer"] == 1


def test_the_other_paths_mint_too(stack: Any, through: Ask) -> None:
    deploy(counters=["integers", "orders"])

    assert through(path="/")[2]["counter"] == "integers"
    assert through(path="/counter", systemKey="orders")[2] == {"counter": "orders", "region": HOME, "integer": 1}


def test_an_unknown_counter_is_not_found_and_not_made(stack: Any, through: Ask) -> None:
    deploy()

    status, headers, document = through("nothing")
    assert (status, headers) == (404, {"Content-Type": "application/problem+json"})
    assert document["status"] == 404
    assert item(stack, HOME, "nothing") is None


def test_the_ceiling_holds_and_says_whether_to_come_again(stack: Any, through: Ask, ask: Any) -> None:
    deploy()
    put_item(stack, HOME, Item(4, 3, 4, 1, fenced=True))
    status, headers, document = through()
    function = ask("POST", "/count")
    assert (status, headers["Retry-After"], document["title"]) == (503, "1", "Service Unavailable")
    assert "layout" in document["detail"]
    put_item(stack, HOME, Item(4, 3, 4, 1))
    status, headers, document = through()
    assert (status, "Retry-After" in headers) == (503, False)
    assert "used up" in document["detail"]
    assert item(stack, HOME) == Item(4, 3, 4, 1)
    assert function["statusCode"] == 404


@pytest.mark.parametrize(
    ("kind", "status", "again"),
    [
        ("ProvisionedThroughputExceededException", 503, True),
        ("ThrottlingException", 503, True),
        ("RequestLimitExceeded", 503, True),
        ("ResourceNotFoundException", 503, True),
        ("InternalServerError", 503, True),
        ("AccessDeniedException", 500, False),
    ],
)
def test_other_refusals_are_problem_documents(kind: str, status: int, again: bool) -> None:
    told = json.dumps({"__type": f"com.amazonaws.dynamodb.v20120810#{kind}", "message": 'a "message"'})

    found, headers, document = answered(operation("t"), 400, told)
    assert (found, document["status"]) == (status, status)
    assert (headers.get("Retry-After") == "1") == again
    assert headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize(("status", "body"), [(500, ""), (503, "<html>"), (200 + 100, "{}")])
def test_what_is_no_answer_of_dynamodb_passes(status: int, body: str) -> None:
    found, headers, document = answered(operation("t"), status, body)

    assert (found, headers["Retry-After"], document["status"]) == (503, "1", 503)
    assert render(unavailable_template(), {}, "").status == 503


@pytest.mark.parametrize("count", ["0", "2", "1000", "x", "-1", '"', "01", "1 "])
def test_another_count_is_refused_and_mints_nothing(stack: Any, through: Ask, count: str) -> None:
    deploy()

    status, _, document = through(count=count)
    assert (status, document["status"]) == (400, 400)
    assert "count" in document["detail"]
    assert through()[2]["integer"] == 1


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_name_is_an_unknown_counter(stack: Any, through: Ask, name: str) -> None:
    deploy()

    assert through(name)[0] == 404
    assert through(path="/counter", systemKey=name)[0] == 404
    assert through()[2]["integer"] == 1


words = st.text(max_size=70) | st.text("abc\"\\$#{}()'/ \n", max_size=20) | st.from_regex(COUNTER_NAME, fullmatch=True)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(words, words | st.sampled_from(["", "1"]))
def test_no_name_and_no_count_get_into_the_request_but_as_a_name(name: str, count: str) -> None:
    request = request_for("t", path={"counter": name}, querystring={"count": count})

    wanted = name if COUNTER_NAME.fullmatch(name) else "/"
    key = wanted if count in ("", "1") else ""
    assert request == {
        "TableName": "t",
        "Key": {"counter": {"S": key}},
        "UpdateExpression": "SET issued = issued + stride",
        "ConditionExpression": "issued < ceiling",
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }


@pytest.mark.parametrize("name", ["Idempotency-Key", "idempotency-key"])
def test_a_key_for_safe_retries_is_refused_since_there_are_no_receipts(name: str) -> None:
    request = request_for("t", path={"counter": "integers"}, header={name: "k"})

    assert request["Key"] == {"counter": {"S": ""}}
