"""Objects that a warm function keeps between requests: the connection, the table, the leases.

Each is created at its first use, or by `prepare`.
"""

import os
from functools import cache
from typing import TYPE_CHECKING

from aws.dynamodb import DynamoDB

from .leases import Leases
from .table import CounterTable

if TYPE_CHECKING:
    from .receipts import Receipts


@cache
def table() -> CounterTable:
    """Return the region's counter table."""
    return CounterTable(os.environ["COUNTERS_TABLE"], _dynamodb())


@cache
def leases() -> Leases:
    """Return the leases on that table."""
    return Leases(table(), int(os.environ.get("LEASE", "1")))


@cache
def receipts() -> "Receipts":
    """Return the region's receipts."""
    from .receipts import Receipts

    return Receipts(os.environ["RECEIPTS_TABLE"], int(os.environ["IDEMPOTENCY_HOURS"]) * 3600, _dynamodb())


@cache
def _dynamodb() -> DynamoDB:
    return DynamoDB()


def prepare() -> None:
    """Create what every request needs, while Lambda gives a whole processor to initialise. Makes no call."""
    leases()


def forget() -> None:
    """Forget everything, like a new process. For tests only."""
    for kept in (leases, table, receipts, _dynamodb):
        kept.cache_clear()
