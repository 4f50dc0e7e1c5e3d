"""Receipts: what makes a repeated request with the same Idempotency-Key return the same integers.

There is no "in progress" state that a crash could leave behind: the receipt is put after the mint, on
the condition that there is none yet. The request that loses that race returns the winner's integers, and
its own are lost.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from aws.dynamodb import DynamoDB

from .table import Block, ConditionFailed, called


class OtherRequest(Exception):
    """The key was used before, for another counter or count."""


class Receipt(NamedTuple):
    """What was asked for under a key, and what came of it. `count` None: one integer, not a block."""

    counter: str
    count: int | None  # pyright: ignore[reportIncompatibleMethodOverride]
    block: Block


class Receipts:
    """One region's receipts. `lifetime` in seconds; expiry is checked here, since TTL may lag by days."""

    def __init__(self, table: str, lifetime: int, dynamodb: DynamoDB | None = None) -> None:
        self._table = table
        self._lifetime = lifetime
        self._dynamodb = dynamodb or DynamoDB()

    def once(self, key: str, counter: str, count: int | None, mint: Callable[[], Block]) -> tuple[Block, bool]:
        """Return the block minted for this key, and whether an earlier request minted it.

        Raises:
            OtherRequest: the key was used for another counter or count.
            Unavailable: the table did not answer. Errors of `mint` are passed on.
        """
        request = {"TableName": self._table, "Key": _key(key), "ConsistentRead": True}
        answer = called(lambda: self._dynamodb.call("GetItem", request))
        found = answer.get("Item")
        if found and int(found["expires"]["N"]) > time.time():
            return _same(found, counter, count), True
        block = mint()
        try:
            called(lambda: self._put(key, Receipt(counter, count, block)))
        except ConditionFailed as lost:  # only an item can make the condition fail
            stands = _same(lost.item or {}, counter, count)
            return (
                stands,
                stands != block,
            )  # equal: an attempt whose reply was lost put it
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


def _same(found: Mapping[str, Any], counter: str, count: int | None) -> Block:
    if (found["counter"]["S"], int(found["count"]["N"])) != (counter, count or 0):
        raise OtherRequest
    return Block(int(found["first"]["N"]), int(found["stride"]["N"]), count or 1)
