"""Reads a stack's configuration (`pulumi config`, `Pulumi.<stack>.yaml`)."""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from difflib import SequenceMatcher
from typing import Any, cast

import pulumi
from pulumi.runtime.config import CONFIG, get_config_env

from .args import SETTINGS, GlobalIntegersArgs
from .settings import settings_of
from .values import camel, kind, unknown_setting

NOT_IN_PROJECT_NAMESPACE = frozenset({"home", "prefix"})
"""`home` is `aws:region`; `prefix` is `<project>-<stack>`."""

RESEMBLES = 0.75
"""A namespace that is at least this similar to the project's is reported as misspelt (0 to 1)."""


def args_of_stack() -> GlobalIntegersArgs:
    """Return what the present stack's configuration asks for.

    Raises:
        SettingsError: with every wrong setting, its value and what is allowed.
    """
    project, stack = pulumi.get_project(), pulumi.get_stack()
    config = pulumi.Config(project)
    own = [name for name in SETTINGS if name not in NOT_IN_PROJECT_NAMESPACE]
    values: dict[str, Any] = {"home": pulumi.Config("aws").get("region")}
    values |= {name: _decoded(name, config.get(camel(name))) for name in own}

    def key(name: str) -> str:
        return {"home": "aws:region", "prefix": "<project>-<stack>"}.get(name) or camel(name)

    def example(name: str, value: object) -> str:
        full = key(name) if ":" in key(name) else f"{project}:{key(name)}"
        return f"in Pulumi.{stack}.yaml, {full}: {value if isinstance(value, str) else json.dumps(value)}"

    errors = [*_unknown_keys(project, set(map(camel, own))), *_misspelt_namespaces(project)]
    settings_of(values, f"{project}-{stack}", key=key, example=example, errors=errors)
    return GlobalIntegersArgs(**values, prefix=f"{project}-{stack}")


def _decoded(name: str, text: str | None) -> Any:
    """Return a value of the setting's type, or the text itself if it is of another."""
    if text is None:
        return None
    of = kind(name)
    if of is int:
        return int(text) if re.fullmatch(r"-?[0-9]{1,18}", text) else text
    if of is bool:
        return {"true": True, "false": False}.get(text, text)
    parsed = _parsed(text) if of in (Sequence, Mapping) else None
    return cast("Any", parsed) if isinstance(parsed, dict if of is Mapping else list) else text


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None


def _unknown_keys(project: str, known: set[str]) -> Iterable[str]:
    keys = {key.removeprefix(f"{project}:") for key in _configured() if key.startswith(f"{project}:")}
    for key in sorted(keys - known):
        yield unknown_setting(key, known)


def _misspelt_namespaces(project: str) -> Iterable[str]:
    for key in sorted(_configured()):
        namespace, _, name = key.partition(":")
        if namespace != project and SequenceMatcher(None, namespace.lower(), project.lower()).ratio() >= RESEMBLES:
            yield f"{key}: nothing reads the namespace {namespace!r}; did you mean {project}:{name}?"


def _configured() -> set[str]:
    """Return all keys with their namespaces, as the engine (or a test) handed them over."""
    return {*CONFIG.get(), *get_config_env()}
