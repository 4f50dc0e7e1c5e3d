"""API Gateway's mapping templates, rendered as API Gateway renders them, on a real table."""

import json
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

import pytest
from botocore.exceptions import ClientError
from coordinate.protocol.model import Item
from hypothesis import given, settings
from hypothesis import strategies as st

from global_integers_core.lattice import MAX_INTEGER, Place
from global_integers_core.names import COUNTER_NAME
from local.apigateway import rest_api
from local.apigateway.rest_api import INTEGRATION, Rendered, render
from tests.components.running import gateway_document
from tests.lambda_.coordinator_calls import AS_DEPLOYED, HOME, deploy, item, put_item
from tests.lambda_.fixtures import Ask, Stack


class Response(NamedTuple):
    status: int
    headers: dict[str, str]
    document: dict[str, Any]


class Gateway(Protocol):
    """`gateway("orders", count="1")` sends a request with a counter in the path and a query string."""

    def __call__(
        self, counter: str = "integers", path: str = "/{counter}", *, leaving: bool = False, **query: str
    ) -> Response: ...


HOSTILE = (
    'x"}},"UpdateExpression":"SET issued = :zero","ExpressionAttributeValues":{":zero":{"N":"0"}},"X":{"a":{"b":"',
    *('"', '\\"', "integers\n", "integers\\u0022", "$input.path('$')", "${context.identity.sourceIp}"),
    *("#set($counter = 'orders')", "#end", "integers/layouts", "/", "..", "%22", "Integers", "ïntegers", "٣"),
    *("\u2028", "a" * 64, " integers", "-integers", "\0"),
)


def integration_of(table: str, path: str = "/{counter}", leaving: Sequence[str] = ()) -> dict[str, Any]:
    arn = f"arn:aws:dynamodb:{HOME}:000000000000:table/{table}"
    role = "arn:aws:iam::000000000000:role/gateway"
    layout = {"regions": leaving or [HOME], "leaving": [HOME] if leaving else []}
    return gateway_document(HOME, arn, role, **layout)["paths"][path]["get"][INTEGRATION]


def request_for(table: str, route: str = "/{counter}", **parameters: dict[str, str]) -> dict[str, Any]:
    """Return the request to DynamoDB, which must be JSON."""
    template = integration_of(table, route)["requestTemplates"]["application/json"]
    return json.loads(render(template, parameters, "").text)


def response_to(integration: dict[str, Any], status: int, body: str) -> Response:
    """Return the response that DynamoDB's status and body are turned into."""
    response = rest_api.response_to(integration, status)
    assert response is not None
    ((content_type, template),) = response["responseTemplates"].items()
    rendered: Rendered = render(template, {}, body)
    headers = {"Content-Type": content_type, **rendered.headers}
    return Response(rendered.status or int(response["statusCode"]), headers, json.loads(rendered.text))


@pytest.fixture
def gateway(stack: Stack) -> Gateway:
    """API Gateway in front of the table of `stack`."""

    def gateway(
        counter: str = "integers", path: str = "/{counter}", *, leaving: bool = False, **query: str
    ) -> Response:
        in_path = {"counter": counter} if "{" in path else {}
        request = request_for(stack.counters, path, path=in_path, querystring=query)
        integration = integration_of(stack.counters, path, ("eu-west-1", "us-west-2") if leaving else ())
        try:
            reply = stack.aws.client("dynamodb", HOME).update_item(**request)
        except ClientError as error:
            failure: Any = error.response
            body = {"__type": f"com.amazonaws.dynamodb.v20120810#{failure['Error']['Code']}"}
            body |= {"Item": failure["Item"]} if "Item" in failure else {}
            return response_to(integration, 400, json.dumps(body))
        return response_to(integration, 200, json.dumps({"Attributes": reply.get("Attributes")}))

    return gateway


def test_it_mints_what_the_function_would(stack: Stack, gateway: Gateway, ask: Ask) -> None:
    deploy(counters=["integers", "orders"])

    assert gateway(path="/")[2] == {"counter": "integers", "region": HOME, "integer": 1}
    function = ask("POST", "/")
    status, headers, document = gateway("integers", count="1")
    assert (status, headers) == (200, {"Content-Type": "application/json"})
    assert document == {**function["document"], "integer": 7}
    assert gateway(path="/counter", systemKey="orders")[2] == {"counter": "orders", "region": HOME, "integer": 1}
    status, headers, document = gateway("nothing")
    assert (status, headers, document["status"]) == (404, {"Content-Type": "application/problem+json"}, 404)
    assert item(stack, HOME, "nothing") is None, "it isn't created"


LAST = [(Place(place, stride).ceiling(MAX_INTEGER, 1), stride) for stride in (1, 3, 64) for place in {1, stride}]
EARLIER = [(ceiling, 3) for ceiling in (1, MAX_INTEGER - 64, 2 * 10**15)]


@pytest.mark.parametrize(("ceiling", "stride"), [*LAST, *EARLIER])
def test_only_a_used_up_counter_is_not_retried(
    stack: Stack, gateway: Gateway, ask: Ask, ceiling: int, stride: int
) -> None:
    put_item(stack, HOME, Item(ceiling, stride, ceiling, 1))
    used_up = (ceiling, stride) in LAST

    status, headers, document = gateway()
    function = ask("POST")
    assert (status, headers.get("Retry-After")) == (function["statusCode"], function["headers"].get("Retry-After"))
    assert (status, "Retry-After" in headers) == (503, not used_up)
    assert ("used up" if used_up else "home region grants it more") in document["detail"]


def test_a_fenced_counter_mints_nothing(stack: Stack, gateway: Gateway) -> None:
    deploy(counters=AS_DEPLOYED)
    put_item(stack, HOME, Item(4, 3, 4, 1, fenced=True))

    status, headers, document = gateway()
    assert (status, headers["Retry-After"], document["title"]) == (503, "1", "Service Unavailable")
    assert "layout" in document["detail"]
    assert item(stack, HOME) == Item(4, 3, 4, 1, fenced=True)


@pytest.mark.parametrize("found", [Item(4, 3, 4, 1, fenced=True), None])
def test_a_region_that_has_left_says_where_to_go(stack: Stack, gateway: Gateway, ask: Ask, found: Item | None) -> None:
    stack.monkeypatch.setenv("LEAVING", "eu-west-1,us-west-2")
    if found:
        put_item(stack, HOME, found)

    status, headers, document = gateway(leaving=True)
    function = ask("POST")
    assert (status, "Retry-After" in headers) == (410, False)
    assert (function["statusCode"], document["title"]) == (410, "Gone")
    assert document["regions"] == function["document"]["regions"] == ["eu-west-1", "us-west-2"]


KMS = "KMS key disabled error: com.amazonaws.dynamodb.v20120810#DisabledException: arn is disabled"
ATTRIBUTE = "The provided expression refers to an attribute that does not exist in the item"
EMPTY = "The AttributeValue for a key attribute cannot contain an empty string value. Key: counter"
OF_DYNAMODB = "com.amazonaws.dynamodb.v20120810#"
INVALID = "com.amazon.coral.validate#ValidationException"


@pytest.mark.parametrize(
    ("status", "body", "expected", "detail", "retry"),
    [
        (400, {"__type": f"{OF_DYNAMODB}ThrottlingException", "message": 'a "message"'}, 503, "try again", True),
        (400, {"__type": f"{OF_DYNAMODB}ResourceNotFoundException"}, 503, "try again", True),
        (400, {"__type": f"{OF_DYNAMODB}AccessDeniedException"}, 503, "try again", True),
        (400, {"__type": INVALID, "message": KMS}, 503, "try again", True),
        (400, {"__type": INVALID, "message": ATTRIBUTE}, 503, "not one of the coord", False),
        (400, {"__type": INVALID, "message": EMPTY}, 400, "count must be 1", False),
        (500, "", 503, "try again", True),
        (503, "<html>", 503, "try again", True),
        (300, {}, 503, "try again", True),
    ],
)
def test_a_refusal_is_the_callers_fault_only_where_it_is(
    status: int, body: object, expected: int, detail: str, retry: bool
) -> None:
    text = body if isinstance(body, str) else json.dumps(body)

    found, headers, document = response_to(integration_of("t"), status, text)
    assert (found, document["status"], headers["Content-Type"]) == (expected, expected, "application/problem+json")
    assert (detail in document["detail"], headers.get("Retry-After")) == (True, "1" if retry else None)


def test_another_count_or_a_hostile_name_mints_nothing(stack: Stack, gateway: Gateway) -> None:
    deploy()

    for count in ("0", "2", "x", "-1", '"', "01", "1 "):
        status, _, document = gateway(count=count)
        assert (status, document["status"], "count" in document["detail"]) == (400, 400, True), count
    for name in HOSTILE:
        assert gateway(name)[0] == 404, name
        assert gateway(path="/counter", systemKey=name)[0] == 404, name
    assert gateway()[2]["integer"] == 1


words = st.text(max_size=70) | st.text("abc\"\\$#{}()'/ \n", max_size=20) | st.from_regex(COUNTER_NAME, fullmatch=True)


@pytest.mark.slow
@settings(max_examples=100)
@given(words, words | st.sampled_from(["", "1"]))
def test_only_a_valid_name_gets_into_the_request(name: str, count: str) -> None:
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


@pytest.mark.parametrize(
    ("query", "key"),
    [
        ({"systemKey": ["orders"], "count": ["1"]}, "orders"),
        ({"systemKey": ["invoices", "orders"]}, ""),
        ({"systemKey": ["orders"], "count": ["2", "1"]}, ""),
    ],
)
def test_a_repeated_parameter_is_refused(query: dict[str, list[str]], key: str) -> None:
    """Of a repeated one, `$input.params` has the last value."""
    template = integration_of("t", "/counter")["requestTemplates"]["application/json"]
    last = {name: values[-1] for name, values in query.items()}

    request = json.loads(render(template, {"querystring": last}, "", query).text)

    assert request["Key"] == {"counter": {"S": key}}


HEADERS = ("Sec-Purpose", "Purpose", "X-Purpose", "X-Moz")


@pytest.mark.parametrize(
    ("header", "value", "refused"),
    [
        *((header, "", True) for header in ("Idempotency-Key", "idempotency-key", "IDEMPOTENCY-KEY")),
        *((header, "", True) for header in ("X-Idempotency-Key", "Idempotency-Token")),
        ("Accept", "idempotency-key: a", False),
        *((header, word, True) for header in HEADERS for word in ("prefetch", "prerender", "preview")),
        ("sec-purpose", "prefetch;prerender", True),
        ("x-purpose", "instant, Preview", True),
        ("Purpose", "billing", False),
        ("My-Purpose", "prefetch", False),
        ("Accept-Purpose", "sec-purpose: prefetch", False),
    ],
)
def test_a_key_or_a_prefetch_is_refused_however_it_is_spelt(header: str, value: str, *, refused: bool) -> None:
    """HTTP/1.1 leaves the spelling to the caller, and API Gateway hands it on."""
    sent = {"Accept": "*/*", header: value, "Host": "h"}
    request = request_for("t", path={"counter": "integers"}, header=sent)

    assert request["Key"] == {"counter": {"S": "" if refused else "integers"}}
