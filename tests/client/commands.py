"""`global-integers` as a test runs it: in its own process, on URLs or on a stack in memory."""

from collections.abc import Callable
from typing import NamedTuple


class Done(NamedTuple):
    """How a command ended, and what it printed."""

    status: int | str | None
    stdout: str
    stderr: str


Command = Callable[..., Done]
