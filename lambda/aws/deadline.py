"""The time that the current invocation has left. No call may outlast it, or the caller gets no response at all."""

import math
import time
from collections.abc import Callable
from typing import Any

RESERVE = 0.2
"""Seconds reserved for sending the response."""

_ends = math.inf


def begin(context: Any) -> None:
    """Set the deadline of an invocation.

    Args:
        context: Lambda's context. Without a remaining time, as in a direct call, there is no deadline.
    """
    global _ends
    remaining: Callable[[], int] | None = getattr(context, "get_remaining_time_in_millis", None)
    _ends = math.inf if remaining is None else time.monotonic() + remaining() / 1000 - RESERVE


def left() -> float:
    """Return the seconds left: infinite without a deadline, negative after it."""
    return _ends - time.monotonic()
