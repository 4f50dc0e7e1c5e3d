"""How much time the present invocation has left: no call may outlast it, or the caller gets no answer at all."""

import math
import time
from collections.abc import Callable
from typing import Any

RESERVE = 0.2
"""Seconds kept back to answer in."""

_ends = math.inf


def begin(context: Any) -> None:
    """An invocation begins. `context` is Lambda's; one that knows no time (a direct call) sets no limit."""
    global _ends
    remaining: Callable[[], int] | None = getattr(context, "get_remaining_time_in_millis", None)
    _ends = math.inf if remaining is None else time.monotonic() + remaining() / 1000 - RESERVE


def left() -> float:
    """Seconds, infinite without a limit, negative once it has passed."""
    return _ends - time.monotonic()
