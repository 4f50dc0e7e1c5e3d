"""A stack: its configuration as the Pulumi engine would hand it to the program, and what was deployed of it."""

import json
import re
import shlex
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, cast

import yaml

from .paths import ROOT, VERSION, LocalError, command, start_afresh, state_folder, write

EXAMPLE = "`global-integers:lease: 1`"

PART = re.compile(r"""(?P<setting>\w+)(\.|\[)["']?(?P<entry>[^"'\]]+)["']?\]?""")
"""A part of a setting, as `pulumi config set --path` takes it: `regions[3]`, `floors.orders`, `floors["*"]`."""

AWS = "aws:"
HOME = "aws:region"

RESERVED = frozenset({"server", "gateway", "domain"})
"""Stacks can't be called so: the records of processes have these names in the state folder."""


def project() -> dict[str, Any]:
    """Return `Pulumi.yaml`."""
    return _read(ROOT / "Pulumi.yaml")


def stacks() -> list[str]:
    """Return the stacks that have a `Pulumi.<stack>.yaml`."""
    return sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml"))


def up_with(stack: str, overrides: Iterable[str]) -> str:
    """Return the command that deploys a stack with these options `-c`."""
    options = "".join(f" -c {shlex.quote(each)}" for each in overrides)
    return command(f"up --stack {stack}{options}")


def write_stack_of_server(endpoint: str) -> None:
    """Write `Pulumi.local.yaml`, by which the Pulumi CLI deploys to this checkout's local AWS server, at this URL."""
    if state_folder() == ROOT / ".local":  # in another folder, it is for another purpose
        text = (ROOT / "local" / "Pulumi.local.yaml").read_text()
        write(ROOT / "Pulumi.local.yaml", text.replace("%ENDPOINT%", endpoint))


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
    _check_keys(path.name, (key for key in values if key.startswith(AWS)), described)
    overridden: dict[str, str] = {}
    for override in overrides:
        key, equals, value = override.partition("=")
        if not equals or not key or key.endswith(":"):
            raise LocalError(f"-c {override}: not of the form key=value; for a list: -c 'regions=[\"us-east-1\"]'")
        _check_keys(f"-c {override}", (key,), described, here=True)
        part = PART.fullmatch(key.removeprefix(f"{name}:"))
        kind = described["config"].get(part["setting"], {}).get("type") if part else None
        if part and kind in ("array", "object"):
            whole = _with_part(values.get(f"{name}:{part['setting']}", ""), kind, part["entry"], value)
            instead = shlex.quote(f"{part['setting']}={json.dumps(whole)}")
            raise LocalError(f"-c {override}: write the whole value: -c {instead}")
        full = _full(key, name)
        if overridden.setdefault(full, override) != override and values[full] != value:
            other = f"-c {overridden[full]} sets {full.removeprefix(f'{name}:')} to another value"
            raise LocalError(f"-c {override}: {other}; leave one of them out")
        values[full] = value
    return values


def _check_keys(where: str, keys: Iterable[str], described: Mapping[str, Any], *, here: bool = False) -> None:
    """Refuse keys that nothing reads. Those of the project's own namespace are left to the program.

    `here`: also those that have no effect on this machine, since only the AWS provider reads them.
    """
    own = f"{described['name']}:"
    others = [key for key in keys if ":" in key and not key.startswith(own) and key != HOME]
    if not others:
        return
    from pulumi_aws import ProviderArgs  # with all of Pulumi, which few commands need

    from components.settings.values import did_you_mean
    from global_integers_core.names import camel

    provider = {AWS + camel(name) for name, of in vars(ProviderArgs).items() if isinstance(of, property)}
    for key in others:
        if here and re.split(r"[.\[]", key)[0] in provider - {HOME}:
            raise LocalError(f"{where}: {key} is for AWS and has no effect on this machine; leave it out")
        if key not in provider:
            known = sorted({HOME, *(own + name for name in described["config"])})
            namespace, _, rest = key.partition(":")
            candidates = known if here else {*known, *provider}
            meant = did_you_mean(f"{namespace.lower()}:{rest}", candidates) or f"; known are {', '.join(known)}"
            raise LocalError(f"{where}: nothing reads {key}{meant}")


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
    settings = _mapping(_read(path).get("config"), f"{path.name}: config must be a mapping, like {EXAMPLE}")
    if wrong := [key for key in settings if not isinstance(key, str)]:
        raise LocalError(f"{path.name}: {wrong[0]!r} is not the name of a setting; write {EXAMPLE}")
    return settings


def _full(key: str, project_name: str) -> str:
    return key if ":" in key else f"{project_name}:{key}"


def _text(name: str, value: Any) -> str:
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
        with path.open() as stream:
            found: Any = yaml.load(stream, _Loader)  # noqa: S506 (a safe one)
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise LocalError(f"{path.name} is not valid YAML: {error}") from error
    return _mapping(found, f"{path.name} must be a mapping, with config: and below it {EXAMPLE}")


def _mapping(found: Any, refusal: str) -> dict[Any, Any]:
    if not isinstance(found, dict | None):
        raise LocalError(f"{refusal}; it is {'a list' if isinstance(found, list) else f'the value {found!r}'}")
    return cast("dict[Any, Any]", found or {})


REPLACED = "replaced "
"""Before the key of a resource that another one of the same key has replaced."""


@dataclass(frozen=True)
class Made:
    """A resource that was made: what was registered, and what came of it."""

    key: str
    """Its type and identifying inputs (`Kind.identity`): two of the same key are one resource."""
    type: str
    name: str
    inputs: dict[str, Any]
    id: str
    outputs: dict[str, Any]
    protect: bool = False
    updating: bool = False
    """Whether an update has begun and not succeeded: it may be as before, as wanted then, or in between."""

    @property
    def replaced(self) -> bool:
        """Whether another one has taken its place. It is deleted at the end of the deployment, or of the next."""
        return self.key.startswith(REPLACED)

    @cached_property
    def text(self) -> str:
        """It as JSON. It is kept, since the whole state is written whenever a resource changes."""
        return json.dumps({field.name: getattr(self, field.name) for field in fields(self)})


def with_checksum(document: str) -> str:
    """Return a state's JSON object with one more entry in a line of its own, which tells whether it is as written."""
    return f'{{"checksum": "{sha256(document.encode()).hexdigest()}",\n{document[1:]}'


class State:
    """What was made of one stack, in the order of its creation, so that the next deployment changes it.

    It is written to disk after every change. A resource's key says which one it is on the server, not what the program
    calls it. So a resource that is renamed in the program stays the same one, with all that is in it.
    """

    def __init__(self, stack: str, *, frozen: bool = False) -> None:
        """Read what the last deployment of the stack left. `frozen`, for a preview: nothing is written.

        Raises:
            LocalError: it is damaged or of another version.
        """
        self.stack = stack
        self.frozen = frozen
        self._path: Path = state_folder() / f"{stack}.json"
        self._lock = Lock()
        self.resources: dict[str, Made] = {}
        self.outputs: dict[str, Any] = {}
        self.unfinished = False
        """Whether an `up` has begun and not succeeded: it was interrupted, or failed."""
        self.overrides: list[str] = []
        """What its options `-c` were."""
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        text = self._path.read_text(errors="replace")
        rest = "{" + text.partition("\n")[2]
        if text != with_checksum(rest):
            raise LocalError(f"{self._path} is damaged; delete it and deploy again: what runs is taken over")
        written = json.loads(rest)
        if written["version"] != VERSION:
            raise LocalError(
                f"{self._path} is of version {written['version']} of the local deployment, this is version {VERSION}, "
                f"which doesn't know what it made; {start_afresh()}"
            )
        if written["stack"] != self.stack:
            raise LocalError(
                f"{self._path} is the state of the stack {written['stack']}; put that of {self.stack} back, or "
                "delete it and deploy again: what runs is taken over"
            )
        self.resources = {entry["key"]: Made(**entry) for entry in written["resources"]}
        self.outputs, self.unfinished, self.overrides = (
            written[name] for name in ("outputs", "unfinished", "overrides")
        )

    def put(self, made: Made) -> None:
        """Record a resource."""
        with self._lock:
            if self.resources.get(made.key) != made:
                self.resources[made.key] = made
                self._write()

    def replace(self, made: Made) -> None:
        """Record a resource in place of another, which stays recorded until it is deleted."""
        with self._lock:
            before = self.resources.pop(made.key)
            key = REPLACED + before.key
            while key in self.resources:
                key = REPLACED + key
            self.resources |= {key: replace(before, key=key), made.key: made}
            self._write()

    def remove(self, key: str) -> None:
        """Forget a resource."""
        with self._lock:
            del self.resources[key]
            self._write()

    @property
    def up(self) -> str:
        """The command that repeats the last `up`."""
        return up_with(self.stack, self.overrides)

    def begin(self, overrides: Sequence[str] = ()) -> None:
        """Record that a deployment has begun."""
        with self._lock:
            self.unfinished, self.overrides = True, [*overrides]
            self._write()

    def finish(self, outputs: dict[str, Any]) -> None:
        """Record that it has succeeded, and what it exported."""
        with self._lock:
            self.outputs, self.unfinished = outputs, False
            self._write()

    def _write(self) -> None:
        if self.frozen:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        rest = json.dumps(
            {
                "version": VERSION,
                "stack": self.stack,
                "unfinished": self.unfinished,
                "overrides": self.overrides,
                "outputs": self.outputs,
            }
        )
        resources = ",\n".join(made.text for made in self.resources.values())
        write(self._path, with_checksum(f'{rest[:-1]}, "resources": [\n{resources}\n]}}'))
