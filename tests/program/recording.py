"""A stand-in for the engine and for AWS: makes nothing, answers what AWS would, remembers what it was asked for."""

import asyncio
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, cast

from aws_answers import answers
from pulumi.runtime import mocks, rpc
from pulumi.runtime.proto import resource_pb2


@dataclass(frozen=True)
class Resource:
    """One registration, as the engine would receive it. Inputs are in camelCase."""

    urn: str
    type: str
    name: str
    inputs: dict[str, Any]
    protect: bool
    dependencies: frozenset[str]
    """URNs."""
    providers: tuple[str, ...]
    """Explicit providers, by any of the options that name one."""


@dataclass
class Deployment:
    """What a run registered, in order and without the stack itself, and what it exported."""

    resources: list[Resource] = field(default_factory=list["Resource"])
    outputs: dict[str, Any] = field(default_factory=dict[str, Any])

    def of(self, resource_type: str) -> list[Resource]:
        return [resource for resource in self.resources if resource.type == resource_type]

    def one(self, resource_type: str, **inputs: object) -> Resource:
        """The only resource of this type with these inputs."""
        found = [r for r in self.of(resource_type) if all(r.inputs.get(key) == inputs[key] for key in inputs)]
        assert len(found) == 1, f"{len(found)} of {resource_type} with {inputs}: {[r.name for r in found]}"
        return found[0]


class Aws(mocks.Mocks):
    """Makes nothing; answers what AWS would. In a preview nothing is known but what was asked for."""

    def __init__(self, *, preview: bool, failing: str | None) -> None:
        self._preview = preview
        self._failing = failing

    def call(self, args: mocks.MockCallArgs) -> tuple[dict[str, Any], None]:
        raise AssertionError(f"the program asks AWS: {args.token}")

    def new_resource(self, args: mocks.MockResourceArgs) -> tuple[str, dict[str, Any]]:
        if args.typ == self._failing:
            raise ValueError(f"{args.name} can't be made")
        inputs = cast("dict[str, Any]", args.inputs)
        if not args.custom or self._preview:
            return "", inputs
        return f"{args.name}-id", {**inputs, **answers(args.typ, inputs)}


class Monitor(mocks.MockMonitor):
    """Also keeps what the mocks are not told: protection, dependencies, providers."""

    def __init__(self, aws: Aws, deployment: Deployment) -> None:
        super().__init__(aws)
        self._deployment = deployment

    def RegisterResource(  # noqa: N802 (the interface's name)
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        if request.type != "pulumi:pulumi:Stack":
            providers = (request.provider, *request.providers.values())
            self._deployment.resources.append(
                Resource(
                    urn=self.make_urn(request.parent, request.type, request.name),
                    type=request.type,
                    name=request.name,
                    inputs=cast("dict[str, Any]", rpc.deserialize_properties(request.object)),
                    protect=request.protect,
                    dependencies=frozenset(request.dependencies),
                    providers=tuple(provider for provider in providers if provider),
                )
            )
        with event_loop():  # this thread's: the base class would make one and leave it open
            return super().RegisterResource(request)


@contextmanager
def event_loop() -> Generator[asyncio.AbstractEventLoop]:
    """This thread's event loop for as long as it is needed: Python 3.14 makes none by itself."""
    loop = asyncio.new_event_loop()
    asyncio.set_event_loop(loop)
    try:
        yield loop
    finally:
        loop.run_until_complete(_finish())
        asyncio.set_event_loop(None)
        loop.close()


async def _finish() -> None:
    """Let what a failed run left behind come to its end."""
    while rest := asyncio.all_tasks() - {asyncio.current_task()}:
        await asyncio.wait(rest)
    await asyncio.get_running_loop().shutdown_default_executor()
