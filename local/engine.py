"""Runs the real program in this process; every resource that it registers is made in the local server.

Pulumi's own mocks (`pulumi.runtime.set_mocks`) are the seam: the program, its components, outputs and
dependencies are Pulumi's; only what the engine and the AWS provider would do is done here.
"""

import asyncio
import base64
import io
import runpy
import zipfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pulumi
from botocore.exceptions import BotoCoreError, ClientError
from pulumi.runtime import mocks, settings, stack

from .paths import ROOT, LocalError
from .progress import told
from .resources import KINDS, Aws, Kind, Result
from .state import Made, State

INVOCATION = "aws:lambda/invocation:Invocation"

EXISTS = {
    "EntityAlreadyExists",
    "ResourceAlreadyExistsException",
    "ResourceConflictException",
    "ResourceInUseException",
}

Report = Callable[[str, str, str], None]
"""Told of every resource: what happened (`created`, `updated`, `unchanged`, `deleted`), its type, its name."""


class Engine(mocks.Mocks):
    """Creates, updates or reuses; remembers what it made in the state."""

    def __init__(self, aws: Aws, state: State, report: Report) -> None:
        self._aws = aws
        self._state = state
        self._report = report
        self.seen: set[str] = set()

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        raise LocalError(f"{args.token}: the program asks AWS, which can't be answered here (local/engine.py)")

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if not args.custom:  # a component is only a name for its children
            return "", cast("dict[str, Any]", args.inputs)
        kind = KINDS.get(args.typ)
        if kind is None:
            raise LocalError(
                f"{args.name}: resources of type {args.typ} can't be made here yet; "
                "add a class for it to local/resources/ and a line to KINDS in local/resources/__init__.py"
            )
        inputs = _plain(args.inputs)
        key = f"{args.typ}::{args.name}"
        self.seen.add(key)
        before = self._state.resources.get(key)
        try:
            if before is not None:  # as `pulumi up --refresh` does: what it is now, not what it was
                outputs = kind.read(self._aws, before)
                before = replace(before, outputs=dict(outputs)) if outputs is not None else None
            if before is not None and before.inputs == inputs:
                self._state.put(before)
                self._report("unchanged", args.typ, args.name)
                return before.id, {**args.inputs, **before.outputs}
            result = self._apply(kind, args, inputs, before)
        except (ClientError, BotoCoreError) as error:
            raise LocalError(f"{args.name} ({args.typ}): {error}") from error
        self._state.put(Made(args.typ, args.name, inputs, result.id, dict(result.outputs)))
        self._report("updated" if before else "created", args.typ, args.name)
        return result.id, {**args.inputs, **result.outputs}

    def _apply(self, kind: Kind, args: mocks.MockResourceArgs, inputs: dict[str, Any], before: Made | None) -> Result:
        if args.typ == INVOCATION:
            with told(self._aws, inputs["region"], inputs["functionName"]):
                return kind.apply(self._aws, inputs, before)
        try:
            return kind.apply(self._aws, inputs, before)
        except ClientError as error:
            if before is not None or error.response.get("Error", {}).get("Code") not in EXISTS:
                raise
            # Made by a run that was killed before it could write that down: take it over as it is.
            name = inputs.get("statementId") or inputs.get("name") or inputs.get("functionName", "")
            return kind.apply(self._aws, inputs, Made(args.typ, args.name, inputs, name, {}))

    def delete_unseen(self) -> None:
        """Remove what earlier runs made and this one did not ask for, the youngest first."""
        for made in reversed(list(self._state.resources.values())):
            if made.key not in self.seen:
                try:
                    KINDS[made.type].delete(self._aws, made)
                except (ClientError, BotoCoreError) as error:
                    raise LocalError(f"{made.name} ({made.type}) can't be deleted: {error}") from error
                self._state.remove(made.key)
                self._report("deleted", made.type, made.name)


def deploy(project: str, name: str, config: dict[str, str], aws: Aws, report: Report) -> dict[str, Any]:
    """Apply `__main__.py` as `pulumi up` would: make, change, then remove what is gone. Returns its outputs.

    Raises:
        LocalError: the program's settings are wrong, or a resource could not be made.
    """
    state = State(name)
    engine = Engine(aws, state, report)
    cast("Any", settings.SETTINGS).outputs.clear()  # of an earlier run in this process that failed
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        mocks.set_mocks(engine, project=project, stack=name, preview=False)
        settings.set_root_resource(cast("pulumi.Resource", None))  # `run_in_stack` makes it
        pulumi.runtime.set_all_config(config)
        outputs = loop.run_until_complete(_run())
    except Exception as error:
        raise _told(error) from error
    finally:
        loop.run_until_complete(loop.shutdown_default_executor())
        loop.close()
        asyncio.set_event_loop(None)
    engine.delete_unseen()
    state.finish(outputs)
    return outputs


async def _run() -> dict[str, Any]:
    """Run the program and return its exports, in its order and types."""
    exports: dict[str, Any] = {}

    def program() -> None:
        runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")
        exports.update(cast("stack.Stack", settings.get_root_resource()).outputs)

    await stack.run_in_stack(program)
    return dict(await pulumi.Output.from_input(exports).future() or {})


def _told(error: BaseException) -> BaseException:
    """What of it is meant for the user: ours or the program's own message, wherever in the chain it is."""
    seen: BaseException | None = error
    while seen is not None:
        if isinstance(seen, LocalError):
            return seen
        if isinstance(seen, pulumi.RunError):
            return LocalError(str(seen))
        seen = seen.__cause__ or seen.__context__
    return error


def _plain(value: Any) -> Any:
    """Inputs as JSON; an archive becomes its bytes, zipped with fixed times, so equal files are equal inputs."""
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
