"""Runs `__main__.py` under Pulumi's mocks: for `python -m local` and the tests.

A `Provider` does what the engine and the AWS provider would do. All that this project uses of Pulumi's internals is in
this file.
"""

import asyncio
import logging
import runpy
import sys
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from contextvars import copy_context
from dataclasses import dataclass, field
from logging.handlers import BufferingHandler
from typing import Any, Protocol, cast

import grpc
import pulumi
from pulumi.runtime import mocks, resource, rpc, settings
from pulumi.runtime.proto import resource_pb2, source_pb2
from pulumi.runtime.stack import Stack, run_in_stack

from ..paths import ROOT

resource._get_stack_trace = source_pb2.StackTrace
"""Nobody asks where in the program a resource was made, and to find out takes a fifth of a run under pytest."""

UNKNOWN = "<unknown>"
FAILED = "<failed>"
"""Stand for an exported value that isn't known in a preview, or that there isn't, since a resource wasn't created."""


@dataclass(frozen=True)
class Registration:
    """A resource as the program registers it. `inputs` are in camelCase."""

    urn: str
    type: str
    name: str
    custom: bool
    """Whether a provider manages it; a component is only a name for its children."""
    inputs: dict[str, Any]
    protect: bool
    parent: str
    """The URN of its parent."""
    dependencies: frozenset[str]
    providers: tuple[str, ...]
    """Explicit ones, by any of the options that name one."""
    ignore_changes: tuple[str, ...] = ()
    delete_before_replace: bool = False
    create_timeout: str = ""
    """How long the provider waits for its creation, like `30m`. Empty: as long as it does by default."""


class Skipped(Exception):
    """A resource can't be created, and the run goes on without it: `pulumi up --continue-on-error`."""


class Provider(Protocol):
    """Stands for the engine and the AWS provider. Both methods are called from several threads."""

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        """Return the resource's id and all its outputs, in a preview the ones that are known; or raise `Skipped`."""
        ...

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return what a provider function (`aws:dynamodb/getTable:getTable`) returns."""
        ...


@dataclass
class ProgramOutcome:
    """What a run exported, and how it failed if it did."""

    outputs: dict[str, Any] = field(default_factory=dict[str, Any])
    messages: list[str] = field(default_factory=list[str])
    """What the program logged, from INFO on, as Pulumi would show it."""
    error: Exception | None = None


def main() -> None:
    """Run the program itself."""
    runpy.run_path(str(ROOT / "__main__.py"), run_name="__main__")


def run_program(
    provider: Provider,
    *,
    project: str,
    stack: str,
    config: Mapping[str, str],
    preview: bool = False,
    program: Callable[[], None] = main,
) -> ProgramOutcome:
    """Run the program to its end, with `config` as the engine hands it over: full key → value, lists as JSON.

    Every run has a context and an event loop of its own, so no run sees what another one has set.
    """
    monitor = _Monitor(provider)
    outcome = ProgramOutcome()
    logger, logged = logging.Logger("program", logging.INFO), BufferingHandler(sys.maxsize)
    logger.addHandler(logged)
    logger.parent = logging.getLogger()

    def run() -> None:
        with _event_loop() as loop:
            # Pulumi keeps this set between runs: after a failed run it holds tasks of a closed loop.
            cast("Any", settings.SETTINGS).outputs.clear()
            mocks.set_mocks(
                monitor.mocks, project=project, stack=stack, preview=preview, monitor=monitor, logger=logger
            )
            settings.set_root_resource(cast("pulumi.Resource", None))  # `run_in_stack` makes it
            pulumi.runtime.set_all_config(dict(config))
            loop.set_exception_handler(lambda _loop, _context: None)  # every failure is raised as well
            try:
                loop.run_until_complete(_in_stack(program, outcome.outputs))
            except Exception as error:
                outcome.error = error

    copy_context().run(run)
    outcome.messages = [record.getMessage() for record in logged.buffer]
    return outcome


async def _in_stack(program: Callable[[], None], outputs: dict[str, Any]) -> None:
    exports: dict[str, Any] = {}

    def run() -> None:
        program()
        exports.update(cast("Stack", settings.get_root_resource()).outputs)

    try:
        await run_in_stack(run)
    finally:
        outputs.update({key: await _plain(value) for key, value in exports.items()})


async def _plain(value: Any) -> Any:
    match value:
        case pulumi.Output():
            output = cast("pulumi.Output[Any]", value)
            try:
                return await _plain(await output.future()) if await output.is_known() else UNKNOWN
            except Exception:  # the provider may raise anything
                return FAILED
        case dict():
            return {key: await _plain(entry) for key, entry in cast("dict[str, Any]", value).items()}
        case list():
            return [await _plain(entry) for entry in cast("list[Any]", value)]
        case _:
            return value


class _CallFailed(grpc.RpcError):
    """A failed call of a provider function, as the engine reports it. The program may catch what Pulumi makes of it."""

    def __init__(self, details: str) -> None:
        super().__init__(details)
        self._details = details

    def code(self) -> grpc.StatusCode:
        return grpc.StatusCode.UNKNOWN

    def details(self) -> str:
        return self._details


class _Monitor(mocks.MockMonitor):
    """Hands calls and registrations to the provider, with more of them than Pulumi's mocks would get."""

    def __init__(self, provider: Provider) -> None:
        super().__init__(cast("mocks.Mocks", None))
        self._provider = provider

    def Invoke(self, request: resource_pb2.ResourceInvokeRequest) -> resource_pb2.ResourceInvokeResponse:  # noqa: N802
        try:
            found = self._provider.call(request.tok, rpc.deserialize_properties(request.args))
        except Exception as error:  # the provider may raise anything
            raise _CallFailed(str(error)) from error
        return resource_pb2.ResourceInvokeResponse(**{"return": _serialized(found)})

    def RegisterResource(  # noqa: N802 (the interface's name)
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        urn = self.make_urn(request.parent, request.type, request.name)
        if request.type == "pulumi:pulumi:Stack":
            return resource_pb2.RegisterResourceResponse(urn=urn)
        providers = (request.provider, *request.providers.values())
        registration = Registration(
            urn=urn,
            type=request.type,
            name=request.name,
            custom=request.custom,
            inputs=cast("dict[str, Any]", rpc.deserialize_properties(request.object)),
            protect=request.protect,
            parent=request.parent,
            dependencies=frozenset(request.dependencies),
            providers=tuple(provider for provider in providers if provider),
            ignore_changes=tuple(request.ignoreChanges),
            delete_before_replace=request.deleteBeforeReplace,
            create_timeout=request.customTimeouts.create,
        )
        try:
            id_, outputs = self._provider.create(registration)
        except Skipped:
            return resource_pb2.RegisterResourceResponse(urn=urn, result=resource_pb2.Result.FAIL)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=id_, object=_serialized(outputs))


def _serialized(values: Mapping[str, Any]) -> Any:
    """What Pulumi makes of plain values. Nothing is awaited for them, so this needs no event loop."""
    try:
        rpc.serialize_properties(dict(values), {}).send(None)
    except StopIteration as returned:
        return returned.value
    raise AssertionError("a provider returned what is not known yet")


@contextmanager
def _event_loop() -> Generator[asyncio.AbstractEventLoop]:
    """At the end of the block, wait for what a failed run has left on the loop."""
    with asyncio.Runner() as runner:
        loop = runner.get_loop()
        try:
            yield loop
        finally:
            while rest := asyncio.all_tasks(loop):
                loop.run_until_complete(asyncio.wait(rest))
