"""What a deployment exported: one value of it, and how it is printed."""

import json
from collections.abc import Mapping
from typing import Any, cast

from .paths import LocalError


def select(outputs: Mapping[str, Any], path: str) -> Any:
    """Return the value at a path like `regions` or `urls.eu-west-1`.

    Raises:
        LocalError: there is none. The message names what there is.
    """
    value: Any = outputs
    for key in path.split("."):
        known: Mapping[str, Any] = cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
        if key not in known:
            raise LocalError(f"outputs {path}: there is no {key!r}; there is {', '.join(known) or 'nothing below'}")
        value = known[key]
    return value


def as_text(value: Any) -> str:
    """Return a value for a terminal or a script: a string as it is, a mapping with a line for each entry."""
    if not isinstance(value, Mapping):
        return _line(value)
    lines: list[str] = []
    for name, entry in cast("Mapping[str, Any]", value).items():
        if isinstance(entry, Mapping) and entry:
            nested = cast("Mapping[str, Any]", entry)
            lines += [f"{name}:", *(f"  {key}: {_line(below)}" for key, below in nested.items())]
        else:
            lines.append(f"{name}: {_line(entry)}")
    return "\n".join(lines)


def _line(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
