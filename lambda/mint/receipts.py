"""Receipts: repeated requests with the same Idempotency-Key return the same integers.

The receipt is written after the mint, on the condition that there is none yet. So there is no state "in progress"
that a crash could leave behind. A request that loses a race returns the winner's integers, and its own are lost.
"""

import time
from collections.abc import Mapping
from typing import Any

from aws_client.service import DynamoDB, ServiceError

from .model import Block, RequestRefused


def receipt_of(key: str, counter: str, caller: str = "") -> str:
    """Return the key in the table of the receipt for an Idempotency-Key. No part of it has a space in it.

    Other callers may use the same Idempotency-Key for requests of their own, and so may requests for other counters.
    Without the setting `callers`, `caller` is "", since the function then doesn't look at who calls.
    """
    return " ".join(filter(None, (counter, caller, key)))


class Receipts:
    """One region's receipts."""

    def __init__(self, table: str, lifetime: int, dynamodb: DynamoDB | None = None) -> None:
        """Use the receipts in `table`, each for `lifetime` seconds.

        Expired receipts are ignored here too, since DynamoDB's TTL may delete them days later.
        """
        self._table = table
        self._lifetime = lifetime
        self._dynamodb = dynamodb or DynamoDB()

    def find(self, receipt: str, count: int) -> Block | None:
        """Return the block of `count` integers that an earlier request minted for this receipt, if there was one.

        Raises:
            RequestRefused: the key was used for another count.
        """
        request = {"TableName": self._table, "Key": {"receipt": {"S": receipt}}, "ConsistentRead": True}
        found = self._dynamodb.call("GetItem", request).get("Item")
        return _block_of(found, count) if found and int(found["expires"]["N"]) > time.time() else None

    def keep(self, receipt: str, block: Block) -> tuple[Block, bool]:
        """Write the receipt of a block. Return it and False, or the block of a request that won the race and True.

        Raises:
            RequestRefused: the winner used the key for another count.
        """
        now = int(time.time())
        numbers = {"count": block.count, "first": block.first, "stride": block.stride, "expires": now + self._lifetime}
        request = {
            "TableName": self._table,
            "Item": {"receipt": {"S": receipt}, **{name: {"N": str(number)} for name, number in numbers.items()}},
            "ConditionExpression": "attribute_not_exists(receipt) OR expires <= :now",
            "ExpressionAttributeValues": {":now": {"N": str(now)}},
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        try:
            self._dynamodb.call("PutItem", request)
        except ServiceError as failed:
            if failed.meaning != "condition":
                raise
            winner = _block_of(failed.item or {}, block.count)  # there is one; nothing else makes the condition fail
            return winner, winner != block  # equal: an attempt of this request, whose response was lost, wrote it
        return block, False


def _block_of(found: Mapping[str, Any], count: int) -> Block:
    block = Block(*(int(found[name]["N"]) for name in ("first", "stride", "count")))
    if block.count != count:
        message = "this Idempotency-Key was used for another count; use a new one"
        raise RequestRefused("other request", message)
    return block
