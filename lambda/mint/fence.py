"""Wait while a counter is fenced, so that clients normally don't notice a change of layout."""

import time
from collections.abc import Callable
from typing import TypeVar

from aws import deadline

from .model import CeilingReached

MAX_WAIT = 2.0
"""Seconds. A fenced region normally opens again after a few calls between regions. A longer wait ends in a 503."""

FIRST_PAUSE = 0.05
MAX_PAUSE = 0.4

T = TypeVar("T")


def wait_out_fence(mint: Callable[[], T], reached: CeilingReached) -> T:
    """Retry `mint` with full jitter, for up to `MAX_WAIT` seconds while the ceiling is fenced.

    Args:
        mint: mints, or raises CeilingReached.
        reached: what it has raised.

    Raises:
        CeilingReached: the counter is still fenced, or its ceiling is reached without a fence, and waiting can't help.
    """
    import random  # 1 ms

    ends = time.monotonic() + min(MAX_WAIT, deadline.left())
    pause = FIRST_PAUSE
    while reached.item.fenced:
        wait = random.uniform(0, pause)  # noqa: S311 (not for security)
        if time.monotonic() + wait > ends:
            break
        time.sleep(wait)
        try:
            return mint()
        except CeilingReached as again:
            reached = again
        pause = min(2 * pause, MAX_PAUSE)
    raise reached
