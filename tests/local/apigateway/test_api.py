"""What a REST API does with a request, by the document that the program deploys."""

import json
from typing import Any

import pytest

from local.apigateway.rest_api import Document, GatewayRequest, gateway_response, respond
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


def failing(_integration: Document, _body: str, _content_type: str) -> tuple[int, str]:
    """Respond as a service that has failed."""
    return 500, ""


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
    response = respond(openapi(), refused, failing)

    assert response.headers == {"Content-Type": "application/json", "Cache-Control": "no-store"}
    assert (response.status, json.loads(response.body)["status"]) == (status, status)


def test_where_callers_sign_an_unsigned_request_is_refused() -> None:
    unsigned = respond(openapi(signed=True), request(), failing)
    signed = respond(openapi(signed=True), request(authorization="AWS4-HMAC-SHA256 Credential=…"), failing)

    assert (unsigned.status, signed.status) == (403, 503)


@pytest.mark.parametrize("broken", ["nothing matches", "overridden twice"])
def test_a_wrong_configuration_is_a_transient_error(broken: str) -> None:
    changed = openapi()
    responses = changed["paths"]["/"]["post"]["x-amazon-apigateway-integration"]["responses"]
    if broken == "nothing matches":
        del responses["default"]
    else:
        responses["default"]["responseTemplates"]["application/json"] *= 2

    assert respond(changed, request(), failing) == gateway_response(changed, "API_CONFIGURATION_ERROR")
