"""What a REST API does with a request, by the document that the program deploys."""

import json
from typing import Any

import pytest

from local.apigateway.rest_api import Call, GatewayRequest, call_of, gateway_response, response_of
from local.server.process import ServedResponse
from tests.components.running import gateway_document

REGION = "eu-west-1"
TABLE = f"arn:aws:dynamodb:{REGION}:000000000000:table/counters"
ROLE = "arn:aws:iam::000000000000:role/gateway"


def openapi(*, signed: bool = False) -> dict[str, Any]:
    return gateway_document(REGION, TABLE, ROLE, authorization="AWS_IAM" if signed else "NONE")


def request(method: str = "POST", path: str = "/", body: str = "", **headers: str) -> GatewayRequest:
    path, _, query = path.partition("?")
    pairs = (pair.partition("=") for pair in query.split("&") if pair)
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return GatewayRequest(method, path, {name: [value] for name, _, value in pairs}, named, body)


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


def test_where_callers_sign_an_unsigned_request_is_refused() -> None:
    unsigned = call_of(openapi(signed=True), request())
    signed = call_of(openapi(signed=True), request(authorization="AWS4-HMAC-SHA256 Credential=…"))

    assert isinstance(unsigned, ServedResponse)
    assert unsigned.status == 403
    assert isinstance(signed, Call)


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
