"""A stack's configuration as the Pulumi engine would hand it to the program."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from .paths import ROOT, LocalError


def project() -> dict[str, Any]:
    """`Pulumi.yaml`."""
    return _read(ROOT / "Pulumi.yaml")


def stacks() -> list[str]:
    """Those that have a `Pulumi.<stack>.yaml`."""
    return sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml"))


def configuration(stack: str, overrides: Sequence[str] = ()) -> dict[str, str]:
    """Full key → value, objects and lists as JSON: defaults of the project, then the stack's file, then `key=value`.

    Raises:
        LocalError: there is no such stack, an override is none, or a required setting is missing.
    """
    described = project()
    name = described["name"]
    path = ROOT / f"Pulumi.{stack}.yaml"
    if not path.exists():
        raise LocalError(f"--stack {stack}: there is no {path.name}; known stacks are {', '.join(stacks())}")
    values: dict[str, str] = {
        f"{name}:{key}": _text(entry["default"]) for key, entry in described["config"].items() if "default" in entry
    }
    for key, value in cast("dict[str, Any]", _read(path).get("config") or {}).items():
        values[_full(key, name)] = _text(value)
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key:
            raise LocalError(f"-c {override}: not of the form key=value; for a list: -c 'regions=[\"us-east-1\"]'")
        values[_full(key, name)] = value
    return values


def _full(key: str, project_name: str) -> str:
    return key if ":" in key else f"{project_name}:{key}"


def _text(value: Any) -> str:
    if isinstance(value, str):
        return value
    return json.dumps(value)


class _Loader(yaml.SafeLoader):
    """Refuses a key that stands twice, as Pulumi does."""

    def construct_mapping(self, node: Any, deep: bool = False) -> Any:
        keys = [key.value for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{key} stands twice", node.start_mark)
        return super().construct_mapping(node, deep)


def _read(path: Path) -> dict[str, Any]:
    try:
        return yaml.load(path.read_text(), _Loader) or {}  # noqa: S506 (a safe one)
    except yaml.YAMLError as error:
        raise LocalError(f"{path.name} is not valid YAML: {error}") from error
