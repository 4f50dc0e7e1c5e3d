"""Mint the integers of a request: from the table, a lease or a receipt, which a warm function keeps between requests.

What is kept is created at its first use, or by `prepare`.
"""

import os
import time
from functools import cache
from typing import TYPE_CHECKING

from aws_client.service import DynamoDB, time_left

from global_integers_core.names import MAX_BLOCK

from .model import Block, BlockTooLarge, CeilingReached, CounterItem, WentBackwards
from .table import MAX_COUNTERS, CounterTable

if TYPE_CHECKING:
    from .leases import Leases
    from .permissions import Callers
    from .receipts import Receipts

MAX_WAIT = 2.0
"""Seconds. A fenced region normally opens again after a few calls between regions. A longer wait ends in a 503."""

FIRST_PAUSE = 0.05
MAX_PAUSE = 0.4

EARLY = 5.0
"""Seconds between two times that a function asks ahead of need for the same counter."""

WITHOUT_HOME = 60.0
"""Seconds more, if the home region couldn't be asked: each time costs some caller up to two seconds."""

_asked: dict[str, float] = {}
"""Counter → when this function last asked ahead of need (time.monotonic)."""


def mint(counter: str, count: int | None, key: str | None = None, caller: str = "") -> tuple[Block, bool]:
    """Return the minted block, and whether an earlier request with the same key minted it.

    `count` is None for a single integer, which may come from a lease. `caller` is who signed the request, if the
    setting `callers` is on: each caller has keys of its own.

    Raises:
        RequestError: as `CounterTable.mint`; RequestRefused if the key was used for another count; BlockTooLarge.
    """
    if key is None:
        minted = _minted(counter, count), False
    else:
        from .receipts import receipt_of

        receipt = receipt_of(key, counter, caller)
        found = receipts().find(receipt, count or 1)
        minted = (found, True) if found else receipts().keep(receipt, _minted(counter, count))
    if table().low:
        _ask_ahead(counter, count or 1)
    return minted


def _minted(counter: str, count: int | None) -> Block:
    """Mint. While the ceiling is fenced, retry with full jitter, so callers seldom notice a change of layout.

    If it isn't fenced, or still is after `MAX_WAIT`, ask the home region for more integers. Who has asked waits for
    them, too. Others don't: requests that wait take executions from other counters.
    """
    if count is not None and count > max_block():
        raise BlockTooLarge(max_block())
    ends, pause, asks = None, FIRST_PAUSE, False
    while True:
        try:
            if count is None:
                return minter().mint(counter)
            return table().mint(counter) if count == 1 else table().mint_block(counter, count)
        except WentBackwards as error:  # what ends this epoch, if it is the present one
            _ask(counter, 1, went_back=error.epoch)
            raise
        except CeilingReached as reached:
            if os.environ.get("LEAVING"):  # a fence stays, and nothing more is granted
                raise
            ends = time.monotonic() + min(MAX_WAIT, time_left()) if ends is None else ends
            if not reached.item.fenced and not asks:
                asks = _ask(counter, count or 1, reached.item)
                reached.asked = asks is not None
                if not asks:
                    raise
            import random  # 1 ms

            wait = random.uniform(0, pause)  # noqa: S311 (not for security)
            if time.monotonic() + wait >= ends:
                reached.asked = asks or _ask(counter, count or 1, reached.item) is not None
                raise
        time.sleep(wait)
        pause = min(2 * pause, MAX_PAUSE)


def _ask_ahead(counter: str, count: int) -> None:
    """Ask when half of what was granted is used, if this function hasn't just done so. The caller has its block."""
    item, now = table().low.pop(counter, None), time.monotonic()
    if item is None or (counter in _asked and now - _asked[counter] < EARLY) or os.environ.get("LEAVING"):
        return
    if len(_asked) >= MAX_COUNTERS:
        _asked.clear()
    asks = _ask(counter, count, item, early=True)
    _asked[counter] = now if asks is not None else now + WITHOUT_HOME


def _ask(
    counter: str, count: int, item: CounterItem | None = None, went_back: int = 0, *, early: bool = False
) -> bool | None:
    if "COORDINATOR" not in os.environ:
        return None  # a test
    from .grants import ask

    return ask(counter, count, item, _dynamodb(), went_back, early=early)


def max_block() -> int:
    """Return the largest block that a request may ask for."""
    return int(os.environ.get("MAX_BLOCK", MAX_BLOCK))


@cache
def table() -> CounterTable:
    """Return the region's counters table."""
    return CounterTable(os.environ["COUNTERS_TABLE"], _dynamodb(), os.environ["RECEIPTS_TABLE"])


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
    for held in (minter, table, receipts, callers, _dynamodb):
        held.cache_clear()
    _asked.clear()
