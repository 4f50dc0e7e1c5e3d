"""Receipts: repeated requests with the same Idempotency-Key return the same integers.

The receipt is written after the mint, on the condition that there is none yet. So there is no state "in progress"
that a crash could leave behind. A request that loses a race returns the winner's integers, and its own are lost.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from aws.dynamodb import DynamoDB

from .table import Block, ConditionFailed, call_table


class OtherRequest(Exception):
    """The key was used before for another counter or count."""


class Receipt(NamedTuple):
    """A request with a key, and the block minted for it. `count` is None for a single integer."""

    counter: str
    count: int | None  # pyright: ignore[reportIncompatibleMethodOverride]
    block: Block


class Receipts:
    """One region's receipts."""

    def __init__(self, table: str, lifetime: int, dynamodb: DynamoDB | None = None) -> None:
        """Use the receipts in `table`, each for `lifetime` seconds.

        Expired receipts are ignored here too, since DynamoDB's TTL may delete them days later.
        """
        self._table = table
        self._lifetime = lifetime
        self._dynamodb = dynamodb or DynamoDB()

    def once(self, key: str, counter: str, count: int | None, mint: Callable[[], Block]) -> tuple[Block, bool]:
        """Return the block minted for this key, and whether an earlier request minted it.

        Args:
            key: the Idempotency-Key.
            counter: the request's counter.
            count: the size of the requested block, or None for a single integer.
            mint: mints the block; called only if there is no receipt. Its errors are passed on.

        Raises:
            OtherRequest: the key was used for another counter or count.
            Unavailable: the table is unavailable.
        """
        request = {"TableName": self._table, "Key": _key(key), "ConsistentRead": True}
        found = call_table(lambda: self._dynamodb.call("GetItem", request)).get("Item")
        if found and int(found["expires"]["N"]) > time.time():
            return _block_of(found, counter, count), True
        block = mint()
        try:
            call_table(lambda: self._put(key, Receipt(counter, count, block)))
        except ConditionFailed as failed:  # there is a receipt; nothing else can make the condition fail
            winner = _block_of(failed.item or {}, counter, count)
            return winner, winner != block  # equal: an attempt of this request, whose response was lost, wrote it
        return block, False

    def _put(self, key: str, receipt: Receipt) -> object:
        now = int(time.time())
        return self._dynamodb.call(
            "PutItem",
            {
                "TableName": self._table,
                "Item": {
                    **_key(key),
                    "counter": {"S": receipt.counter},
                    "count": {"N": str(receipt.count or 0)},
                    "first": {"N": str(receipt.block.first)},
                    "stride": {"N": str(receipt.block.stride)},
                    "expires": {"N": str(now + self._lifetime)},
                },
                "ConditionExpression": "attribute_not_exists(receipt) OR expires <= :now",
                "ExpressionAttributeValues": {":now": {"N": str(now)}},
                "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
            },
        )


def _key(key: str) -> dict[str, Any]:
    return {"receipt": {"S": key}}


def _block_of(found: Mapping[str, Any], counter: str, count: int | None) -> Block:
    """Return the block of a receipt, if it is one of the same request."""
    if (found["counter"]["S"], int(found["count"]["N"])) != (counter, count or 0):
        raise OtherRequest
    return Block(int(found["first"]["N"]), int(found["stride"]["N"]), count or 1)
