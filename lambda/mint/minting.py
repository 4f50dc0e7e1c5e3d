"""Mint the integers of a request: from the table, a lease or a receipt."""

import os

from . import runtime
from .model import Block, CeilingReached


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
        from .fence import wait_out_fence  # rarely needed

        return wait_out_fence(lambda: _mint_once(counter, count), reached)


def _mint_once(counter: str, count: int | None) -> Block:
    """Mint a requested block from the table, or a single integer from the leases."""
    if count is None:
        return runtime.minter().mint(counter)
    return runtime.table().mint(counter) if count == 1 else runtime.table().mint_block(counter, count)
