"""What a REST API does with a request, by its OpenAPI document with API Gateway's extensions. No I/O.

It knows what the components use: AWS and mock integrations, request validation, gateway responses. It doesn't
throttle, and of a signed request it only checks that there is a signature.

Mapping templates are rendered as API Gateway does (guide, "Variables for data transformations"). The package airspeed
knows the language, Velocity; here are the variables that API Gateway adds: `$input`, `$util`, `$context`, and
`$method`, which holds all values of a parameter; the guide doesn't show it in a template.
"""

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, cast
from urllib.parse import unquote

import airspeed  # pyright: ignore[reportMissingTypeStubs]

from ..server.process import ServedResponse

Document = Mapping[str, Any]
"""An OpenAPI document, or a part of it."""

INTEGRATION = "x-amazon-apigateway-integration"
GATEWAY_RESPONSES = "x-amazon-apigateway-gateway-responses"
VALIDATOR = "x-amazon-apigateway-request-validator"


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


Send = Callable[[Document, str, str], tuple[int, str]]
"""Makes an integration's call of an AWS service, with a body and its type. Returns status and body of the response."""


def respond(api: Document, request: GatewayRequest, send: Send) -> ServedResponse:
    """Return the response to a request: the API's own, or one that is made of an AWS service's."""
    methods, in_path = _resource(api, request.path)
    method = methods.get(request.method.lower())
    signed = request.header("authorization").startswith("AWS4-HMAC-SHA256 ")
    if method is None or (method.get("security") and not signed):
        return gateway_response(api, "MISSING_AUTHENTICATION_TOKEN")
    last = {name: values[-1] for name, values in request.query.items()}
    parameters = {"path": in_path, "querystring": last, "header": request.headers}
    needed = [each for each in method["parameters"] if each["required"]] if VALIDATOR in api else []
    if not all(parameters[each["in"].replace("query", "querystring")].get(each["name"]) for each in needed):
        return gateway_response(api, "BAD_REQUEST_PARAMETERS")
    integration = method[INTEGRATION]
    sent = request.header("content-type") or JSON
    template = integration["requestTemplates"].get(sent.partition(";")[0].strip().lower())
    if template is None:
        return gateway_response(api, "UNSUPPORTED_MEDIA_TYPE")
    body = render(template, parameters, request.body, request.query).text
    if integration["type"] == "mock":  # its request says the status of the response that it stands for
        status, answer = json.loads(body)["statusCode"], ""
    else:
        fixed = integration.get("requestParameters", {}).get("integration.request.header.Content-Type", "").strip("'")
        status, answer = send(integration, body, fixed or sent)
    chosen = response_to(integration, status)
    if chosen is None:
        return gateway_response(api, "API_CONFIGURATION_ERROR")
    ((content_type, template),) = chosen["responseTemplates"].items()
    try:
        rendered = render(template, parameters, answer)
    except airspeed.TemplateExecutionError:  # the guide says: a 5XX response
        return gateway_response(api, "API_CONFIGURATION_ERROR")
    headers = {"Content-Type": content_type, **_headers(chosen), **rendered.headers}
    return ServedResponse(int(rendered.status or chosen["statusCode"]), headers, rendered.text.encode())


def response_to(integration: Document, status: int) -> Document | None:
    """Return the response to a status of the service, None if no pattern matches and there is no default."""
    responses = integration["responses"]
    matching = (response for pattern, response in responses.items() if re.fullmatch(pattern, str(status)))
    return next(matching, responses.get("default"))


def gateway_response(api: Document, kind: str) -> ServedResponse:
    """Return the response that API Gateway gives without an integration."""
    response = api[GATEWAY_RESPONSES][kind]
    ((content_type, template),) = response["responseTemplates"].items()
    headers = {"Content-Type": content_type, **_headers(response)}
    return ServedResponse(int(response["statusCode"]), headers, template.encode())


def _resource(api: Document, path: str) -> tuple[Document, dict[str, str]]:
    """Return the methods of the resource at a path, and the parameters in it. A resource of that very path is first."""
    paths = api["paths"]
    if path in paths and "{" not in path:
        return paths[path], {}
    above, _, part = path.rpartition("/")
    for known, methods in paths.items():
        parent, _, variable = known.rpartition("/")
        if part and parent == above and variable.startswith("{"):
            return methods, {variable.strip("{}"): unquote(part)}
    return {}, {}


def _headers(response: Document) -> dict[str, str]:
    """Return a response's fixed headers. Each value is in single quotes."""
    return {name.rpartition(".")[2]: value.strip("'") for name, value in response["responseParameters"].items()}
