"""Ask the home region for more integers of a counter that has too few left here, or soon has.

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
"""Seconds between two times that a region asks, and between two that it asks ahead of need."""

AGAIN = 2
"""Seconds between two times that it asks for the same counter, unless more is wanted."""

EARLY_KEY = f"{ASKED_KEY}-early"
"""The key of when the region last asked ahead of need."""

KEPT = 86_400
"""Seconds after which DynamoDB may delete the item of a counter."""

FUTURE = 60
"""Seconds. A stored time that lies further ahead comes from a wrong clock, and is ignored."""

TIMEOUT = 2.0
"""Seconds to tell Lambda, which doesn't wait for the coordinator."""

log = logging.getLogger(__name__)


def ask(
    counter: str, count: int, item: CounterItem | None, dynamodb: DynamoDB, went_back: int = 0, *, early: bool = False
) -> bool | None:
    """Ask for integers, unless this region has just done so. Return whether it asks now; None: it can't.

    `count` integers were wanted, and `item` has too few; or soon has, if it is `early`, which keeps nobody from asking
    who needs them. Or the table `went_back` in this epoch, which must end. It raises nothing: a region that can't ask
    waits for a scheduled run.
    """
    if item is not None and item.issued + count * item.stride > MAX_INTEGER:
        return None  # no window reaches so far
    try:
        table, now = os.environ["RECEIPTS_TABLE"], int(time.time())
        key = f"{ASKED_KEY}/{counter}"
        turn, wanted = (EARLY_KEY, 0) if early else (ASKED_KEY, count)
        asks = _may_ask(dynamodb, table, turn, key, now, wanted)
        if asks:
            seen = {"wentBack": went_back} if went_back else {}
            send(os.environ["COORDINATOR"], {"grant": counter, "count": count, **seen}, TIMEOUT)
    except Exception as error:
        log.warning("the coordinator can't be asked for integers of %s: %s", counter, error)
        return None
    return asks


def _may_ask(dynamodb: DynamoDB, table: str, turn: str, key: str, now: int, count: int) -> bool:
    """Write that the region asks now. Return False if it has just asked, or lately for as many of this counter."""
    lately: dict[str, Any] = {"TableName": table, "Key": {"receipt": {"S": key}}, "ConsistentRead": True}
    found = dynamodb.call("GetItem", lately).get("Item")
    if found and now - AGAIN < int(found["at"]["N"]) <= now + FUTURE and int(found["count"]["N"]) >= count:
        return False
    request = {
        "TableName": table,
        "Item": _asked(turn, now, 0),
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
    dynamodb.call("PutItem", {"TableName": table, "Item": _asked(key, now, count)})
    return True


def _asked(key: str, now: int, count: int) -> dict[str, Any]:
    numbers = {"at": now, "count": count, "expires": now + KEPT}
    return {"receipt": {"S": key}, **{name: {"N": str(number)} for name, number in numbers.items()}}
