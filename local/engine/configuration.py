"""A stack's configuration as the Pulumi engine would hand it to the program."""

import json
import re
import shlex
from collections.abc import Hashable, Sequence
from pathlib import Path
from typing import Any, cast

import yaml

from ..paths import ROOT, LocalError

EXAMPLE = "`global-integers:lease: 1`"

PART = re.compile(r"""(?P<setting>\w+)(\.|\[)["']?(?P<entry>[^"'\]]+)["']?\]?""")
"""A part of a setting, as `pulumi config set --path` takes it: `regions[3]`, `floors.orders`, `floors["*"]`."""

RESERVED = frozenset({"server", "gateway", "door", "address"})
"""Stacks can't be called so: the records of processes have these names in the state folder."""


def project() -> dict[str, Any]:
    """Return `Pulumi.yaml`."""
    return _read(ROOT / "Pulumi.yaml")


def stacks() -> list[str]:
    """Return the stacks that have a `Pulumi.<stack>.yaml`."""
    return sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml"))


def configuration(stack: str, overrides: Sequence[str] = ()) -> dict[str, str]:
    """Return full key → value, objects and lists as JSON: the project's defaults, the stack's file, `key=value`.

    Raises:
        LocalError: there is no such stack, its file is wrong, or an override is not of the form `key=value`.
    """
    described = project()
    name = described["name"]
    if stack in RESERVED:
        raise LocalError(f"--stack {stack}: a process is recorded under this name here; choose another")
    path = ROOT / f"Pulumi.{stack}.yaml"
    if not path.is_file():
        raise LocalError(f"--stack {stack}: there is no {path.name}; known stacks are {', '.join(stacks())}")
    values: dict[str, str] = {
        f"{name}:{key}": _text(key, entry["default"])
        for key, entry in described["config"].items()
        if "default" in entry
    }
    settings = _settings(path)
    for key, value in settings.items():
        if _full(key, name) != key and _full(key, name) in settings:
            raise LocalError(f"{path.name}: {key} and {_full(key, name)} are the same setting; keep one of them")
        values[_full(key, name)] = _text(f"{path.name}: {key}", value)
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key:
            raise LocalError(f"-c {override}: not of the form key=value; for a list: -c 'regions=[\"us-east-1\"]'")
        part = PART.fullmatch(key.removeprefix(f"{name}:"))
        kind = described["config"].get(part["setting"], {}).get("type") if part else None
        if part and kind in ("array", "object"):
            whole = _with_part(values.get(f"{name}:{part['setting']}", ""), kind, part["entry"], value)
            instead = shlex.quote(f"{part['setting']}={json.dumps(whole)}")
            raise LocalError(f"-c {override}: write the whole value: -c {instead}")
        values[_full(key, name)] = value
    return values


def _with_part(text: str, kind: str, entry: str, value: str) -> list[Any] | dict[str, Any]:
    """Return the list or object with one entry set, as `pulumi config set --path` sets it."""
    try:
        present: Any = json.loads(text)
    except ValueError:
        present = None
    if kind == "object":
        known = cast("dict[str, Any]", present) if isinstance(present, dict) else {}
        return {**known, entry: int(value) if value.isdecimal() else value}
    entries = cast("list[Any]", present) if isinstance(present, list) else []
    at = int(entry) if entry.isdecimal() else len(entries)
    return [*entries[:at], value, *entries[at + 1 :]]


def _settings(path: Path) -> dict[str, Any]:
    """Return what is below `config` in a stack's file."""
    settings: Any = _read(path).get("config")
    if settings is None:
        return {}
    if not isinstance(settings, dict):
        raise LocalError(f"{path.name}: config must be a mapping, like {EXAMPLE}; it is {_kind(settings)}")
    for key in cast("dict[Any, Any]", settings):
        if not isinstance(key, str):
            raise LocalError(f"{path.name}: {key!r} is not the name of a setting; write {EXAMPLE}")
    return cast("dict[str, Any]", settings)


def _full(key: str, project_name: str) -> str:
    return key if ":" in key else f"{project_name}:{key}"


def _text(name: str, value: Any) -> str:
    """Return a value as the engine hands it over."""
    if isinstance(value, str):
        return value
    try:
        return json.dumps(value)
    except (TypeError, ValueError) as error:  # a date, a set, bytes; a list that holds itself
        raise LocalError(f"{name}: {error}; put it in quotes if it is a string") from error


class _Loader(yaml.SafeLoader):
    """Refuses a repeated key, as Pulumi does."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        seen: list[Any] = []
        for key, _ in node.value:
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"{key.value} is there twice", key.start_mark)
            seen.append(key.value)
        return super().construct_mapping(node, deep)


def _read(path: Path) -> dict[str, Any]:
    """Return the mapping in a YAML file, empty if there is nothing in it."""
    try:
        found: Any = yaml.load(path.read_text(), _Loader)  # noqa: S506 (a safe one)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LocalError(f"{path.name} is not valid YAML: {error}") from error
    if found is None:
        return {}
    if not isinstance(found, dict):
        raise LocalError(f"{path.name} must be a mapping, with config: and below it {EXAMPLE}; it is {_kind(found)}")
    return cast("dict[str, Any]", found)


def _kind(value: Any) -> str:
    """Return what a reader of YAML calls a value that is no mapping."""
    return "a list" if isinstance(value, list) else f"the value {value!r}"
