"""Applies the program as `pulumi up` would: every resource that it registers is made in the local server."""

import base64
import io
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, cast
from uuid import uuid4

import pulumi
from botocore.exceptions import BotoCoreError, ClientError

from .kinds import KINDS
from .paths import LocalError
from .program import Registration, run_program
from .progress import reported
from .resources.kind import Aws, Kind, Result
from .state import Made, State

INVOCATION = "aws:lambda/invocation:Invocation"

EXISTS = frozenset(
    {
        "EntityAlreadyExists",
        "ResourceAlreadyExistsException",
        "ResourceConflictException",
        "ResourceInUseException",
    }
)

NOT_FOUND = frozenset({"NoSuchEntity", "NoSuchEntityException", "ResourceNotFoundException"})
"""What the services' errors are called where something does not exist."""

Report = Callable[[str, str, str], None]
"""Called for every resource: what happened (`created`, `updated`, `unchanged`, `deleted`), its type, its name."""


class Engine:
    """Creates, updates or reuses; records what it made in the state."""

    def __init__(self, aws: Aws, state: State, report: Report) -> None:
        self._aws = aws
        self._state = state
        self._report = report
        self.seen: set[str] = set()

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Refuse a provider function: there is nothing here that could answer it."""
        raise LocalError(f"{token}: the program asks AWS, which can't be answered here (local/engine.py)")

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        """Bring the real resource to what the program registers.

        Raises:
            LocalError: its type is not known here, or the server refuses it.
        """
        if not resource.custom:
            return "", resource.inputs
        kind = KINDS.get(resource.type)
        if kind is None:
            raise LocalError(
                f"{resource.name}: resources of type {resource.type} can't be made here yet; "
                "add a class for it to local/resources/ and a line to local/kinds.py"
            )
        inputs = _plain(resource.inputs)
        key = f"{resource.type}::{resource.name}"
        self.seen.add(key)
        before = self._state.resources.get(key)
        if before is not None and _physical(before.type, before.inputs) != _physical(resource.type, inputs):
            self._state.put(replace(before, name=f"{before.name} (replaced: {before.id} {uuid4().hex[:8]})"))
            self._state.remove(key)
            before = None
        try:
            if before is not None:  # as `pulumi up --refresh` does: what it is now, not what it was
                outputs = self._read(kind, before)
                before = replace(before, outputs=dict(outputs)) if outputs is not None else None
            if before is not None and before.inputs == inputs:
                self._state.put(before)
                self._report("unchanged", resource.type, resource.name)
                return before.id, {**resource.inputs, **before.outputs}
            result = self._apply(kind, resource, inputs, before)
        except (ClientError, BotoCoreError) as error:
            raise LocalError(f"{resource.name} ({resource.type}): {error}") from error
        self._state.put(Made(resource.type, resource.name, inputs, result.id, dict(result.outputs)))
        self._report("updated" if before else "created", resource.type, resource.name)
        return result.id, {**resource.inputs, **result.outputs}

    def _read(self, kind: Kind, made: Made) -> Mapping[str, Any] | None:
        try:
            return kind.read(self._aws, made)
        except ClientError as error:
            if _code(error) in NOT_FOUND:
                return None
            raise

    def _apply(self, kind: Kind, resource: Registration, inputs: dict[str, Any], before: Made | None) -> Result:
        if resource.type == INVOCATION:
            with reported(self._aws, inputs["region"], inputs["functionName"]):
                return kind.apply(self._aws, inputs, before)
        try:
            return kind.apply(self._aws, inputs, before)
        except ClientError as error:
            if before is not None or _code(error) not in EXISTS:
                raise
            # Made by a run that was killed before it could record that: take it over as it is.
            name = inputs.get("statementId") or inputs.get("name") or inputs.get("functionName", "")
            return kind.apply(self._aws, inputs, Made(resource.type, resource.name, inputs, name, {}))

    def delete_unseen(self) -> None:
        """Remove what earlier runs made and this one did not register, the newest first.

        A physical resource that this run registered under another name is kept: only the old record goes.
        """
        resources = self._state.resources
        held = {_physical(made.type, made.inputs) for key, made in resources.items() if key in self.seen}
        for made in reversed(list(resources.values())):
            if made.key in self.seen:
                continue
            if _physical(made.type, made.inputs) not in held:
                self._delete(made)
                self._report("deleted", made.type, made.name)
            self._state.remove(made.key)

    def _delete(self, made: Made) -> None:
        try:
            KINDS[made.type].delete(self._aws, made)
        except ClientError as error:
            if _code(error) not in NOT_FOUND:
                raise LocalError(f"{made.name} ({made.type}) can't be deleted: {error}") from error
        except BotoCoreError as error:
            raise LocalError(f"{made.name} ({made.type}) can't be deleted: {error}") from error


def _physical(resource_type: str, inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return what tells a resource from all others on the server: two of the same are one."""
    return (resource_type, *(str(inputs.get(name)) for name in KINDS[resource_type].identity))


def _code(error: ClientError) -> str:
    return error.response.get("Error", {}).get("Code", "")


def deploy(project: str, name: str, config: dict[str, str], aws: Aws, report: Report) -> dict[str, Any]:
    """Apply `__main__.py` as `pulumi up` would: make, change, then remove what is gone. Return its outputs.

    Raises:
        LocalError: the program's settings are wrong, or a resource could not be made.
    """
    state = State(name)
    engine = Engine(aws, state, report)
    outcome = run_program(engine, project=project, stack=name, config=config)
    if outcome.error is not None:
        raise _user_error(outcome.error) from outcome.error
    engine.delete_unseen()
    state.finish(outcome.outputs)
    return outcome.outputs


def _user_error(error: BaseException) -> BaseException:
    """Return what is meant for the user: our own or the program's message, wherever in the chain it is."""
    found: BaseException | None = error
    while found is not None:
        if isinstance(found, LocalError):
            return found
        if isinstance(found, pulumi.RunError):
            return LocalError(str(found))
        found = found.__cause__ or found.__context__
    return error


def _plain(value: Any) -> Any:
    """Return inputs as JSON. An archive becomes its bytes, zipped with fixed times: equal files are equal inputs."""
    match value:
        case pulumi.AssetArchive():
            return base64.b64encode(_zipped(value)).decode()
        case dict():
            return {key: _plain(entry) for key, entry in cast("dict[str, Any]", value).items()}
        case list():
            return [_plain(entry) for entry in cast("list[Any]", value)]
        case float() if value.is_integer():  # numbers travel as doubles
            return int(value)
        case _:
            return value


def _zipped(archive: pulumi.AssetArchive) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as zipped:
        for name, asset in sorted(archive.assets.items()):
            if not isinstance(asset, pulumi.FileAsset):
                raise LocalError(f"{name}: only files can be in a function's archive here (local/engine.py)")
            zipped.writestr(zipfile.ZipInfo(name), Path(asset.path).read_bytes())
    return target.getvalue()
