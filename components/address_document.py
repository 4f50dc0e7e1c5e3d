"""The REST API in front of a minting function, as an OpenAPI document with API Gateway's extensions. No Pulumi.

Callers of the address don't know which region will answer. So they sign with Signature Version 4A, whose signatures
are valid in every region. REST APIs take it (API Gateway guide, "Control access for invoking an API"). HTTP APIs take
Version 4 only (guide, "Control access to HTTP APIs with IAM authorization"). A REST API costs more for each request,
hands over payload format 1.0, waits 29 seconds for a function instead of 30, and doesn't answer browsers' preflight
requests.
"""

from http import HTTPStatus
from typing import Any

from .gateway_api import GATEWAY_RESPONSES, gateway_responses

ANY = "x-amazon-apigateway-any-method"

HEALTH = "/-/health"

UNAVAILABLE = (
    HTTPStatus.SERVICE_UNAVAILABLE,
    "the region's function can't be called now, or it failed; try again, or use another region",
)

RESPONSES = {
    "API_CONFIGURATION_ERROR": UNAVAILABLE,
    "INTEGRATION_FAILURE": UNAVAILABLE,
    "INTEGRATION_TIMEOUT": UNAVAILABLE,
    "THROTTLED": (HTTPStatus.TOO_MANY_REQUESTS, "too many requests; try again"),
}
"""API Gateway's own responses, by type. If Lambda throttles the function, or it is paused, that is a failure of the
integration, by default 500 or 504 (guide, "Gateway response types")."""


def document(name: str, function_arn: str) -> dict[str, Any]:
    """Return the document: every path and method calls the function, and needs a signature.

    Only `GET /-/health` needs none, since a health check of Route 53 can't sign.

    Args:
        name: the API's name.
        function_arn: the function's ARN. The API is in its partition and region.
    """
    _, partition, _, region, *_ = function_arn.split(":")
    operation: dict[str, Any] = {
        "responses": {"200": {"description": "The function's response."}},
        "x-amazon-apigateway-integration": {
            "type": "aws_proxy",
            "httpMethod": "POST",
            "uri": f"arn:{partition}:apigateway:{region}:lambda:path/2015-03-31/functions/{function_arn}/invocations",
        },
    }
    signed: dict[str, Any] = {**operation, "security": [{"sigv4": []}]}
    proxy = {"name": "proxy", "in": "path", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.0.1",
        "info": {"title": name, "version": "1"},
        "paths": {
            "/": {ANY: signed},
            "/{proxy+}": {ANY: {**signed, "parameters": [proxy]}},
            HEALTH: {"get": operation, ANY: signed},
        },
        "components": {
            "securitySchemes": {
                "sigv4": {
                    "type": "apiKey",
                    "name": "Authorization",
                    "in": "header",
                    "x-amazon-apigateway-authtype": "awsSigv4",
                }
            }
        },
        GATEWAY_RESPONSES: gateway_responses(RESPONSES),
    }
