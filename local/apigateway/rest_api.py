"""What a REST API does with a request, as its OpenAPI document and API Gateway's extensions define it. No I/O.

It knows what the components use: AWS and mock integrations, request validation, gateway responses. It doesn't
throttle, and of a signed request it only checks that there is a signature.

Mapping templates are rendered as API Gateway does (guide, "Variables for data transformations"). The package airspeed
knows the language, Velocity; here are the variables that API Gateway adds: `$input`, `$util`, `$context`, and
`$method`, which holds all values of a parameter; the guide doesn't show it in a template.
"""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

import airspeed  # pyright: ignore[reportMissingTypeStubs]

from ..server.process import ServedResponse


class Input:
    """`$input`: the request's parameters, and the document that is being transformed."""

    def __init__(self, parameters: Mapping[str, Mapping[str, str]], body: str) -> None:
        self._parameters = parameters
        self._body = body

    def params(self, name: str | None = None) -> Any:
        """Return a parameter, of path, query string or headers in this order, or empty. No name: all, by these."""
        if name is None:
            return self._parameters
        places = (self._parameters.get(place, {}) for place in ("path", "querystring", "header"))
        return next((found[name] for found in places if name in found), "")

    def path(self, expression: str) -> Any:
        """Return the value at a path of names, like `$.Attributes.issued.N`, or None."""
        try:
            value: Any = json.loads(self._body)
        except ValueError:
            value = {}
        for name in filter(None, expression.removeprefix("$").split(".")):
            value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        return value


class Util:
    """`$util`: functions for text."""

    def escapeJavaScript(self, text: str) -> str:  # noqa: N802 (its name)
        """Return the text as it may be written within a JavaScript string."""
        return json.dumps(str(text))[1:-1].replace("'", "\\'").replace("/", "\\/")


@dataclass
class Rendered:
    """What a template rendered, and the status and headers that it sets instead of the usual ones."""

    text: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


def render(
    template: str,
    parameters: Mapping[str, Mapping[str, str]],
    body: str,
    repeated: Mapping[str, list[str]] | None = None,
) -> Rendered:
    """Render a template for a document, which `$input` reads.

    `parameters` are the request's, by `path`, `querystring` and `header`; of a repeated one, the last value.
    `repeated` has those of the query string with all their values.
    """
    override: dict[str, Any] = {"header": {}}
    variables = {
        "input": Input(parameters, body),
        "util": Util(),
        "context": {"responseOverride": override},
        "method": {"request": {"multivaluequerystring": repeated or {}}},
    }
    text = airspeed.Template(template).merge(variables)
    return Rendered(text, override.get("status"), override["header"])


JSON = "application/json"

Document = Mapping[str, Any]
"""An OpenAPI document, or a part of it."""


@dataclass(frozen=True)
class GatewayRequest:
    """A request of a caller."""

    method: str
    path: str
    """Below the stage, encoded."""
    query: Mapping[str, list[str]]
    """Each parameter with all its values."""
    headers: Mapping[str, str]
    """Names as the caller spelt them, which is how templates see them."""
    body: str

    def header(self, name: str) -> str:
        """Return a header by its name in any spelling, empty if there is none."""
        return next((value for key, value in self.headers.items() if key.lower() == name), "")


@dataclass(frozen=True)
class Call:
    """A call of an AWS service, which makes the request's response."""

    integration: Document
    parameters: Mapping[str, Mapping[str, str]]
    """The request's, by `path`, `querystring` and `header`."""
    body: str
    content_type: str
    """Of the body that the service gets: the integration's, or that of the caller's body."""

    @property
    def target(self) -> tuple[str, str, str]:
        """Region, service and action, from `arn:aws:apigateway:<region>:<service>:action/<action>`."""
        _, _, _, region, service, action = self.integration["uri"].split(":")
        return region, service, action.removeprefix("action/")


def call_of(api: Document, request: GatewayRequest) -> Call | ServedResponse:
    """Return the call that the request asks for, or the response of a request that is refused before."""
    route = _route(api, request.path)
    operation = api["paths"].get(route, {}).get(request.method.lower())
    if operation is None:
        return gateway_response(api, "MISSING_AUTHENTICATION_TOKEN")
    if "security" in operation and not request.header("authorization").startswith("AWS4-HMAC-SHA256 "):
        return gateway_response(api, "MISSING_AUTHENTICATION_TOKEN")
    required = [p["name"] for p in operation["parameters"] if p["in"] == "query" and p["required"]]
    last = {name: values[-1] for name, values in request.query.items()}
    if not all(last.get(name) for name in required):
        return gateway_response(api, "BAD_REQUEST_PARAMETERS")
    integration = operation["x-amazon-apigateway-integration"]
    sent = request.header("content-type") or JSON
    template = integration["requestTemplates"].get(sent.partition(";")[0].strip().lower())
    if template is None:
        return gateway_response(api, "UNSUPPORTED_MEDIA_TYPE")
    in_path = {"counter": unquote(request.path[1:])} if "{" in route else {}
    parameters = {"path": in_path, "querystring": last, "header": request.headers}
    body = render(template, parameters, request.body, request.query).text
    fixed = integration.get("requestParameters", {}).get("integration.request.header.Content-Type", "").strip("'")
    call = Call(integration, parameters, body, fixed or sent)
    if integration["type"] == "mock":  # its request says the status of the response that it stands for
        return response_of(call, json.loads(call.body)["statusCode"], "")
    return call


def response_of(call: Call, status: int, body: str) -> ServedResponse:
    """Return the response to the caller, from the service's."""
    responses = call.integration["responses"]
    chosen = next((r for pattern, r in responses.items() if re.fullmatch(pattern, str(status))), responses["default"])
    ((content_type, template),) = chosen["responseTemplates"].items()
    rendered = render(template, call.parameters, body)
    headers = _headers(chosen, "method.response.header.")
    return ServedResponse(
        int(rendered.status or chosen["statusCode"]),
        {"Content-Type": content_type, **headers, **rendered.headers},
        rendered.text.encode(),
    )


def gateway_response(api: Document, kind: str) -> ServedResponse:
    """Return the response that API Gateway gives without an integration."""
    response = api["x-amazon-apigateway-gateway-responses"][kind]
    ((content_type, template),) = response["responseTemplates"].items()
    headers = _headers(response, "gatewayresponse.header.")
    return ServedResponse(int(response["statusCode"]), {"Content-Type": content_type, **headers}, template.encode())


def _route(api: Document, path: str) -> str:
    if path in api["paths"] and "{" not in path:
        return path
    return "/{counter}" if path.count("/") == 1 and path != "/" else ""


def _headers(response: Document, prefix: str) -> dict[str, str]:
    """Return a response's fixed headers. In the document, each value is in single quotes."""
    return {name.removeprefix(prefix): value.strip("'") for name, value in response["responseParameters"].items()}
