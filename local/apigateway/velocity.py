"""Mapping templates, rendered as API Gateway renders them (guide, "Variables for data transformations").

The language is airspeed's; here is what API Gateway puts into it: `$input`, `$util`, `$context`.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import airspeed  # pyright: ignore[reportMissingTypeStubs]


class Input:
    """`$input`: the request's parameters, and the document that is being transformed."""

    def __init__(self, parameters: Mapping[str, Mapping[str, str]], body: str) -> None:
        self._parameters = parameters
        self._body = body

    def params(self, name: str | None = None) -> Any:
        """Looked for in path, query string and headers, in this order; empty if it is nowhere."""
        if name is None:
            return self._parameters
        places = (self._parameters.get(place, {}) for place in ("path", "querystring", "header"))
        return next((found[name] for found in places if name in found), "")

    def path(self, expression: str) -> Any:
        """What lies at a path of names, like `$.Attributes.issued.N`; None if nothing does."""
        value: Any = self._document()
        for name in expression.removeprefix("$").strip(".").split("."):
            if name:
                value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        return value

    def _document(self) -> Any:
        try:
            return json.loads(self._body)
        except ValueError:
            return {}


class Util:
    """`$util`."""

    def escapeJavaScript(self, text: str) -> str:  # noqa: N802 (its name)
        return json.dumps(str(text))[1:-1].replace("'", "\\'").replace("/", "\\/")


@dataclass
class Rendered:
    """`status` None and no headers: nothing was overridden."""

    text: str
    status: int | None = None
    headers: dict[str, str] = field(default_factory=dict[str, str])


def render(template: str, parameters: Mapping[str, Mapping[str, str]], body: str) -> Rendered:
    """`parameters` by place (`path`, `querystring`, `header`); `body` is the document that `$input` gives.

    Raises:
        airspeed.TemplateError: the template is wrong.
    """
    override: dict[str, Any] = {"header": {}}
    variables = {"input": Input(parameters, body), "util": Util(), "context": {"responseOverride": override}}
    text = airspeed.Template(template).merge(variables)
    return Rendered(text, override.get("status"), override["header"])
