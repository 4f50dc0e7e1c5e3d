"""The REST API that mints without a function, as an OpenAPI document with API Gateway's extensions. No Pulumi.

API Gateway turns a request into one UpdateItem by a mapping template, and what DynamoDB answers into the
function's JSON by another (API Gateway guide, "Mapping template transformations"). That is safe, whatever
the layouts do, since the item itself carries stride and ceiling.

The templates are Velocity. A counter's name gets into the request only if it is one: another is replaced
by a key that no counter has. For a wrong `count`, or an `Idempotency-Key`, it is one that DynamoDB refuses.
"""

import json
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from .names import COUNTER_NAME

NO_COUNTER = "/"
NO_KEY = ""

JSON = "application/json"
PROBLEM = "application/problem+json"
SOON = "1"
"""Seconds: `Retry-After` of what passes by itself."""

PASSING = (
    "InternalServerError",
    "LimitExceeded",
    "ProvisionedThroughputExceeded",
    "RequestLimitExceeded",
    "ResourceNotFound",
    "ServiceUnavailable",
    "Throttling",
)
"""What the names of errors that pass begin with: as in the function (lambda/mint/failure.py)."""


@dataclass(frozen=True)
class Door:
    """`table_arn` names the partition, region and account too."""

    name: str
    table_arn: str
    role_arn: str
    default_counter: str
    signed: bool
    """Callers sign (`AWS_IAM`)."""

    @property
    def region(self) -> str:
        return self.table_arn.split(":")[3]


def document(door: Door) -> dict[str, Any]:
    """`/`, `/{counter}`, and `/counter?systemKey={counter}` as in the write-up with several keys."""
    path = {"name": "counter", "in": "path", "required": True, "schema": {"type": "string"}}
    query = {"name": "systemKey", "in": "query", "required": True, "schema": {"type": "string"}}
    schemes = {
        "sigv4": {
            "type": "apiKey",
            "name": "Authorization",
            "in": "header",
            "x-amazon-apigateway-authtype": "awsSigv4",
        }
    }
    return {
        "openapi": "3.0.1",
        "info": {"title": door.name, "version": "1"},
        "paths": {
            "/": _methods(door, f"'{door.default_counter}'", []),
            "/{counter}": _methods(door, "$input.params('counter')", [path]),
            "/counter": _methods(door, "$input.params('systemKey')", [query]),
        },
        **({"components": {"securitySchemes": schemes}} if door.signed else {}),
        "x-amazon-apigateway-request-validators": {"parameters": {"validateRequestParameters": True}},
        "x-amazon-apigateway-request-validator": "parameters",
        "x-amazon-apigateway-gateway-responses": _gateway_responses(signed=door.signed),
    }


def request_template(table: str, counter: str) -> str:
    """`counter`: the Velocity expression that gives what the caller asked for."""
    request = {
        "TableName": table,
        "Key": {"counter": {"S": "$util.escapeJavaScript($counter)"}},
        "UpdateExpression": "SET issued = issued + stride",
        "ConditionExpression": "issued < ceiling",
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    return f"""\
#set($counter = {counter})
#if(!$counter.matches('{COUNTER_NAME.pattern}'))
#set($counter = '{NO_COUNTER}')
#end
#set($count = $input.params('count'))
#if(($count != '' && $count != '1') || $input.params('Idempotency-Key') != '' || $input.params('idempotency-key') != '')
#set($counter = '{NO_KEY}')
#end
{json.dumps(request, indent=2)}
"""


def minted_template(region: str) -> str:
    return f"""\
{{"counter": "$input.path('$.Attributes.counter.S')", "region": "{region}", \
"integer": $input.path('$.Attributes.issued.N')}}
"""


def refused_template() -> str:
    """Of DynamoDB's errors. A failed condition without an item: there is no such counter."""
    passing = " || ".join(f"$type.contains('{name}')" for name in PASSING)
    return f"""\
#set($type = "$!input.path('$.__type')")
#set($context.responseOverride.header.Content-Type = '{PROBLEM}')
#if($type.contains('ConditionalCheckFailed') && "$!input.path('$.Item.stride.N')" == '')
{_override(HTTPStatus.NOT_FOUND, "there is no such counter in this region")}
#elseif($type.contains('ConditionalCheckFailed') && "$!input.path('$.Item.fenced.BOOL')" == 'true')
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "a change of layout is finishing; try again", soon=True)}
#elseif($type.contains('ConditionalCheckFailed'))
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the counter is used up in this region")}
#elseif({passing})
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again", soon=True)}
#elseif($type.contains('ValidationException'))
{_override(HTTPStatus.BAD_REQUEST, "count can only be 1 here, and no Idempotency-Key; use the function's URL")}
#else
{_override(HTTPStatus.INTERNAL_SERVER_ERROR, "unexpected answer of the table")}
#end
"""


def unavailable_template() -> str:
    return f"""\
#set($context.responseOverride.header.Content-Type = '{PROBLEM}')
{_override(HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again", soon=True)}
"""


def _override(status: HTTPStatus, detail: str, *, soon: bool = False) -> str:
    lines = [f"#set($context.responseOverride.status = {status.value})"]
    if soon:
        lines.append(f"#set($context.responseOverride.header.Retry-After = '{SOON}')")
    return "\n".join([*lines, json.dumps(_problem(status, detail))])


def _methods(door: Door, counter: str, parameters: list[dict[str, Any]]) -> dict[str, Any]:
    partition, table = door.table_arn.split(":")[1], door.table_arn.split("/")[-1]
    no_store = {"method.response.header.Cache-Control": "'no-store'"}

    def answer(status: str, template: str) -> dict[str, Any]:
        return {"statusCode": status, "responseParameters": no_store, "responseTemplates": {JSON: template}}

    operation: dict[str, Any] = {
        "parameters": parameters,
        "responses": {
            status: {"description": text, "headers": {"Cache-Control": {"schema": {"type": "string"}}}}
            for status, text in {"200": "Minted.", "500": "Refused; the template says why."}.items()
        },
        **({"security": [{"sigv4": []}]} if door.signed else {}),
        "x-amazon-apigateway-integration": {
            "type": "aws",
            "httpMethod": "POST",
            "uri": f"arn:{partition}:apigateway:{door.region}:dynamodb:action/UpdateItem",
            "credentials": door.role_arn,
            "passthroughBehavior": "never",
            # The body is of no account, whatever its type: a POST without one comes as JSON.
            "requestTemplates": dict.fromkeys(
                (JSON, "application/x-www-form-urlencoded", "text/plain"), request_template(table, counter)
            ),
            "responses": {
                r"2\d{2}": answer("200", minted_template(door.region)),
                r"4\d{2}": answer("500", refused_template()),
                "default": answer("500", unavailable_template()),
            },
        },
    }
    return {"get": operation, "post": operation}


def _gateway_responses(*, signed: bool) -> dict[str, Any]:
    """What API Gateway says by itself (guide, "Gateway response types"); no Velocity here."""
    nowhere = "there is no such path or method; it is /{counter} or /counter?systemKey={counter}, by GET or POST"
    statuses = {
        "ACCESS_DENIED": (HTTPStatus.FORBIDDEN, "not allowed: execute-api:Invoke is needed"),
        "BAD_REQUEST_PARAMETERS": (HTTPStatus.BAD_REQUEST, "systemKey, the counter's name, is missing"),
        "EXPIRED_TOKEN": (HTTPStatus.FORBIDDEN, "the security token has expired"),
        "INTEGRATION_FAILURE": (HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again"),
        "INTEGRATION_TIMEOUT": (HTTPStatus.SERVICE_UNAVAILABLE, "the table is unavailable; try again"),
        "INVALID_SIGNATURE": (HTTPStatus.FORBIDDEN, "the signature is wrong"),
        # API Gateway's answer where no method matches, too.
        "MISSING_AUTHENTICATION_TOKEN": (HTTPStatus.FORBIDDEN, f"the request is not signed, or {nowhere}")
        if signed
        else (HTTPStatus.NOT_FOUND, nowhere),
        "REQUEST_TOO_LARGE": (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, "the request is too large"),
        "THROTTLED": (HTTPStatus.SERVICE_UNAVAILABLE, "too many requests; try again"),
        "UNSUPPORTED_MEDIA_TYPE": (HTTPStatus.UNSUPPORTED_MEDIA_TYPE, "send no body"),
    }
    return {kind: _gateway_response(status, detail) for kind, (status, detail) in statuses.items()}


def _gateway_response(status: HTTPStatus, detail: str) -> dict[str, Any]:
    headers = {"Cache-Control": "no-store"} | (
        {"Retry-After": SOON} if status is HTTPStatus.SERVICE_UNAVAILABLE else {}
    )
    return {
        "statusCode": str(status.value),
        "responseParameters": {f"gatewayresponse.header.{name}": f"'{value}'" for name, value in headers.items()},
        "responseTemplates": {JSON: json.dumps(_problem(status, detail))},
    }


def _problem(status: HTTPStatus, detail: str) -> dict[str, Any]:
    """RFC 9457, as the function's (lambda/mint/answer.py)."""
    return {"type": "about:blank", "title": status.phrase, "status": status.value, "detail": detail}
