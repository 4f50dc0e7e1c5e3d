"""Mint the integers of a request: from the table, a lease or a receipt."""

import os
import time
from collections.abc import Callable
from typing import TypeVar

from aws.service import time_left

from . import runtime
from .model import Block, CeilingReached

MAX_WAIT = 2.0
"""Seconds. A fenced region normally opens again after a few calls between regions. A longer wait ends in a 503."""

FIRST_PAUSE = 0.05
MAX_PAUSE = 0.4

T = TypeVar("T")


def mint(counter: str, count: int | None, key: str | None = None, caller: str = "") -> tuple[Block, bool]:
    """Return the minted block, and whether an earlier request with the same key minted it.

    Args:
        counter: the counter.
        count: the size of the block, 1 to 100,000; None for a single integer.
        key: the Idempotency-Key, if the request has one.
        caller: who signed it, if the setting `callers` is on. Each caller has keys of its own.

    Raises:
        MintError: nothing is minted: NoItem, CeilingReached, OtherRequest, WentBackwards, Unusable, TableUnavailable.
    """
    if key is None:
        return _mint_with_retries(counter, count), False
    from .receipts import Key

    once = runtime.receipts().once
    return once(Key(key, counter, caller), count or 1, lambda: _mint_with_retries(counter, count))


def _mint_with_retries(counter: str, count: int | None) -> Block:
    """Mint; if the counter is fenced, wait and retry. In a region that leaves, a fence stays."""
    try:
        return _mint_once(counter, count)
    except CeilingReached as reached:
        if not reached.item.fenced or os.environ.get("LEAVING"):
            raise
        return wait_out_fence(lambda: _mint_once(counter, count), reached)


def _mint_once(counter: str, count: int | None) -> Block:
    """Mint a requested block from the table, or a single integer from the leases."""
    if count is None:
        return runtime.minter().mint(counter)
    return runtime.table().mint(counter) if count == 1 else runtime.table().mint_block(counter, count)


def wait_out_fence(mint: Callable[[], T], reached: CeilingReached) -> T:
    """Retry `mint` with full jitter, for up to `MAX_WAIT` seconds while the ceiling is fenced.

    So clients normally don't notice a change of layout.

    Args:
        mint: mints, or raises CeilingReached.
        reached: what it has raised.

    Raises:
        CeilingReached: the counter is still fenced, or its ceiling is reached without a fence, and waiting can't help.
    """
    import random  # 1 ms

    ends = time.monotonic() + min(MAX_WAIT, time_left())
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
