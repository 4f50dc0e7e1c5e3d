"""Objects that a warm function keeps between requests: the connection, the tables, the leases.

Each is created at its first use, or by `prepare`.
"""

import os
from functools import cache
from typing import TYPE_CHECKING

from aws.service import DynamoDB

from .table import CounterTable

if TYPE_CHECKING:
    from .leases import Leases
    from .permissions import Callers
    from .receipts import Receipts


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
def _dynamodb() -> DynamoDB:
    return DynamoDB()


@cache
def callers() -> "Callers | None":
    """Return who may use which counter, or None if whoever IAM lets in may use all."""
    setting = os.environ.get("CALLERS")
    if not setting:
        return None
    from .permissions import Callers

    return Callers(setting)


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
