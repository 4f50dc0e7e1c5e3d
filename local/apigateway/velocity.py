"""Renders mapping templates as API Gateway does (guide, "Variables for data transformations").

The package airspeed knows the language, Velocity; here are the variables that API Gateway adds: `$input`, `$util`,
`$context`, and `$method`, in which AWS's guide shows parameters with all their values, but not their use here.
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
        """Return a parameter, from path, query string or headers in this order; empty if there is none.

        Without a name, return all by place.
        """
        if name is None:
            return self._parameters
        places = (self._parameters.get(place, {}) for place in ("path", "querystring", "header"))
        return next((found[name] for found in places if name in found), "")

    def path(self, expression: str) -> Any:
        """Return the value at a path of names, like `$.Attributes.issued.N`, or None."""
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
    """`$util`: functions for text."""

    def escapeJavaScript(self, text: str) -> str:  # noqa: N802 (its name)
        """Return the text as it may stand within a JavaScript string."""
        return json.dumps(str(text))[1:-1].replace("'", "\\'").replace("/", "\\/")


@dataclass
class Rendered:
    """What a template rendered."""

    text: str
    status: int | None = None
    """The status that it sets instead of the usual one, if any."""
    headers: dict[str, str] = field(default_factory=dict[str, str])
    """The headers that it sets."""


def render(
    template: str,
    parameters: Mapping[str, Mapping[str, str]],
    body: str,
    repeated: Mapping[str, list[str]] | None = None,
) -> Rendered:
    """Render a template.

    Args:
        template: In Velocity.
        parameters: The request's, by place: `path`, `querystring`, `header`. Of a repeated one, the last value.
        body: The document that `$input` reads.
        repeated: The parameters of the query string with all their values.

    Raises:
        airspeed.TemplateError: the template is wrong.
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
