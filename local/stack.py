"""A stack: its configuration as the Pulumi engine would hand it to the program, and what was deployed of it."""

import json
import re
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import Any, cast

import yaml

from .paths import ROOT, VERSION, LocalError, command, start_afresh, state_folder, write

OVERRIDE = re.compile(r"([\w:-]*\w)=(.*)", re.DOTALL)
"""An option `-c`. Unlike `pulumi config set --path`, it names no part of a setting."""

HOME = "aws:region"

RESERVED = frozenset({"server", "gateway", "domain"})
"""Stacks can't be called so: the records of processes have these names in the state folder."""


_parsed = cache(yaml.safe_load)


def project() -> dict[str, Any]:
    """Return `Pulumi.yaml`."""
    return _parsed((ROOT / "Pulumi.yaml").read_text())


def stacks() -> list[str]:
    """Return the stacks that have a `Pulumi.<stack>.yaml`."""
    return sorted(path.name.split(".")[1] for path in ROOT.glob("Pulumi.*.yaml"))


def write_stack_of_server(endpoint: str) -> None:
    """Write `Pulumi.local.yaml`, by which the Pulumi CLI deploys to this checkout's local AWS server, at this URL."""
    if state_folder() == ROOT / ".local":  # in another folder, it is for another purpose
        text = (ROOT / "local" / "Pulumi.local.yaml").read_text()
        write(ROOT / "Pulumi.local.yaml", text.replace("%ENDPOINT%", endpoint))


def configuration(stack: str, overrides: Sequence[str] = ()) -> dict[str, str]:
    """Return full key → value, objects and lists as JSON: the project's defaults, the stack's file, `key=value`.

    Raises:
        LocalError: there is no such stack, its file is wrong, an override is not of the form `key=value`, or a setting
            is encrypted and has no override.
    """
    described = project()
    own = f"{described['name']}:"
    if stack in RESERVED:
        raise LocalError(f"--stack {stack}: a process is recorded under this name here; choose another")
    path = stack_file(stack)
    defaults = {key: entry["default"] for key, entry in described["config"].items() if "default" in entry}
    try:
        written: Any = yaml.safe_load(path.read_text()) or {}
        settings: dict[str, Any] = {**defaults, **(written.get("config") or {})}
        values = {_full(key, own): _text(value) for key, value in settings.items()}
        encrypted = {_full(key, own) for key, value in settings.items() if _is_encrypted(value)}
    except (yaml.YAMLError, AttributeError, TypeError, ValueError) as error:
        example = f"`config:` and below it, indented, `{own}lease: 1`"
        raise LocalError(f"{path.name} can't be read: {error}; it must be YAML with {example}") from error
    for override in overrides:
        found = OVERRIDE.fullmatch(override)
        if found is None:
            whole = "not of the form key=value; a list or an object is written whole"
            raise LocalError(f"-c {override}: {whole}, like -c 'regions=[\"us-east-1\"]'")
        key = _full(found[1], own)
        if not key.startswith(own) and key != HOME:
            known = ", ".join([HOME, *(f"{own}{name}" for name in described["config"])])
            raise LocalError(f"-c {override}: nothing here reads {key}; known are {known}")
        values[key] = found[2]
        encrypted.discard(key)
    for key in sorted(encrypted):
        if key.startswith(own) or key == HOME:
            name = key.removeprefix(own)
            raise LocalError(
                f"{path.name}: {key} is encrypted, and only the Pulumi CLI can decrypt it. No setting is secret: "
                f"write its value there, or pass it for this run: -c {name}=<value>"
            )
    return values


def stack_file(stack: str) -> Path:
    """Return the file of a stack's settings.

    Raises:
        LocalError: there is none.
    """
    path = ROOT / f"Pulumi.{stack}.yaml"
    if not path.is_file():
        raise LocalError(f"--stack {stack}: there is no {path.name}; known stacks are {', '.join(stacks())}")
    return path


def _is_encrypted(value: Any) -> bool:
    """Return whether a value of a stack's file is, or has, what `pulumi config set --secret` wrote."""
    if isinstance(value, dict):
        entries = cast("dict[str, Any]", value)
        return [*entries] == ["secure"] or any(map(_is_encrypted, entries.values()))
    return isinstance(value, list) and any(map(_is_encrypted, cast("list[Any]", value)))


def _full(key: str, own: str) -> str:
    return key if ":" in key else f"{own}{key}"


def _text(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)


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


def with_checksum(document: str) -> str:
    """Return a state's JSON object below a line with its checksum, which tells whether it is as it was written."""
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
        document = "{" + text.partition("\n")[2]
        if text != with_checksum(document):
            raise LocalError(f"{self._path} is damaged; delete it and deploy again: what runs is taken over")
        written = json.loads(document)
        if written["version"] != VERSION:
            raise LocalError(
                f"{self._path} is of version {written['version']} of the local deployment, this is version {VERSION}, "
                f"which can't go on with it; {start_afresh()}"
            )
        self.resources = {entry["key"]: Made(**entry) for entry in written["resources"]}
        self.outputs, self.unfinished, self.overrides = map(written.get, ("outputs", "unfinished", "overrides"))

    @contextmanager
    def _changed(self) -> Generator[None]:
        """Write the state to disk after the block. Any thread may use it."""
        with self._lock:
            yield
            if self.frozen:
                return
            document = {
                "version": VERSION,
                "unfinished": self.unfinished,
                "overrides": self.overrides,
                "outputs": self.outputs,
                "resources": [vars(made) for made in self.resources.values()],
            }
            self._path.parent.mkdir(parents=True, exist_ok=True)
            write(self._path, with_checksum(json.dumps(document)))

    def put(self, made: Made) -> None:
        """Record a resource."""
        if self.resources.get(made.key) != made:
            with self._changed():
                self.resources[made.key] = made

    def replace(self, made: Made) -> None:
        """Record a resource in place of another, which stays recorded until it is deleted."""
        with self._changed():
            before = self.resources.pop(made.key)
            key = REPLACED + before.key
            while key in self.resources:
                key = REPLACED + key
            self.resources |= {key: replace(before, key=key), made.key: made}

    def remove(self, key: str) -> None:
        """Forget a resource."""
        with self._changed():
            del self.resources[key]

    @property
    def up(self) -> str:
        """The command that repeats the last `up`."""
        options = "".join(f" -c {shlex.quote(each)}" for each in self.overrides)
        return command(f"up --stack {self.stack}{options}")

    def begin(self, overrides: Sequence[str]) -> None:
        """Record that a deployment has begun, with these options `-c`."""
        with self._changed():
            self.unfinished, self.overrides = True, [*overrides]

    def finish(self, outputs: dict[str, Any]) -> None:
        """Record that it has succeeded, and what it exported."""
        with self._changed():
            self.outputs, self.unfinished = outputs, False
