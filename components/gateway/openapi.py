"""The REST API that mints without a function, as an OpenAPI document with API Gateway's extensions. No Pulumi.

One mapping template turns a request into an UpdateItem; another turns DynamoDB's reply into the same JSON as the
function's (API Gateway guide, "Mapping template transformations"). This is safe in every layout, since the item
itself has the stride and the ceiling.
"""

import json
from collections.abc import Callable, Mapping
from functools import partial
from http import HTTPStatus
from typing import Any

from ..settings.subjects import Region
from . import templates
from .templates import JSON, problem

CONTENT_TYPES = (JSON, "application/x-www-form-urlencoded", "text/plain")
"""Types of a request's body, which is ignored. API Gateway takes a POST without a Content-Type for JSON."""

MINTED, REFUSED, FAILED = "200", "400", "500"
RESPONSES: Mapping[str, str] = {
    MINTED: "Minted.",
    REFUSED: "Refused by the table. The template sets the status and the reason.",
    FAILED: "The table or the region is unavailable. The template sets the status and the reason.",
}
"""A method's responses, by status code. API Gateway stores an integration's responses by the same codes: it would lose
one of two that have the same code (API Gateway API reference, "Integration")."""

GATEWAY_RESPONSES = "x-amazon-apigateway-gateway-responses"

SIGV4 = {"type": "apiKey", "name": "Authorization", "in": "header", "x-amazon-apigateway-authtype": "awsSigv4"}

SIGNATURES: Mapping[str, Any] = {"securitySchemes": {"sigv4": SIGV4}}
"""The document's `components`, where callers sign."""


def document(
    name: str, region: Region, table_arn: str, role_arn: str, default_counter: str, *, signed: bool
) -> dict[str, Any]:
    """Return the OpenAPI document, with the paths `/`, `/{counter}` and `/counter?systemKey={counter}`."""
    methods = partial(_methods, region, table_arn, role_arn, signed)
    path = {"name": "counter", "in": "path", "required": True, "schema": {"type": "string"}}
    query = {"name": "systemKey", "in": "query", "required": True, "schema": {"type": "string"}}
    return {
        "openapi": "3.0.1",
        "info": {"title": name, "version": "1"},
        "paths": {
            "/": methods(f"'{default_counter}'", []),
            "/{counter}": methods("$input.params('counter')", [path]),
            "/counter": methods("$input.params('systemKey')", [query]),
        },
        **({"components": SIGNATURES} if signed else {}),
        "x-amazon-apigateway-request-validators": {"parameters": {"validateRequestParameters": True}},
        "x-amazon-apigateway-request-validator": "parameters",
        GATEWAY_RESPONSES: _responses(signed=signed),
    }


def _methods(
    region: Region, table_arn: str, role_arn: str, signed: bool, counter: str, parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    _, partition, _, _, _, table = table_arn.replace("table/", "").split(":")
    no_store = {"method.response.header.Cache-Control": "'no-store'"}

    def response(status: str, template: str) -> dict[str, Any]:
        return {"statusCode": status, "responseParameters": no_store, "responseTemplates": {JSON: template}}

    operation: dict[str, Any] = {
        "parameters": parameters,
        "responses": {
            status: {"description": text, "headers": {"Cache-Control": {"schema": {"type": "string"}}}}
            for status, text in RESPONSES.items()
        },
        **({"security": [{"sigv4": []}]} if signed else {}),
        "x-amazon-apigateway-integration": _paused(response)
        if region.paused
        else {
            "type": "aws",
            "httpMethod": "POST",
            "uri": f"arn:{partition}:apigateway:{region.name}:dynamodb:action/UpdateItem",
            "credentials": role_arn,
            "passthroughBehavior": "never",
            # Otherwise DynamoDB gets the type of the request's body, and refuses any other.
            "requestParameters": {"integration.request.header.Content-Type": "'application/x-amz-json-1.0'"},
            "requestTemplates": dict.fromkeys(CONTENT_TYPES, templates.request_template(table, counter)),
            "responses": {
                r"2\d{2}": response(MINTED, templates.minted_template(region.name)),
                r"4\d{2}": response(REFUSED, templates.refused_template(region.successors)),
                "default": response(FAILED, templates.unavailable_template()),
            },
        },
    }
    return {"get": operation, "post": operation}


def _paused(response: Callable[[str, str], dict[str, Any]]) -> dict[str, Any]:
    """Return an integration that calls nothing (API Gateway guide, "Mock integrations for REST APIs").

    Throttling can't stop an API, since API Gateway's limits are targets and no ceilings (guide, "Throttle requests").
    Its operator ends the pause, so there is no hint when to retry.
    """
    template = templates.unavailable_template("this region is paused by its operator; use another region", retry="")
    return {
        "type": "mock",
        "passthroughBehavior": "never",
        "requestTemplates": dict.fromkeys(CONTENT_TYPES, json.dumps({"statusCode": 503})),
        "responses": {"default": response(FAILED, template)},
    }


def _responses(*, signed: bool) -> dict[str, Any]:
    """Return the responses of API Gateway itself (guide, "Gateway response types"). They can't use Velocity.

    The response to a request that is too large (413) can't be changed (guide, "Amazon API Gateway important notes").
    """
    not_found = "there is no such path or method; it is /{counter} or /counter?systemKey={counter}, by GET or POST"
    unavailable = (HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again")
    statuses = {
        "ACCESS_DENIED": (HTTPStatus.FORBIDDEN, "not allowed: execute-api:Invoke is needed"),
        "API_CONFIGURATION_ERROR": unavailable,  # such as a role so new that it can't be assumed yet
        "BAD_REQUEST_PARAMETERS": (HTTPStatus.BAD_REQUEST, "systemKey, the counter's name, is missing"),
        "EXPIRED_TOKEN": (HTTPStatus.FORBIDDEN, "the security token has expired"),
        "INTEGRATION_FAILURE": unavailable,
        "INTEGRATION_TIMEOUT": unavailable,
        "INVALID_SIGNATURE": (HTTPStatus.FORBIDDEN, "the signature is wrong"),
        # API Gateway's response also if no method matches.
        "MISSING_AUTHENTICATION_TOKEN": (HTTPStatus.FORBIDDEN, f"the request is not signed, or {not_found}")
        if signed
        else (HTTPStatus.NOT_FOUND, not_found),
        "THROTTLED": (HTTPStatus.SERVICE_UNAVAILABLE, "too many requests; try again"),
        "UNSUPPORTED_MEDIA_TYPE": (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send no body"),
    }
    return gateway_responses(statuses)


def gateway_responses(statuses: Mapping[str, tuple[HTTPStatus, str]]) -> dict[str, Any]:
    """Return responses of API Gateway itself, by type: problem documents, with `Retry-After` where it may help."""
    header, transient = "gatewayresponse.header", (HTTPStatus.SERVICE_UNAVAILABLE, HTTPStatus.TOO_MANY_REQUESTS)
    retry = {f"{header}.Retry-After": f"'{templates.RETRY_AFTER_SECONDS}'"}
    return {
        kind: {
            "statusCode": str(status.value),
            "responseParameters": {f"{header}.Cache-Control": "'no-store'", **(retry if status in transient else {})},
            "responseTemplates": {JSON: json.dumps(problem(status, detail))},
        }
        for kind, (status, detail) in statuses.items()
    }
