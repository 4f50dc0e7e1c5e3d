"""Inputs that `ignore_changes` names: they keep the value which the last deployment recorded."""

import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from typing import Any, cast

from .paths import LocalError

PART = re.compile(r'\.?([A-Za-z_$][\w$]*)|\[(\d+)\]|\["([^"]*)"\]')
"""A step of a path like `tags.owner`, `cors[0]` or `tags["cost center"]` (Pulumi's "property paths")."""


def with_kept(inputs: Mapping[str, Any], before: Mapping[str, Any], paths: Sequence[str]) -> dict[str, Any]:
    """Return inputs with the values of `before` at `paths`. What `before` doesn't have there, they don't have either.

    Raises:
        LocalError: a path can't be read.
    """
    kept = deepcopy(dict(before))
    result = dict(inputs)
    for path in paths:
        result = _set(result, kept, _steps(path))
    return result


def _steps(path: str) -> list[str | int]:
    steps: list[str | int] = []
    end = 0
    while end < len(path):
        part = PART.match(path, end)
        if part is None:
            raise LocalError(f"ignore_changes: {path}: only names and positions can be read here (local/ignored.py)")
        name, place, quoted = part.groups()
        steps.append(int(place) if place else (name or quoted))
        end = part.end()
    return steps


def _set(target: Any, source: Any, steps: Sequence[str | int]) -> Any:
    """Return `target` with what `source` has at the end of the steps, or unchanged if a step leads nowhere."""
    step, *rest = steps
    match target, source, step:
        case dict(), dict(), str():
            entries, before = cast("dict[str, Any]", target), cast("dict[str, Any]", source)
            if step in before and (not rest or step in entries):
                return {**entries, step: _set(entries[step], before[step], rest) if rest else before[step]}
            return {key: value for key, value in entries.items() if rest or key != step}
        case list(), list(), int():
            items, old = cast("list[Any]", target), cast("list[Any]", source)
            if step >= min(len(items), len(old)):
                return items
            value = _set(items[step], old[step], rest) if rest else old[step]
            return [*items[:step], value, *items[step + 1 :]]
        case _:
            return target
