"""Mint the integers of a request: from the table, a lease or a receipt, which a warm function keeps between requests.

What is kept is created at its first use, or by `prepare`.
"""

import os
import time
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, TypeVar

from aws.service import DynamoDB, time_left

from .errors import CeilingReached
from .table import Block, CounterTable

if TYPE_CHECKING:
    from .leases import Leases
    from .permissions import Callers
    from .receipts import Receipts

MAX_WAIT = 2.0
"""Seconds. A fenced region normally opens again after a few calls between regions. A longer wait ends in a 503."""

FIRST_PAUSE = 0.05
MAX_PAUSE = 0.4

T = TypeVar("T")


def mint(counter: str, count: int | None, key: str | None = None, caller: str = "") -> tuple[Block, bool]:
    """Return the minted block, and whether an earlier request with the same key minted it.

    Args:
        counter: the counter.
        count: the size of the block, 1 to 100,000; None for a single integer, which may come from a lease.
        key: the Idempotency-Key, if the request has one.
        caller: who signed it, if the setting `callers` is on. Each caller has keys of its own.

    Raises:
        RequestError: as `CounterTable.mint`; RequestRefused if the key was used for another count.
    """

    def mint_once() -> Block:
        if count is None:
            return minter().mint(counter)
        return table().mint(counter) if count == 1 else table().mint_block(counter, count)

    def mint_with_retries() -> Block:
        try:
            return mint_once()
        except CeilingReached as reached:
            if not reached.item.fenced or os.environ.get("LEAVING"):  # in a region that leaves, a fence stays
                raise
            return wait_out_fence(mint_once, reached)

    if key is None:
        return mint_with_retries(), False
    from .receipts import receipt_of

    return receipts().once(receipt_of(key, counter, caller), count or 1, mint_with_retries)


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


@cache
def table() -> CounterTable:
    """Return the region's counters table."""
    return CounterTable(os.environ["COUNTERS_TABLE"], _dynamodb())


@cache
def minter() -> "CounterTable | Leases":
    """Return the object that mints single integers: the leases, or the table itself if leases are off."""
    size = int(os.environ.get("LEASE", "1"))
    if size == 1:
        return table()
    from .leases import Leases

    return Leases(table(), size)


@cache
def receipts() -> "Receipts":
    """Return the region's receipts."""
    from .receipts import Receipts

    return Receipts(os.environ["RECEIPTS_TABLE"], int(os.environ["IDEMPOTENCY_HOURS"]) * 3600, _dynamodb())


@cache
def callers() -> "Callers | None":
    """Return who may use which counter, or None if whoever IAM lets in may use all."""
    setting = os.environ.get("CALLERS")
    if not setting:
        return None
    from .permissions import Callers

    return Callers(setting)


@cache
def _dynamodb() -> DynamoDB:
    return DynamoDB()


def prepare() -> None:
    """Create what every request needs, while Lambda gives a whole processor to initialise. Makes no call.

    Raises:
        RuntimeError: the function is being prepared for SnapStart, whose copies would share what is kept here. They
            also get their credentials in another way than by environment variables.
    """
    if os.environ.get("AWS_LAMBDA_INITIALIZATION_TYPE") == "snap-start":
        raise RuntimeError("SnapStart is not supported: turn it off for this function")
    minter()
    callers()


def forget() -> None:
    """Forget everything, like a new process. For tests only."""
    for kept in (minter, table, receipts, callers, _dynamodb):
        kept.cache_clear()
