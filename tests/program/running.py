"""Runs the real `__main__.py` under Pulumi's mocks.

Every run has a context and an event loop of its own (Python 3.14 makes none by itself), so none sees what
another one set, and one that several tests look at can be shared between them.
"""

import json
import runpy
import warnings
from asyncio import AbstractEventLoop
from collections.abc import Callable, Mapping
from contextvars import copy_context
from pathlib import Path
from typing import Any, cast

import pulumi
import pulumi_aws
from pulumi.runtime import mocks, settings
from pulumi.runtime.stack import Stack, run_in_stack
from recording import Aws, Deployment, Monitor, event_loop

with warnings.catch_warnings(action="ignore", category=DeprecationWarning):
    _ = pulumi_aws.lambda_.Function  # the first look at this module warns of a type in it that nobody uses here

ROOT = Path(__file__).resolve().parents[2]
PROJECT = "global-integers"
STACK = "test"
PREFIX = f"{PROJECT}-{STACK}"
HOME = "us-east-1"
THREE = ("us-east-1", "eu-west-1", "ap-southeast-2")

UNKNOWN = "<unknown>"
"""Stands for an exported value that is not known in a preview."""

FAILED = "<failed>"
"""Stands for an exported value that never came, since a resource could not be made."""


def config(*regions: str, home: str = HOME, **given: object) -> dict[str, str]:
    """A stack's configuration as the engine hands it over: text, with lists as JSON."""
    given = {"regions": regions, **given}
    texts = {key: value if isinstance(value, str) else json.dumps(value) for key, value in given.items()}
    return {"aws:region": home, **{f"{PROJECT}:{key}": text for key, text in texts.items()}}


def main() -> None:
    """The program itself."""
    runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")


def deploy(
    config: Mapping[str, str],
    *,
    stack: str = STACK,
    preview: bool = False,
    program: Callable[[], None] = main,
) -> Deployment:
    """Run the program to its end."""
    deployment = Deployment()
    monitor = Monitor(Aws(preview=preview, failing=None), deployment)
    copy_context().run(_run, monitor, deployment, dict(config), stack, preview, program)
    return deployment


def deploy_badly(
    config: Mapping[str, str], *, stack: str = STACK, failing: str | None = None
) -> tuple[Exception, Deployment]:
    """Run the program, which must fail: of itself, or as resources of the type `failing` can't be made."""
    deployment = Deployment()
    monitor = Monitor(Aws(preview=False, failing=failing), deployment)
    try:
        copy_context().run(_run, monitor, deployment, dict(config), stack, False, main)
    except Exception as error:
        return error, deployment
    raise AssertionError("the program did not fail")


def _run(
    monitor: Monitor,
    deployment: Deployment,
    config: dict[str, str],
    stack_name: str,
    preview: bool,
    program: Callable[[], None],
) -> None:
    with event_loop() as loop:
        # Mocks don't renew this set: it has the tasks of a run that failed, on a loop that is closed.
        settings.SETTINGS.outputs.clear()  # pyright: ignore[reportAttributeAccessIssue]
        mocks.set_mocks(monitor.mocks, project=PROJECT, stack=stack_name, preview=preview, monitor=monitor)
        settings.set_root_resource(cast("pulumi.Resource", None))  # `run_in_stack` makes it
        pulumi.runtime.set_all_config(config)
        loop.set_exception_handler(_ignore)
        loop.run_until_complete(_in_stack(program, deployment))


def _ignore(_loop: AbstractEventLoop, _context: dict[str, Any]) -> None:
    """What fails is raised too; the log would only repeat it."""


async def _in_stack(program: Callable[[], None], deployment: Deployment) -> None:
    exports: dict[str, Any] = {}

    def run() -> None:
        program()
        exports.update(cast("Stack", settings.get_root_resource()).outputs)

    try:
        await run_in_stack(run)
    finally:
        deployment.outputs.update({key: await _plain(value) for key, value in exports.items()})


async def _plain(value: Any) -> Any:
    """An exported value without outputs in it."""
    match value:
        case pulumi.Output():
            output = cast("pulumi.Output[Any]", value)
            try:
                return await _plain(await output.future()) if await output.is_known() else UNKNOWN
            except Exception:  # whatever the mock raised
                return FAILED
        case dict():
            return {key: await _plain(entry) for key, entry in cast("dict[str, Any]", value).items()}
        case list():
            return [await _plain(entry) for entry in cast("list[Any]", value)]
        case _:
            return value
