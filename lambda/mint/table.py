"""The region's counters table. One write mints.

What questions about owners need besides is in the receipts table.

A table that was restored to an earlier state would mint the same integers again. So each answer of the table is
compared with what a warm function had seen issued before the call began, not with what is seen now: answers to several
threads may arrive in another order than the table gave them. In Lambda, one instance answers one request at a time.

A new function can't detect this. The coordinator can, since the table's id has changed. It begins an epoch above all
that may have been minted. From then on, a function mints again.
"""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

from aws_client.service import DynamoDB, ServiceError

from global_integers_core.names import CHECK_COUNTER, DELETED

from .model import Block, CeilingReached, CounterItem, NoItem, TableEmpty, TableUnavailable, Unusable, WentBackwards

if TYPE_CHECKING:
    from global_integers_core.records import Recorded

ATTEMPTS = 5
"""The largest number of writes for one block. The first one fails if the layout has changed since the last mint."""

MAX_COUNTERS = 10_000
"""The largest number of counters that a function remembers, in about 4 MB. Beyond it, the oldest is forgotten."""


class CounterTable:
    """One region's table. Every method raises the errors of `DynamoDB.call`, and Unusable if the item isn't one."""

    def __init__(self, name: str, dynamodb: DynamoDB | None = None, receipts: str = "") -> None:
        self._name = name
        self._receipts = receipts
        self._dynamodb = dynamodb or DynamoDB()
        self._places: dict[str, tuple[int, int]] = {}
        self.low: dict[str, CounterItem] = {}
        """The counters of which it is time to ask for more."""
        self.seen = RollbackGuard()
        self.full: tuple[float, str] = (0.0, "")
        """When the coordinator last refused to create a counter since there are too many (time.time), and its words."""

    def mint(self, counter: str) -> Block:
        """Mint one integer with one conditional UpdateItem, or raise NoItem, CeilingReached, WentBackwards."""
        item = self._update(counter, 1, _mint_request(self._name, counter))
        return Block(item.issued, item.stride, 1)

    def mint_block(self, counter: str, count: int) -> Block:
        """Mint `count` integers with one write, on the condition that stride and ceiling are those seen last.

        If they are unknown or have changed, it tries again with the present ones, in up to `ATTEMPTS` writes. It
        raises the errors of `mint`: CeilingReached if fewer than `count` integers are left.
        """
        stride, ceiling = self._places.get(counter, (0, 0))  # no stride is 0, so this write fails and shows the item
        for _ in range(ATTEMPTS):
            try:
                condition = "stride = :stride AND ceiling = :ceiling AND issued <= :last"
                step = count * stride
                values = {":step": step, ":stride": stride, ":ceiling": ceiling, ":last": ceiling - step}
                request = _update_request(self._name, counter, "SET issued = issued + :step", condition, values)
                item = self._update(counter, count, request)
            except CeilingReached as reached:
                present = reached.item.stride, reached.item.ceiling
                if present == (stride, ceiling):
                    raise
                stride, ceiling = present  # retry with the present ones
            else:
                return Block(item.issued - (count - 1) * stride, stride, count)
        raise TableUnavailable(f"the layout of {counter} changed {ATTEMPTS} times while a block was minted")

    def find(self, counter: str) -> CounterItem | None:
        """Return the counter's item, or None if there is none, or its counter is deleted.

        It isn't compared with what was seen before.
        """
        attributes = self._get(counter)
        return None if attributes is None or _is_deleted(attributes) else _item_of(attributes)

    def item(self, counter: str) -> CounterItem:
        """Return the counter's item, or raise NoItem or WentBackwards."""
        last = self.seen.last(counter)
        item = self.find(counter)
        if item is None:
            raise self._absence(counter)
        self._see(counter, last, item, 0)
        return item

    def recorded(self, counter: str) -> "Recorded":
        """Return what the coordinator has recorded in this region of the counter's layouts. It may be nothing."""
        from global_integers_core.records import Recorded, layouts_key, recorded_of  # not needed to mint

        key = {"receipt": {"S": layouts_key(counter)}}
        request: dict[str, Any] = {"TableName": self._receipts, "Key": key, "ConsistentRead": True}
        try:
            record = self._dynamodb.call("GetItem", request).get("Item")
        except ServiceError as error:
            if error.meaning != "gone":
                raise
            record = None
        return recorded_of(record) if record else Recorded()

    def scan(self, **request: Any) -> dict[str, Any]:
        """Return one page of a scan, in DynamoDB's own JSON."""
        return self._dynamodb.call("Scan", {"TableName": self._name, **request})

    def _get(self, key: str) -> Mapping[str, Any] | None:
        request: dict[str, Any] = {"TableName": self._name, "Key": {"counter": {"S": key}}, "ConsistentRead": True}
        return self._dynamodb.call("GetItem", request).get("Item")

    def _absence(self, counter: str) -> NoItem:
        """Return why there is no such counter. `CHECK_COUNTER` is what the coordinator puts last into a table."""
        lacks = counter != CHECK_COUNTER and self._get(CHECK_COUNTER) is None
        return TableEmpty() if lacks else NoItem()

    def _update(self, counter: str, count: int, request: bytes | Mapping[str, Any]) -> CounterItem:
        if self.seen.refused(counter):
            self.item(counter)  # read first: a write would waste integers as long as the counter is refused
        last = self.seen.last(counter)
        try:
            item = _item_of(self._dynamodb.call("UpdateItem", request)["Attributes"])
        except ServiceError as error:
            if error.code == "ValidationException" and error.meaning == "bug":
                self.find(counter)  # a number that the write adds to is missing, or is none: this says so
            if error.meaning != "condition":
                raise
            if not error.item or _is_deleted(error.item):
                self._places.pop(counter, None)
                raise self._absence(counter) from None
            item = _item_of(error.item)
            self._see(counter, last, item, 0)
            raise CeilingReached(item) from None
        self._see(counter, last, item, count * item.stride)
        if item.low and item.issued > item.low and not item.fenced:
            self.low[counter] = item
        return item

    def _see(self, counter: str, last: "HighestSeen", item: CounterItem, step: int) -> None:
        """Remember the item, which has just grown by `step`, and refuse it if the table went backwards.

        One that is held isn't remembered: nothing was minted from it in this epoch, and it may open at any integer.
        """
        if "held" not in item.attributes:
            before, after = HighestSeen(item.epoch, item.issued - step), HighestSeen(item.epoch, item.issued)
            self.seen.add(counter, last, before, after)
        self._places[counter] = (item.stride, item.ceiling)
        if len(self._places) > MAX_COUNTERS:
            self._places.clear()


class HighestSeen(NamedTuple):
    """The last integer seen issued in the newest epoch seen."""

    epoch: int
    issued: int


UNSEEN = HighestSeen(0, 0)


class RollbackGuard:
    """What one function has seen of one table."""

    def __init__(self) -> None:
        self._last: dict[str, HighestSeen] = {}
        self._void: dict[str, int] = {}
        self.findings = 0
        """How often the table was found to have gone backwards."""

    def last(self, counter: str) -> HighestSeen:
        """Return what was seen last of a counter, or `UNSEEN`."""
        return self._last.get(counter, UNSEEN)

    def refused(self, counter: str) -> bool:
        """Return whether the table went backwards, and no newer epoch has been seen since."""
        return self.last(counter).epoch <= self._void.get(counter, -1)

    def add(self, counter: str, last: HighestSeen, before: HighestSeen, after: HighestSeen) -> None:
        """Remember what the item had `before` a call and has `after` it. `last` was seen last when the call began.

        Raises:
            WentBackwards: the item had less than what was seen, or it is still of an epoch in which it had.
        """
        if before < last:
            self._find(counter, last, before)
        void = self._void.get(counter, -1)
        if after.epoch <= void:
            raise WentBackwards(void)
        if after > self.last(counter):
            self._last[counter] = after
            if len(self._last) + len(self._void) > MAX_COUNTERS:
                del self._last[next(iter(self._last))]

    def _find(self, counter: str, last: HighestSeen, found: HighestSeen) -> None:
        """Refuse the counter up to the epoch that was seen. One finding is logged once."""
        if last.epoch <= self._void.get(counter, -1):
            return
        self.findings += 1
        self._void[counter] = last.epoch
        self._last.pop(counter, None)
        import logging  # rarely needed

        logging.getLogger("mint.table").error(
            "this region's table went backwards: %s had issued %d in epoch %d, and now %d in epoch %d. It was restored "
            "or overwritten. Nothing of this counter is minted here until the coordinator has begun an epoch after %d.",
            counter,
            last.issued,
            last.epoch,
            found.issued,
            found.epoch,
            last.epoch,
        )


@lru_cache(maxsize=MAX_COUNTERS)
def _mint_request(table: str, counter: str) -> bytes:
    request = _update_request(table, counter, "SET issued = issued + stride", "issued < ceiling", {})
    return json.dumps(request).encode()


def _update_request(table: str, counter: str, update: str, condition: str, values: Mapping[str, int]) -> dict[str, Any]:
    request: dict[str, Any] = {
        "TableName": table,
        "Key": {"counter": {"S": counter}},
        "UpdateExpression": update,
        "ConditionExpression": condition,
        "ReturnValues": "ALL_NEW",
        "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
    }
    if values:
        request["ExpressionAttributeValues"] = {name: {"N": str(value)} for name, value in values.items()}
    return request


def _is_deleted(attributes: Mapping[str, Any]) -> bool:
    """Return whether an item is held since its counter is deleted. Otherwise, it is held until it is opened."""
    return attributes.get("held", {}).get("S") == DELETED


def _item_of(attributes: Mapping[str, Any]) -> CounterItem:
    try:
        return CounterItem(
            int(attributes["issued"]["N"]),
            int(attributes["stride"]["N"]),
            int(attributes["ceiling"]["N"]),
            int(attributes["epoch"]["N"]),
            bool(attributes.get("fenced", {}).get("BOOL", False)),
            attributes,
            int(attributes["low"]["N"]) if "low" in attributes else 0,
        )
    except (LookupError, ValueError):
        raise Unusable(f"not an item of the coordinator: {attributes}") from None
