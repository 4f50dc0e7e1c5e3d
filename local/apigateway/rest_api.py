"""What a REST API does with a request, by what API Gateway stores of its document. No I/O.

It knows what the components use: AWS and mock integrations, request validation, gateway responses. It doesn't
throttle, and of a signed request it only checks that there is a signature.

Mapping templates are rendered as API Gateway does (guide, "Variables for data transformations"). The package airspeed
knows the language, Velocity; here are the variables that API Gateway adds: `$input`, `$util`, `$context`, and
`$method`, which holds all values of a parameter; the guide doesn't show it in a template.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

import airspeed  # pyright: ignore[reportMissingTypeStubs]

from ..server.process import ServedResponse
from .data_model import Integration, Method, RestApi


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


class Overrides(dict[str, Any]):
    """Overrides of a response. Each can be set once (guide, "Override your API's request and response parameters")."""

    def __setitem__(self, name: str, value: Any) -> None:
        """Set an override.

        Raises:
            ValueError: if it has been set.
        """
        if name in self:
            raise ValueError(f"{name} is overridden twice")
        super().__setitem__(name, value)


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

    Raises:
        TemplateExecutionError: for example if the template overrides something twice.
    """
    override = Overrides(header=Overrides())
    variables = {
        "input": Input(parameters, body),
        "util": Util(),
        "context": {"responseOverride": override},
        "method": {"request": {"multivaluequerystring": repeated or {}}},
    }
    text = airspeed.Template(template).merge(variables)
    return Rendered(text, override.get("status"), override["header"])


JSON = "application/json"


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

    api: RestApi
    integration: Integration
    parameters: Mapping[str, Mapping[str, str]]
    """The request's, by `path`, `querystring` and `header`."""
    body: str
    content_type: str
    """Of the body that the service gets: the integration's, or that of the caller's body."""

    @property
    def target(self) -> tuple[str, str, str]:
        """Region, service and action, from `arn:aws:apigateway:<region>:<service>:action/<action>`."""
        _, _, _, region, service, action = self.integration.uri.split(":")
        return region, service, action.removeprefix("action/")


def call_of(api: RestApi, request: GatewayRequest) -> Call | ServedResponse:
    """Return the call that the request asks for, or the response of a request that is refused before."""
    methods, in_path = _resource(api, request.path)
    method = methods.get(request.method, methods.get("ANY"))
    if method is None:
        return gateway_response(api, "MISSING_AUTHENTICATION_TOKEN")
    signed = request.header("authorization").startswith("AWS4-HMAC-SHA256 ")
    if method.authorization_type == "AWS_IAM" and not signed:
        return gateway_response(api, "MISSING_AUTHENTICATION_TOKEN")
    last = {name: values[-1] for name, values in request.query.items()}
    required = [name for name, needed in method.request_parameters.items() if needed and method.validates_parameters]
    places = {"querystring": last, "path": in_path}
    if not all(places[place].get(name) for _, _, place, name in (each.split(".", 3) for each in required)):
        return gateway_response(api, "BAD_REQUEST_PARAMETERS")
    integration = method.method_integration
    sent = request.header("content-type") or JSON
    template = integration.request_templates.get(sent.partition(";")[0].strip().lower())
    if template is None:
        return gateway_response(api, "UNSUPPORTED_MEDIA_TYPE")
    parameters = {"path": in_path, "querystring": last, "header": request.headers}
    body = render(template, parameters, request.body, request.query).text
    fixed = integration.request_parameters.get("integration.request.header.Content-Type", "").strip("'")
    call = Call(api, integration, parameters, body, fixed or sent)
    if integration.type == "MOCK":  # its request says the status of the response that it stands for
        return response_of(call, json.loads(call.body)["statusCode"], "")
    return call


def response_of(call: Call, status: int, body: str) -> ServedResponse:
    """Return the response to the caller, from the service's."""
    chosen = call.integration.response_to(status)
    if chosen is None:
        return gateway_response(call.api, "API_CONFIGURATION_ERROR")
    ((content_type, template),) = chosen.response_templates.items()
    try:
        rendered = render(template, call.parameters, body)
    except airspeed.TemplateExecutionError:  # the guide says: a 5XX response
        return gateway_response(call.api, "API_CONFIGURATION_ERROR")
    headers = _headers(chosen.response_parameters, "method.response.header.")
    return ServedResponse(
        int(rendered.status or chosen.status_code),
        {"Content-Type": content_type, **headers, **rendered.headers},
        rendered.text.encode(),
    )


def gateway_response(api: RestApi, kind: str) -> ServedResponse:
    """Return the response that API Gateway gives without an integration."""
    response = api.gateway_responses[kind]
    ((content_type, template),) = response.response_templates.items()
    headers = _headers(response.response_parameters, "gatewayresponse.header.")
    return ServedResponse(int(response.status_code), {"Content-Type": content_type, **headers}, template.encode())


def _resource(api: RestApi, path: str) -> tuple[Mapping[str, Method], dict[str, str]]:
    """Return the methods of the resource at a path, and the parameters in it. A resource of that very path is first."""
    if path in api.resources and "{" not in path:
        return api.resources[path], {}
    above, _, part = path.rpartition("/")
    for known, methods in api.resources.items():
        parent, _, variable = known.rpartition("/")
        if part and parent == above and variable.startswith("{"):
            return methods, {variable.strip("{}"): unquote(part)}
    return {}, {}


def _headers(parameters: Mapping[str, str], prefix: str) -> dict[str, str]:
    """Return a response's fixed headers. Each value is in single quotes."""
    return {name.removeprefix(prefix): value.strip("'") for name, value in parameters.items()}
