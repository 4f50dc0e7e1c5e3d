"""What a warm function keeps: the connection, the table, the leases. Made at the first use, or by `prepare`."""

import os
from functools import cache
from typing import TYPE_CHECKING

from .dynamodb import DynamoDB
from .leases import Leases
from .table import CounterTable

if TYPE_CHECKING:
    from .receipts import Receipts


@cache
def table() -> CounterTable:
    return CounterTable(os.environ["COUNTERS_TABLE"], _dynamodb())


@cache
def leases() -> Leases:
    return Leases(table(), int(os.environ.get("LEASE", "1")))


@cache
def receipts() -> "Receipts":
    from .receipts import Receipts

    return Receipts(os.environ["RECEIPTS_TABLE"], int(os.environ["IDEMPOTENCY_HOURS"]) * 3600, _dynamodb())


@cache
def _dynamodb() -> DynamoDB:
    return DynamoDB()


def prepare() -> None:
    """While Lambda initialises the function, and still lends a whole processor. No call is made, nothing is minted."""
    leases()


def forget() -> None:
    """Be as cold as a new function. For tests: Lambda does it by starting one."""
    for kept in (leases, table, receipts, _dynamodb):
        kept.cache_clear()
