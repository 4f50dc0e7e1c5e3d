"""A patch goes once ministack itself does what AWS does."""

import inspect
from threading import Thread

import pytest

from local.server.patches import Patch, load
from local.server.patches.runtime import in_turn


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
