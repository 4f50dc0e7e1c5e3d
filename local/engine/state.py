"""What a local deployment made, so that the next one changes it instead of making it again.

A resource's key says which one it is on the server, not what the program calls it. So a resource that is
renamed in the program stays the same one, with all that is in it.
"""

import json
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from threading import Lock
from typing import Any

from ..paths import VERSION, LocalError, start_afresh, state_folder

REPLACED = "replaced "
"""Before the key of a resource that another one of the same key has replaced."""


@dataclass(frozen=True)
class Made:
    """A resource that was made: what was registered, and what came of it."""

    key: str
    """Its type and identifying inputs (`Kind.identity`): two of the same key are one resource."""
    type: str
    name: str
    """In the program."""
    inputs: dict[str, Any]
    id: str
    outputs: dict[str, Any]
    protect: bool = False
    """Whether it was registered as protected: then it isn't deleted."""
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


class State:
    """The resources of one stack, in the order of their creation; written to disk after every change."""

    def __init__(self, stack: str, *, frozen: bool = False) -> None:
        """Read what the last deployment of the stack left.

        Args:
            stack: The stack's name.
            frozen: Whether nothing is written: for a preview.

        Raises:
            LocalError: it is damaged or of another version.
        """
        self.stack = stack
        self._frozen = frozen
        self._path: Path = state_folder() / f"{stack}.json"
        self._lock = Lock()
        self.resources: dict[str, Made] = {}
        """By key."""
        self.outputs: dict[str, Any] = {}
        """What the last successful deployment exported."""
        if self._path.exists():
            self._read()

    def _read(self) -> None:
        try:
            written = json.loads(self._path.read_text())
            version = written.get("version", 1)
            if version != VERSION:
                raise LocalError(
                    f"{self._path} is of version {version} of the local deployment, this is version {VERSION}, "
                    f"which doesn't know what it made; {start_afresh()}"
                )
            if written["stack"] != self.stack:
                raise LocalError(
                    f"{self._path} is the state of the stack {written['stack']}; put that of {self.stack} back, or "
                    "delete it and deploy again: what runs is taken over"
                )
            self.resources = {made.key: made for made in (Made(**entry) for entry in written["resources"])}
            self.outputs = written["outputs"]
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LocalError(
                f"{self._path} is damaged ({error}); delete it and deploy again: what runs is taken over"
            ) from error

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

    def finish(self, outputs: dict[str, Any]) -> None:
        """Record what the deployment exported."""
        with self._lock:
            self.outputs = outputs
            self._write()

    def _write(self) -> None:
        if self._frozen:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        fresh = self._path.with_suffix(".new")
        rest = json.dumps({"version": VERSION, "stack": self.stack, "outputs": self.outputs})
        resources = ",\n".join(made.text for made in self.resources.values())
        fresh.write_text(f'{rest[:-1]}, "resources": [\n{resources}\n]}}')
        fresh.replace(self._path)
