"""The coordinator's tests are quick: DynamoDB is in their process. What needs HTTP has a `stack` of its own."""

import pytest

from tests.lambda_.fixtures import Stack


@pytest.fixture
def stack(quick_stack: Stack) -> Stack:
    """Empty tables in this process."""
    return quick_stack
