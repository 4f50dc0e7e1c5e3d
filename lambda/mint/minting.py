"""Mint the integers of a request: from the table, a lease or a receipt."""

import os
from http import HTTPStatus

from . import runtime
from .api.reply import Problem
from .api.request import MintRequest
from .table import Block, CeilingReached, NoItem


def mint(request: MintRequest, caller: str = "") -> tuple[Block, bool]:
    """Return the minted block, and whether an earlier request with the same key minted it.

    Args:
        request: the request.
        caller: who signed it, if the setting `callers` is on. Each caller has keys of its own.

    Raises:
        Problem: 404, there is no such counter; 410, this region has left; 422, the key was used for another request;
            503, the ceiling is reached.
        WentBackwards: the table was restored to an earlier state.
        Unavailable: the table is unavailable.
    """
    if request.key is None:
        return _mint_new(request), False
    from .receipts import Key, OtherRequest

    key = Key(request.key, request.counter, caller)
    try:
        return runtime.receipts().once(key, request.count or 1, lambda: _mint_new(request))
    except OtherRequest:
        raise Problem(
            HTTPStatus.UNPROCESSABLE_ENTITY, "this Idempotency-Key was used for another count; use a new one"
        ) from None


def _mint_new(request: MintRequest) -> Block:
    counter, count = request.counter, request.count
    try:
        return _mint_with_retries(counter, count)
    except NoItem:
        from .refusals import missing  # rarely needed

        raise missing(counter) from None
    except CeilingReached as reached:
        from .refusals import ceiling_reached

        raise ceiling_reached(counter, count, reached.item) from None


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
