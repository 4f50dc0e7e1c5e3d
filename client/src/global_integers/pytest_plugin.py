"""The fixture of applications' own tests. pytest imports this wherever the client is installed: so only pytest here."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Stack


@pytest.fixture
def integers_stack() -> "Iterator[Stack]":
    """Three regions in memory, with the counters `integers` and `orders`. See `global_integers.testing.Stack`."""
    from .testing import Stack

    with Stack() as stack:
        yield stack
