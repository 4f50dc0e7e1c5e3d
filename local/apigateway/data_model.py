"""What API Gateway stores of an OpenAPI document: resources, their methods, and responses by status code. No I/O.

It serves what it stores, not the document. Both kinds of responses are maps by status code (API Gateway API reference,
"Method" and "Integration"), so of two integration responses with the same status code, one is lost. A document that
API Gateway refuses is refused, with its message where that is known: otherwise the deployment would fail only on AWS.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

Document = Mapping[str, Any]
"""An OpenAPI document, or a part of it."""


class InvalidDocument(ValueError):
    """API Gateway refuses the document, and stores nothing (guide, "Errors and warnings from importing your API")."""


@dataclass(frozen=True)
class IntegrationResponse:
    """What becomes of the service's responses with a status that matches a pattern."""

    status_code: str
    """Of the method response to which it leads."""
    selection_pattern: str
    """It must match the whole status. Empty: for all that match no other pattern, `default` in the document."""
    response_parameters: Mapping[str, str]
    """`method.response.header.<name>` → its value in single quotes."""
    response_templates: Mapping[str, str]
    """Media type → template of the body."""


@dataclass(frozen=True)
class Integration:
    """What is called, and with what."""

    type: str
    """`AWS`, `AWS_PROXY` or `MOCK`."""
    http_method: str
    uri: str
    credentials: str
    passthrough_behavior: str
    request_parameters: Mapping[str, str]
    request_templates: Mapping[str, str]
    integration_responses: Mapping[str, IntegrationResponse]
    """By status code."""

    def response_to(self, status: int) -> IntegrationResponse | None:
        """Return the response to a status of the service, None if no pattern matches and there is no default."""
        responses = self.integration_responses.values()
        matching = [each for each in responses if re.fullmatch(each.selection_pattern, str(status))]
        return next(iter([*matching, *(each for each in responses if not each.selection_pattern)]), None)


@dataclass(frozen=True)
class Method:
    """A method of a resource."""

    authorization_type: str
    """`NONE` or `AWS_IAM`."""
    request_parameters: Mapping[str, bool]
    """`method.request.<place>.<name>` → whether a request must have it."""
    validates_parameters: bool
    """Whether a request without a required parameter is refused."""
    method_responses: Mapping[str, frozenset[str]]
    """Status code → the headers that it declares, `method.response.header.<name>`."""
    method_integration: Integration


@dataclass(frozen=True)
class GatewayResponse:
    """A response of API Gateway itself."""

    status_code: str
    response_parameters: Mapping[str, str]
    """`gatewayresponse.header.<name>` → its value in single quotes."""
    response_templates: Mapping[str, str]


@dataclass(frozen=True)
class RestApi:
    """A REST API."""

    resources: Mapping[str, Mapping[str, Method]]
    """Path → its methods by name, `ANY` for all others. A resource comes after the one above it."""
    gateway_responses: Mapping[str, GatewayResponse]
    """By type."""


INTEGRATION = "x-amazon-apigateway-integration"
ANY_METHOD = "x-amazon-apigateway-any-method"
VALIDATOR = "x-amazon-apigateway-request-validator"
PLACES = {"query": "querystring"}

PATH_PART = re.compile(r"[a-zA-Z0-9._:-]+|\{[a-zA-Z0-9._:-]+\+?\}")
PARAMETER = re.compile(r"[a-zA-Z0-9._$-]+")
SERVICE = re.compile(r"arn:[a-z-]+:apigateway:[a-z0-9-]+:[a-zA-Z0-9.-]+:(path|action)/.+")
STATUS_CODE = re.compile(r"[1-5]\d\d")
FIXED = re.compile("'[^']*'")


def imported(document: Document) -> RestApi:
    """Return what API Gateway stores of a document.

    Raises:
        InvalidDocument: if API Gateway refuses it, or something of it can't be served on this machine.
    """
    resources: dict[str, dict[str, Method]] = {"/": {}}
    paths: Mapping[str, Document] = document["paths"]
    for path, operations in sorted(paths.items()):
        parts = path.split("/")[1:] if path != "/" else []
        for depth, part in enumerate(parts, start=1):
            message = "Resource's path part only allow a-zA-Z0-9._-: or a valid greedy path variable"
            _check(PATH_PART.fullmatch(part), f"Unable to create resource at path '{path}': {message}")
            resources.setdefault("/" + "/".join(parts[:depth]), {})
        for key, operation in operations.items():
            method = "ANY" if key == ANY_METHOD else key.upper()
            resources[path][method] = _method(document, operation, f"on '{method}' for resource at path '{path}'")
    answers = document.get("x-amazon-apigateway-gateway-responses", {}).items()
    return RestApi(resources, {kind: _gateway_response(answer) for kind, answer in answers})


def _method(document: Document, operation: Document, place: str) -> Method:
    parameters = {
        f"method.request.{PLACES.get(each['in'], each['in'])}.{each['name']}": bool(each.get("required"))
        for each in operation.get("parameters", ())
    }
    for name in parameters:
        text = f"Parameter name should match the following regular expression: ^{PARAMETER.pattern}$"
        _check(PARAMETER.fullmatch(name.split(".", 3)[3]), _mapping(f"Unable to put method {place}", text))
    responses = {
        status: frozenset(f"method.response.header.{name}" for name in response.get("headers", {}))
        for status, response in operation["responses"].items()
    }
    for status in responses:
        _check(STATUS_CODE.fullmatch(status), f"Unable to put method response {place}: Invalid status code specified")
    schemes = document.get("components", {}).get("securitySchemes", {})
    types = {
        schemes.get(name, {}).get("x-amazon-apigateway-authtype")
        for each in operation.get("security", ())
        for name in each
    }
    _check(types <= {"awsSigv4"}, f"Unable to put method {place}: it can't be served with this security here")
    validators = document.get("x-amazon-apigateway-request-validators", {})
    validator = operation.get(VALIDATOR, document.get(VALIDATOR))
    _check(validator in (None, *validators), f"Unable to put method {place}: there is no validator {validator}")
    return Method(
        authorization_type="AWS_IAM" if types else "NONE",
        request_parameters=parameters,
        validates_parameters=validators.get(validator, {}).get("validateRequestParameters", False),
        method_responses=responses,
        method_integration=_integration(operation.get(INTEGRATION), responses, place),
    )


def _integration(found: Document | None, responses: Mapping[str, frozenset[str]], place: str) -> Integration:
    if found is None:
        raise InvalidDocument(f"Unable to deploy {place}: No integration defined for method")
    refused = f"Unable to put integration {place}"
    kind, passthrough = found["type"].upper(), found.get("passthroughBehavior", "when_no_match").upper()
    _check(kind in ("AWS", "AWS_PROXY", "MOCK"), f"{refused}: {kind} can't be served here")
    _check(kind == "AWS_PROXY" or passthrough == "NEVER", f"{refused}: a body can't be passed through here")
    if kind != "MOCK":
        _check(found.get("httpMethod"), f"{refused}: Enumeration value for HttpMethod must be non-empty")
        service = "AWS ARN for integration must contain path or action"
        _check(SERVICE.fullmatch(found.get("uri", "")), f"{refused}: {service}")
    for name, value in found.get("requestParameters", {}).items():
        _check(
            name.startswith("integration.request.") and FIXED.fullmatch(value), f"{refused}: {name} can't be set here"
        )
    integration_responses = {
        response["statusCode"]: _integration_response(
            pattern, response, responses, f"Unable to put integration response {place}"
        )
        for pattern, response in found.get("responses", {}).items()
    }
    return Integration(
        type=kind,
        http_method=found.get("httpMethod", ""),
        uri=found.get("uri", ""),
        credentials=found.get("credentials", ""),
        passthrough_behavior=passthrough,
        request_parameters=found.get("requestParameters", {}),
        request_templates=found.get("requestTemplates", {}),
        integration_responses=integration_responses,
    )


def _integration_response(
    pattern: str, found: Document, responses: Mapping[str, frozenset[str]], refused: str
) -> IntegrationResponse:
    status = found["statusCode"]
    _check(status in responses, _mapping(refused, "No method response exists for method."))
    parameters: Mapping[str, str] = found.get("responseParameters", {})
    for name, value in parameters.items():
        invalid = f"Invalid mapping expression parameter specified: {name}"
        _check(name in responses[status], _mapping(refused, invalid))
        _check(FIXED.fullmatch(value), _mapping(refused, f"Invalid mapping expression specified: {value}"))
    selection = "" if pattern == "default" else pattern
    try:
        re.compile(selection)
    except re.error as error:
        raise InvalidDocument(f"{refused}: Invalid selection pattern specified") from error
    return IntegrationResponse(status, selection, parameters, found.get("responseTemplates", {}))


def _gateway_response(found: Document) -> GatewayResponse:
    return GatewayResponse(found["statusCode"], found.get("responseParameters", {}), found.get("responseTemplates", {}))


def _mapping(refused: str, error: str) -> str:
    return f"{refused}: Invalid mapping expression specified: Validation Result: warnings : [], errors : [{error}]"


def _check(holds: object, message: str) -> None:
    if not holds:
        raise InvalidDocument(message)
