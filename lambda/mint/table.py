"""The region's counter table: the one write that mints."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from .dynamodb import DynamoDB
from .failure import NoAnswer, ServiceError

if TYPE_CHECKING:
    from .ownership import Layout

TRIES = 5
"""Of a block while the layout changes under it: in practice it changes once."""


class Block(NamedTuple):
    """`count` integers from `first` on, `stride` apart."""

    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]

    def integers(self) -> list[int]:
        return list(range(self.first, self.first + self.count * self.stride, self.stride))


class ConditionFailed(Exception):
    """A write's condition did not hold. `item` is what stands, None if nothing does."""

    def __init__(self, item: Mapping[str, Any] | None) -> None:
        super().__init__("condition failed")
        self.item = item


class UnknownCounter(Exception):
    """The table has no item of this counter. Minting never makes one: a lost table must show."""


class CeilingReached(Exception):
    """No integer is left below the ceiling. `fenced`: a change of layout is finishing, more will come."""

    def __init__(self, fenced: bool) -> None:
        super().__init__("fenced" if fenced else "used up")
        self.fenced = fenced


class Unavailable(Exception):
    """The table did not answer, is throttled or does not exist."""


class CounterTable:
    """One region's table, spoken to through one kept connection."""

    def __init__(self, name: str, dynamodb: DynamoDB | None = None) -> None:
        self._name = name
        self._dynamodb = dynamodb or DynamoDB()
        self._seen: dict[str, tuple[int, int]] = {}

    def mint(self, counter: str) -> Block:
        """Hand out the counter's next integer: one UpdateItem, which carries its own condition.

        Raises:
            UnknownCounter, CeilingReached, Unavailable
        """
        item = self._update(counter, "SET issued = issued + stride", "issued < ceiling", {})
        return Block(item["issued"], item["stride"], 1)

    def mint_block(self, counter: str, count: int) -> Block:
        """Hand out `count` integers by one write, which needs the stride and the ceiling seen last.

        If they are not known yet, or have changed, the write fails and says what they are.

        Raises:
            UnknownCounter, CeilingReached (fewer than `count` are left), Unavailable
        """
        for _ in range(TRIES):
            stride, ceiling = self._seen.get(counter, (0, 0))  # no stride is 0: that write only asks
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
                continue  # it has changed, or was not known: with what the answer said, again
            return Block(item["issued"] - (count - 1) * stride, stride, count)
        raise Unavailable(f"the layout of {counter} changed {TRIES} times while a block was minted")

    def answers(self, counter: str) -> None:
        """Read an item, whichever: does the table answer?

        Raises:
            Unavailable
        """
        called(lambda: self._dynamodb.call("GetItem", {"TableName": self._name, "Key": {"counter": {"S": counter}}}))

    def numbers(self, counter: str) -> dict[str, int]:
        """The counter's item as it stands: `issued`, `stride`, `ceiling`, `epoch`, and `issued_<epoch>` of past ones.

        Raises:
            UnknownCounter, Unavailable
        """
        item = self._get(counter)
        if item is None:
            raise UnknownCounter
        return _numbers(item)

    def layouts(self, counter: str) -> "tuple[Layout, ...]":
        """All layouts that this region has been told of, the oldest first; none of an unknown counter.

        Raises:
            Unavailable
        """
        record = self._get(f"{counter}/layouts")
        if record is None:
            return ()
        from .ownership import layouts_of

        return layouts_of(record)

    def names(self, limit: int, after: str | None) -> tuple[list[str], str | None]:
        """Up to `limit` counters, in no order, and the key after which the list goes on, if it does.

        Raises:
            Unavailable
        """
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
            page = called(lambda request=request: self._dynamodb.call("Scan", request))
            # The items that keep layouts are not counters.
            names += [item["counter"]["S"] for item in page["Items"] if "/" not in item["counter"]["S"]]
            after = page.get("LastEvaluatedKey", {}).get("counter", {}).get("S")
            if after is None or len(names) == limit:
                return names, after

    def _get(self, key: str) -> Mapping[str, Any] | None:
        request: dict[str, Any] = {"TableName": self._name, "Key": {"counter": {"S": key}}, "ConsistentRead": True}
        return called(lambda: self._dynamodb.call("GetItem", request)).get("Item")

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
            attributes: Mapping[str, Any] = called(lambda: self._dynamodb.call("UpdateItem", request))["Attributes"]
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


def called(call: Callable[[], Any]) -> Any:
    """Call DynamoDB, and say what went wrong in this module's words."""
    try:
        return call()
    except ServiceError as error:
        if error.code == "ConditionalCheckFailedException":
            raise ConditionFailed(error.item) from None
        if error.passing or error.code == "ResourceNotFoundException":
            raise Unavailable(str(error)) from error
        raise
    except NoAnswer as error:  # connection, time-out
        raise Unavailable(str(error)) from error
