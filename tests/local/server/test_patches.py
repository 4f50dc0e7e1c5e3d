"""A patch goes once ministack itself does what AWS does."""

import inspect
import traceback
from threading import Thread
from typing import Any

import pytest

from local.server.patches import Patch, load
from local.server.patches.runtime import in_turn, with_error_type


@pytest.mark.parametrize("patch", load(), ids=lambda patch: patch.name)
def test_ministack_still_needs_the_patch(patch: Patch) -> None:
    """A newer ministack without this line may behave as AWS by now: look whether the patch can go."""
    original = getattr(patch.owner, patch.name)
    source = inspect.getsource(original) if callable(original) else original

    assert patch.line in source


def test_a_log_begins_when_groups_have_been_described() -> None:
    order: list[str] = []
    beginning = Thread(target=in_turn, args=(lambda: order.append("begun"),))

    def describe() -> None:
        beginning.start()
        beginning.join(0.2)  # it can't end before
        order.append("described")

    in_turn(describe)
    beginning.join()

    assert order == ["described", "begun"]


@pytest.mark.parametrize("error", [ValueError("a: no. Set these:\n  b: 1\nThen: deploy"), ValueError()])
def test_an_error_has_the_name_of_its_class(error: Exception) -> None:
    def execute(*_: object) -> dict[str, Any]:
        try:
            raise error
        except ValueError:
            body = {"errorType": "Runtime.HandlerError"}
            return {"error": True, "body": body, "log": f"before\n{traceback.format_exc()}"}

    assert with_error_type(execute, {}, {})["body"] == {"errorType": "ValueError"}
