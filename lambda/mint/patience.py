"""Waiting out a change of layout, so that a client normally notices nothing."""

import time
from collections.abc import Callable
from typing import TypeVar

from . import deadline
from .table import CeilingReached

LONGEST = 2.0
"""Seconds. A fenced region opens again within a few calls between regions; what takes longer is told."""

FIRST_PAUSE = 0.05
LONGEST_PAUSE = 0.4

T = TypeVar("T")


def patiently(mint: Callable[[], T]) -> T:
    """Try again while the ceiling is reached and fenced, with full jitter, for up to `LONGEST` seconds.

    Raises:
        CeilingReached: it still is, or it isn't fenced: then no time helps.
    """
    ends = time.monotonic() + min(LONGEST, deadline.left())
    pause = FIRST_PAUSE
    while True:
        try:
            return mint()
        except CeilingReached as reached:
            import random  # 1 ms, and only a change of layout needs it

            wait = random.uniform(0, pause)  # noqa: S311 (spreads load, guards nothing)
            if not reached.fenced or time.monotonic() + wait > ends:
                raise
        time.sleep(wait)
        pause = min(2 * pause, LONGEST_PAUSE)
