"""What a REST API does with a request, by the document that the program deploys."""

import json
from pathlib import Path
from typing import Any

import pytest

from local.apigateway.rest_api import Call, GatewayRequest, call_of, gateway_response, response_of
from local.apigateway.rest_api_server import GatewayServer
from local.aws_clients import Aws
from local.server.process import ServedResponse
from tests.components.running import gateway_document

REGION = "eu-west-1"
TABLE = f"arn:aws:dynamodb:{REGION}:000000000000:table/counters"
ROLE = "arn:aws:iam::000000000000:role/gateway"


def openapi(*, signed: bool = False, paused: bool = False) -> dict[str, Any]:
    authorization = "AWS_IAM" if signed else "NONE"
    return gateway_document(REGION, TABLE, ROLE, paused=[REGION] if paused else [], authorization=authorization)


def request(method: str = "POST", path: str = "/", body: str = "", **headers: str) -> GatewayRequest:
    path, _, query = path.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return GatewayRequest(method, path, {name: [value] for name, _, value in pairs}, named, body)


@pytest.mark.parametrize(
    ("path", "counter"), [("/", "integers"), ("/orders", "orders"), ("/counter?systemKey=invoices", "invoices")]
)
def test_minting_is_a_call_of_dynamodb_with_the_role(path: str, counter: str) -> None:
    method = "GET" if "?" in path else "POST"
    call = call_of(openapi(), request(method, path))

    assert isinstance(call, Call)
    assert call.target == ("eu-west-1", "dynamodb", "UpdateItem")
    assert call.integration["credentials"] == ROLE
    assert json.loads(call.body)["Key"] == {"counter": {"S": counter}}


@pytest.mark.parametrize(
    ("refused", "status"),
    [
        (request("DELETE"), 404),
        (request("POST", "/orders/7"), 404),
        (request("GET", "/counter"), 400),
        (request("GET", "/counter?systemKey="), 400),
        (request(content_type="application/xml"), 415),
    ],
)
def test_other_requests_are_refused_with_a_document(refused: GatewayRequest, status: int) -> None:
    response = call_of(openapi(), refused)

    assert isinstance(response, ServedResponse)
    assert response.headers == {"Content-Type": "application/json", "Cache-Control": "no-store"}
    assert (response.status, json.loads(response.body)["status"]) == (status, status)


@pytest.mark.parametrize("path", ["/", "/orders"])
def test_a_paused_region_calls_nothing(path: str) -> None:
    response = call_of(openapi(paused=True), request("POST", path))

    assert isinstance(response, ServedResponse)
    assert response.status == 503
    assert response.headers["Content-Type"] == "application/problem+json"
    assert "paused" in json.loads(response.body)["detail"]


def test_where_callers_sign_an_unsigned_request_is_refused() -> None:
    unsigned = call_of(openapi(signed=True), request())
    signed = call_of(openapi(signed=True), request(authorization="AWS4-HMAC-SHA256 Credential=…"))

    assert isinstance(unsigned, ServedResponse)
    assert unsigned.status == 403
    assert isinstance(signed, Call)


def test_the_services_response_becomes_the_callers() -> None:
    call = call_of(openapi(), request("POST", "/orders"))
    assert isinstance(call, Call)
    attributes = {"issued": {"N": "7"}, "stride": {"N": "3"}, "epoch": {"N": "1"}}

    minted = response_of(call, 200, json.dumps({"Attributes": attributes}))
    unknown = response_of(call, 400, '{"__type": "com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException"}')
    unavailable = response_of(call, 500, "")

    assert (minted.status, json.loads(minted.body)["integer"]) == (200, 7)
    assert (unknown.status, json.loads(unknown.body)["status"]) == (404, 404)
    assert (unavailable.status, unavailable.headers["Retry-After"]) == (503, "1")
    assert unavailable.headers["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("broken", ["nothing matches", "overridden twice"])
def test_a_wrong_configuration_is_a_transient_error(broken: str) -> None:
    changed = openapi()
    responses = changed["paths"]["/"]["post"]["x-amazon-apigateway-integration"]["responses"]
    if broken == "nothing matches":
        del responses["default"]
    else:
        responses["default"]["responseTemplates"]["application/json"] *= 2
    call = call_of(changed, request())
    assert isinstance(call, Call)

    assert response_of(call, 500, "") == gateway_response(call.api, "API_CONFIGURATION_ERROR")


def test_a_role_that_does_not_exist_is_a_configuration_error(aws: Aws, tmp_path: Path) -> None:
    (tmp_path / "api").mkdir()
    (tmp_path / "api" / "stage.json").write_text(json.dumps(openapi()))
    gateway = GatewayServer(tmp_path, aws.endpoint)

    response = gateway.respond("POST", "/api/stage/orders", [], b"")

    assert (response.status, json.loads(response.body)["status"]) == (503, 503)
    assert response.headers["Retry-After"]
