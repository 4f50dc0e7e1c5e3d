"""A stash: the state keeps its first value, as Pulumi's engine does. Nothing of it is on the server."""

from collections.abc import Callable
from typing import Any

import pulumi
import pytest

from local.aws_clients import Aws
from local.engine import Engine, deploy
from local.paths import LocalError
from local.stack import State

pytestmark = pytest.mark.usefixtures("folder")

NOWHERE = Aws("http://127.0.0.1:1")


def stash(value: str, name: str = "first", *, fails: bool = False) -> Callable[[], None]:
    """Return a program with a stash, which fails once it is made."""

    def refused(first: str) -> str:
        raise pulumi.RunError(f"{first} was first")

    def program() -> None:
        made = pulumi.Stash(name, input=value)
        pulumi.export("input", made.input)
        pulumi.export("first", made.output.apply(refused) if fails else made.output)
        made.output.apply(pulumi.log.info)

    return program


def up(program: Callable[[], None]) -> tuple[dict[str, Any], list[str]]:
    """Return what is exported, and what happened to resources."""
    events: list[str] = []
    engine = Engine(NOWHERE, State("dev"), lambda event, _kind, _name: events.append(event))
    return deploy(engine, "p", {}, program).outputs, events


def planned(program: Callable[[], None]) -> tuple[list[str], list[str]]:
    """Return what a preview says that the program keeps, and what would happen to resources."""
    events: list[str] = []
    engine = Engine(NOWHERE, State("dev", frozen=True), lambda event, _kind, _name: events.append(event))
    said = deploy(engine, "p", {}, program).messages
    return said, events


def test_the_first_value_is_kept() -> None:
    assert up(stash("one")) == ({"input": "one", "first": "one"}, ["created"])
    assert up(stash("one")) == ({"input": "one", "first": "one"}, ["unchanged"])
    assert up(stash("two")) == ({"input": "two", "first": "one"}, ["updated"])
    assert up(stash("two")) == ({"input": "two", "first": "one"}, ["unchanged"]), "each `up` here is a refresh, too"


def test_a_failed_up_forgets_nothing() -> None:
    for value in ("one", "two"):
        with pytest.raises(LocalError, match="one was first"):
            up(stash(value, fails=True))

    assert up(stash("three"))[0] == {"input": "three", "first": "one"}


def test_a_preview_knows_the_value_and_keeps_none() -> None:
    assert planned(stash("zero")) == (["zero"], ["create"])
    up(stash("one"))

    assert planned(stash("two")) == (["one"], ["update"])
    assert up(stash("one")) == ({"input": "one", "first": "one"}, ["unchanged"])


def test_an_unknown_value_is_not_kept() -> None:
    def program() -> None:
        unknown = pulumi.Output.from_input("one").apply(lambda _: pulumi.UNKNOWN)
        pulumi.Stash("first", input=unknown).output.apply(pulumi.log.info)

    assert planned(program) == ([], ["create"])
    up(stash("one"))
    assert planned(program) == (["one"], ["update"])
