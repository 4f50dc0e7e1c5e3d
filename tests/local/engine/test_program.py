"""The runner of programs under Pulumi's mocks."""

import threading
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import pulumi
import pytest

from local.engine.program import FAILED, UNKNOWN, ProgramOutcome, Registration, run_program

Create = Callable[[Registration], tuple[str, Mapping[str, Any]]]


class Echo:
    """A provider whose resources have their inputs as outputs."""

    def __init__(self, create: Create | None = None) -> None:
        self.registered: list[Registration] = []
        self._create = create

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        self.registered.append(resource)
        return self._create(resource) if self._create else (f"id-{resource.name}", resource.inputs)

    def call(self, token: str, arguments: Mapping[str, Any]) -> Mapping[str, Any]:
        if "fail" in arguments:
            raise RuntimeError(arguments["fail"])
        return {"token": token, **arguments}


class Thing(pulumi.CustomResource):
    """A resource with one output that is its input, and one that is computed."""

    value: pulumi.Output[str]
    computed: pulumi.Output[str]

    def __init__(self, name: str, value: pulumi.Input[str], opts: pulumi.ResourceOptions | None = None) -> None:
        super().__init__("test:index:Thing", name, {"value": value, "computed": None}, opts)


def run(program: Callable[[], None], provider: Echo | None = None, *, preview: bool = False) -> ProgramOutcome:
    config = {"project:size": "3"}
    return run_program(
        provider or Echo(), project="project", stack="stack", config=config, preview=preview, program=program
    )


def test_outputs_and_settings_are_the_programs() -> None:
    def program() -> None:
        one = Thing("one", "a")
        two = Thing("two", one.value.apply(lambda value: value + "b"))
        pulumi.export("values", [one.value, {"two": two.value}])
        pulumi.export("size", pulumi.Config().require_int("size"))
        pulumi.export("named", f"{pulumi.get_project()}-{pulumi.get_stack()}")

    outcome = run(program)

    assert outcome.error is None
    assert outcome.outputs == {"values": ["a", {"two": "ab"}], "size": 3, "named": "project-stack"}


def test_a_registration_has_what_the_engine_would_see() -> None:
    def program() -> None:
        parent = pulumi.ComponentResource("test:index:Parent", "parent")
        one = Thing("one", "a", pulumi.ResourceOptions(parent=parent, protect=True))
        options = pulumi.ResourceOptions(ignore_changes=["value", "tags.owner"])
        Thing("two", one.value, options)

    provider = Echo()
    assert run(program, provider).error is None

    found = {resource.name: resource for resource in provider.registered}
    assert found["one"].inputs == {"value": "a"}
    assert (found["one"].custom, found["one"].protect) == (True, True)
    assert "test:index:Parent$test:index:Thing::one" in found["one"].urn
    assert found["two"].dependencies == {found["one"].urn}
    assert found["two"].ignore_changes == ("value", "tags.owner")


def test_computed_outputs_are_unknown_in_a_preview() -> None:
    def program() -> None:
        pulumi.export("computed", Thing("one", "a").computed)

    assert run(program, preview=True).outputs == {"computed": UNKNOWN}


def test_a_failed_resource_fails_the_run_and_its_dependents() -> None:
    def create(resource: Registration) -> tuple[str, Mapping[str, Any]]:
        if resource.name == "one":
            raise RuntimeError("the server refuses one")
        return resource.name, resource.inputs

    def program() -> None:
        one = Thing("one", "a")
        pulumi.export("two", Thing("two", one.value).value)
        pulumi.export("three", Thing("three", "c").value)

    provider = Echo(create)
    outcome = run(program, provider)

    assert "the server refuses one" in str(outcome.error)
    assert outcome.outputs["two"] == FAILED
    assert "two" not in {resource.name for resource in provider.registered}


def asked(arguments: dict[str, str]) -> dict[str, str]:
    """Ask a provider function, as the SDK's generated functions do."""
    return pulumi.runtime.invoke("test:index:ask", arguments).value


def test_a_provider_function_waits_for_arguments_and_may_fail() -> None:
    def caught(_: str) -> str:
        with pytest.raises(Exception, match="there is none") as failed:
            asked({"fail": "there is none"})
        return str(failed.value)

    def program() -> None:
        one = Thing("one", "a").value
        pulumi.export("asked", one.apply(lambda value: asked({"value": value})))
        pulumi.export("said", one.apply(caught))

    outcome = run(program)

    assert outcome.error is None
    assert outcome.outputs == {
        "asked": {"token": "test:index:ask", "value": "a"},
        "said": "invoke of test:index:ask failed: there is none",
    }


def test_a_provider_function_that_fails_ends_the_run() -> None:
    def program() -> None:
        pulumi.export("said", Thing("one", "a").value.apply(lambda _: asked({"fail": "there is none"})))

    assert "there is none" in str(run(program).error)


def test_runs_do_not_see_each_other() -> None:
    def failing() -> None:
        Thing("left", "a")
        raise ValueError("the program itself fails")

    assert isinstance(run(failing).error, ValueError)
    provider = Echo()
    assert run(lambda: pulumi.export("one", Thing("one", "a").value), provider).outputs == {"one": "a"}
    assert [resource.name for resource in provider.registered if resource.custom] == ["one"]


def test_no_thread_or_warning_is_left() -> None:
    before = threading.active_count()
    with warnings.catch_warnings(action="error"):
        for _ in range(3):
            assert run(lambda: pulumi.export("one", Thing("one", "a").value)).error is None
    assert threading.active_count() <= before + 1
