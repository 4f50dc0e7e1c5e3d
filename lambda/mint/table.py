"""The region's counters table. One write mints."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from aws.dynamodb import DynamoDB
from aws.failure import NoResponse, ServiceError

if TYPE_CHECKING:
    from integers.layouts import Layout

ATTEMPTS = 5
"""The largest number of writes for one block. The first one fails if the layout has changed since the last mint."""


class Block(NamedTuple):
    """`count` integers from `first` on, `stride` apart."""

    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]

    def integers(self) -> list[int]:
        """Return the integers, the smallest first."""
        return list(range(self.first, self.first + self.count * self.stride, self.stride))


class ConditionFailed(Exception):
    """A write's condition did not hold. `item` is the item as it is, or None if there is none."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        super().__init__("condition failed")
        self.item = item


class UnknownCounter(Exception):
    """The table has no item of this counter. Minting never creates one, so that a lost table is an error."""


class CeilingReached(Exception):
    """No integer is left up to the ceiling. If it is `fenced`, a change of layout is finishing, and waiting helps."""

    def __init__(self, fenced: bool) -> None:
        super().__init__("fenced" if fenced else "used up")
        self.fenced = fenced


class Unavailable(Exception):
    """The table did not respond, is throttled or doesn't exist."""


class CounterTable:
    """One region's table."""

    def __init__(self, name: str, dynamodb: DynamoDB | None = None) -> None:
        """Use the table `name` over `dynamodb`, by default a connection of its own."""
        self._name = name
        self._dynamodb = dynamodb or DynamoDB()
        self._seen: dict[str, tuple[int, int]] = {}

    def mint(self, counter: str) -> Block:
        """Mint the counter's next integer with one conditional UpdateItem.

        Raises:
            UnknownCounter: the table has no such counter.
            CeilingReached: no integer is left.
            Unavailable: the table is unavailable.
        """
        item = self._update(counter, "SET issued = issued + stride", "issued < ceiling", {})
        return Block(item["issued"], item["stride"], 1)

    def mint_block(self, counter: str, count: int) -> Block:
        """Mint `count` integers with one write, on the condition that stride and ceiling are those seen last.

        If they are unknown or have changed, the write fails and returns the present ones for a retry.

        Raises:
            UnknownCounter: the table has no such counter.
            CeilingReached: fewer than `count` integers are left.
            Unavailable: the table is unavailable.
        """
        for _ in range(ATTEMPTS):
            stride, ceiling = self._seen.get(counter, (0, 0))  # no stride is 0, so this write fails and shows the item
            try:
                item = self._update(
                    counter,
                    "SET issued = issued + :step",
                    "stride = :stride AND ceiling = :ceiling AND issued <= :last",
                    {
                        ":step": count * stride,
                        ":stride": stride,
                        ":ceiling": ceiling,
                        ":last": ceiling - count * stride,
                    },
                )
            except CeilingReached:
                if self._seen.get(counter) == (stride, ceiling):
                    raise
                continue  # unknown or changed: retry with the present ones
            return Block(item["issued"] - (count - 1) * stride, stride, count)
        raise Unavailable(f"the layout of {counter} changed {ATTEMPTS} times while a block was minted")

    def check(self, counter: str) -> None:
        """Check that the table responds, by reading an item.

        Raises:
            Unavailable: the table is unavailable.
        """
        call_table(
            lambda: self._dynamodb.call("GetItem", {"TableName": self._name, "Key": {"counter": {"S": counter}}})
        )

    def exists(self, counter: str) -> bool:
        """Return whether the table has the counter.

        Raises:
            Unavailable: the table is unavailable.
        """
        return self._get(counter) is not None

    def numbers(self, counter: str) -> dict[str, int]:
        """Return the numbers of the counter's item: `issued`, `stride`, `ceiling`, `epoch`, and past `issued_<epoch>`.

        Raises:
            UnknownCounter: the table has no such counter.
            Unavailable: the table is unavailable.
        """
        item = self._get(counter)
        if item is None:
            raise UnknownCounter
        return _numbers(item)

    def layouts(self, counter: str) -> "tuple[Layout, ...]":
        """Return the layouts that the coordinator has recorded in this region, the oldest first; none if unknown.

        Raises:
            Unavailable: the table is unavailable.
        """
        from integers.records import layouts_key, layouts_of  # not needed to mint

        record = self._get(layouts_key(counter))
        return layouts_of(record["layouts"]) if record else ()

    def names(self, limit: int, after: str | None) -> tuple[list[str], str | None]:
        """Return up to `limit` counters, in no order, and the key after which the list continues, if it does.

        Raises:
            Unavailable: the table is unavailable.
        """
        from integers.records import counter_of

        names: list[str] = []
        while True:
            request: dict[str, Any] = {
                "TableName": self._name,
                "ProjectionExpression": "#counter",
                "ExpressionAttributeNames": {"#counter": "counter"},
                "Limit": limit - len(names),
            }
            if after is not None:
                request["ExclusiveStartKey"] = {"counter": {"S": after}}
            page = call_table(lambda request=request: self._dynamodb.call("Scan", request))
            names += filter(None, (counter_of(item["counter"]["S"]) for item in page["Items"]))
            after = page.get("LastEvaluatedKey", {}).get("counter", {}).get("S")
            if after is None or len(names) == limit:
                return names, after

    def _get(self, key: str) -> Mapping[str, Any] | None:
        request: dict[str, Any] = {"TableName": self._name, "Key": {"counter": {"S": key}}, "ConsistentRead": True}
        return call_table(lambda: self._dynamodb.call("GetItem", request)).get("Item")

    def _update(self, counter: str, update: str, condition: str, values: Mapping[str, int]) -> dict[str, int]:
        request: dict[str, Any] = {
            "TableName": self._name,
            "Key": {"counter": {"S": counter}},
            "UpdateExpression": update,
            "ConditionExpression": condition,
            "ReturnValues": "ALL_NEW",
            "ReturnValuesOnConditionCheckFailure": "ALL_OLD",
        }
        if values:
            request["ExpressionAttributeValues"] = {name: {"N": str(value)} for name, value in values.items()}
        try:
            attributes: Mapping[str, Any] = call_table(lambda: self._dynamodb.call("UpdateItem", request))["Attributes"]
        except ConditionFailed as failed:
            if not failed.item:
                self._seen.pop(counter, None)
                raise UnknownCounter from None
            self._see(counter, failed.item)
            raise CeilingReached(fenced=bool(failed.item.get("fenced", {}).get("BOOL", False))) from None
        return self._see(counter, attributes)

    def _see(self, counter: str, attributes: Mapping[str, Any]) -> dict[str, int]:
        numbers = _numbers(attributes)
        self._seen[counter] = (numbers["stride"], numbers["ceiling"])
        return numbers


def _numbers(attributes: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(value["N"]) for name, value in attributes.items() if "N" in value}


def call_table(call: Callable[[], Any]) -> Any:
    """Call DynamoDB, and raise its errors as those of a table.

    Raises:
        ConditionFailed: the write's condition did not hold.
        Unavailable: the error is transient, or the table doesn't exist.
        ServiceError: any other error.
    """
    try:
        return call()
    except ServiceError as error:
        if error.code == "ConditionalCheckFailedException":
            raise ConditionFailed(error.item) from None
        if error.transient or error.code == "ResourceNotFoundException":
            raise Unavailable(str(error)) from error
        raise
    except NoResponse as error:
        raise Unavailable(str(error)) from error
