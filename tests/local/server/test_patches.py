"""A patch goes once ministack itself does what AWS does."""

import inspect

import pytest

from local.server.patches import Patch, load


@pytest.mark.parametrize("patch", load(), ids=lambda patch: patch.name)
def test_ministack_still_needs_the_patch(patch: Patch) -> None:
    """A newer ministack without this line may behave as AWS by now: look whether the patch can go."""
    original = getattr(patch.owner, patch.name)
    source = inspect.getsource(original) if callable(original) else original

    assert patch.line in source
