"""Create counters through the coordinator, and list them."""

import logging
import os
import time
from collections.abc import Sequence
from typing import Any

from aws_client.connection import NoResponse
from aws_client.invocation import InvocationFailed, invoke
from aws_client.service import ServiceError

from global_integers_core.names import CHECK_COUNTER, DELETED, RESERVED, reserved
from global_integers_core.records import counter_of

from .model import RequestRefused
from .table import CounterTable

log = logging.getLogger(__name__)

RUNTIME_ERRORS = ("Runtime.ExitError", "Runtime.OutOfMemory", "Sandbox.")
"""Beginnings of Lambda's errorType when a function was killed or timed out. Otherwise the function raised an error."""

TIMEOUT = 25
"""Seconds for each attempt. The coordinator starts cold and calls every region about ten times."""

NO_RESPONSE = "the coordinator has not responded; try again, and it continues where it stopped"


FULL_SECONDS = 60
"""Seconds for which a function doesn't ask again after it was told that there are `maxCounters`. To say so, the
coordinator reads all registers: with 1,000 counters, more than 200 read units."""


def create(table: CounterTable, counter: str) -> tuple[dict[str, Any], bool]:
    """Create a counter in every region. Return its layout as a document, and whether it is new.

    A retry after a failure continues where the failed attempt stopped.

    Raises:
        RequestRefused: `openCounters` is off; the name is in `RESERVED`; there are `maxCounters` already; the
            coordinator refused or didn't respond.
    """
    coordinator = _coordinator()
    if counter in RESERVED:
        raise RequestRefused("wrong name", reserved(counter))
    since, reason = table.full
    if 0 <= time.time() - since < FULL_SECONDS and table.find(counter) is None:
        raise RequestRefused("forbidden", f"{counter}: {reason}")
    try:
        result = invoke(coordinator, {"create": [counter]}, TIMEOUT)
    except InvocationFailed as failed:
        log.error("the coordinator did not create %s: %s: %s", counter, failed.kind, failed)
        if failed.kind == "TooManyCounters":
            table.full = time.time(), str(failed).removeprefix(f"{counter}: ")
            raise RequestRefused("forbidden", str(failed)) from None
        if not failed.kind or failed.kind.startswith(RUNTIME_ERRORS):
            raise RequestRefused("retry", NO_RESPONSE) from None
        message = f"the coordinator refused to create {counter!r}; the log says why"
        raise RequestRefused("failed", message) from None
    except (NoResponse, ServiceError) as error:
        if error.transient:
            log.warning("no response from the coordinator: %s", error)
            raise RequestRefused("retry", NO_RESPONSE) from None
        log.error("the coordinator can't be invoked: %s", error)
        reason = "retry later" if error.unaccepted else "failed"
        raise RequestRefused(reason, "the coordinator can't be invoked; the log says why") from None
    return {"counter": counter, **result["counters"][counter]}, counter in result["created"]


def list_counters(
    table: CounterTable, limit: int, after: str | None, names: Sequence[str] | None = None
) -> dict[str, Any]:
    """Return one page of up to `limit` of this region's counters; its `next` is the next page's `after`.

    A page takes one read of so many items, and has fewer counters where some of them aren't listed.

    `names` are the counters, in order, of a caller that may use no others: a scan would also return keys of those, as
    `next`. All counters are in no order.

    Raises:
        RequestRefused: `openCounters` is off.
    """
    _coordinator()
    if names is None:
        page, following = _scanned(table, limit, after)
    else:
        found = [name for name in names if (after is None or name > after) and table.find(name) is not None]
        page, following = found[:limit], found[limit - 1] if len(found) > limit else None
    return {"counters": page} | ({"next": following} if following else {})


def _scanned(table: CounterTable, limit: int, after: str | None) -> tuple[list[str], str | None]:
    start = {"ExclusiveStartKey": {"counter": {"S": after}}} if after is not None else {}
    page = table.scan(
        ProjectionExpression="#counter",
        FilterExpression="attribute_not_exists(held) OR held <> :deleted",
        ExpressionAttributeNames={"#counter": "counter"},
        ExpressionAttributeValues={":deleted": {"S": DELETED}},
        Limit=limit,
        **start,
    )
    found = (counter_of(item["counter"]["S"]) for item in page["Items"])
    names = [name for name in found if name and name != CHECK_COUNTER]
    return names, page.get("LastEvaluatedKey", {}).get("counter", {}).get("S")


def _coordinator() -> str:
    """Return the ARN of the coordinator's alias, if `openCounters` is on."""
    if "OPEN_COUNTERS" not in os.environ:
        raise RequestRefused(
            "forbidden",
            "counters can't be created or listed here; an operator can add one to the setting counters and deploy, "
            "invoke the coordinator, or turn on openCounters",
        )
    return os.environ["COORDINATOR"]
