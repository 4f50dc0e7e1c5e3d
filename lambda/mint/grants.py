"""Ask the home region for more integers of a counter that has too few left here. Imported when that happens.

Many functions may find out at the same time. So an item of the receipts table says when the region asked last, and
only whoever renews it asks. Another one says when it asked for this counter. So if many counters are used up, they take
turns, and one that asks in vain leaves room for the others.
"""

import logging
import os
import time
from typing import Any

from aws_client.invocation import send
from aws_client.service import DynamoDB, ServiceError

from global_integers_core.lattice import MAX_INTEGER
from global_integers_core.records import ASKED_KEY

from .model import CounterItem

EVERY = 1
"""Seconds between two times that a region asks."""

AGAIN = 5
"""Seconds between two times that it asks for the same counter."""

KEPT = 86_400
"""Seconds after which DynamoDB may delete the item of a counter."""

FUTURE = 60
"""Seconds. A stored time that lies further ahead comes from a wrong clock, and is ignored."""

TIMEOUT = 2.0
"""Seconds to tell Lambda, which doesn't wait for the coordinator."""

log = logging.getLogger(__name__)


def ask(counter: str, count: int, item: CounterItem | None, dynamodb: DynamoDB, went_back: int = 0) -> bool:
    """Ask for integers, unless this region has just done so. Return whether it has been asked, now or just before.

    `count` integers were wanted, and `item` has too few. Or the table `went_back` in this epoch, which must end. It
    raises nothing: a region that can't ask waits for a scheduled run.
    """
    if item is not None and item.issued + count * item.stride > MAX_INTEGER:
        return False  # no window reaches so far
    try:
        if _may_ask(os.environ["RECEIPTS_TABLE"], f"{ASKED_KEY}/{counter}", dynamodb):
            seen = {"wentBack": went_back} if went_back else {}
            send(os.environ["COORDINATOR"], {"grant": counter, "count": count, **seen}, TIMEOUT)
    except Exception as error:
        log.warning("the coordinator can't be asked for integers of %s: %s", counter, error)
        return False
    return True


def _may_ask(table: str, key: str, dynamodb: DynamoDB) -> bool:
    """Write that the region asks now. Return False if it has just asked, or lately for this counter."""
    now = int(time.time())
    lately: dict[str, Any] = {"TableName": table, "Key": {"receipt": {"S": key}}, "ConsistentRead": True}
    found = dynamodb.call("GetItem", lately).get("Item")
    if found and now - AGAIN < int(found["at"]["N"]) <= now + FUTURE:
        return False
    asked = {"at": {"N": str(now)}, "expires": {"N": str(now + KEPT)}}
    request = {
        "TableName": table,
        "Item": {"receipt": {"S": ASKED_KEY}, **asked},
        "ConditionExpression": "attribute_not_exists(#at) OR #at <= :before OR #at > :future",
        "ExpressionAttributeNames": {"#at": "at"},
        "ExpressionAttributeValues": {":before": {"N": str(now - EVERY)}, ":future": {"N": str(now + FUTURE)}},
    }
    try:
        dynamodb.call("PutItem", request)
    except ServiceError as failed:
        if failed.meaning != "condition":
            raise
        return False
    dynamodb.call("PutItem", {"TableName": table, "Item": {"receipt": {"S": key}, **asked}})
    return True
