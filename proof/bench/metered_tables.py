"""Tables in memory that know the conditions of minting, and count what DynamoDB charges for: `stand_in.py` serves them.

A read takes units by the size of what it reads, a write by that of the larger item, before it or after, also if its
condition fails (DynamoDB guide, "DynamoDB read and write operations").
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from proof.bench.schedule import UNIT
from proof.bench.stand_in import KEYS, Rejected, StoredTable, Tables, size_of

WRITE_UNIT = 1024
"""Bytes (DynamoDB guide, "Capacity unit consumption for write operations")."""

Numbers = Mapping[str, int]


def holds(condition: str, item: Numbers, values: Numbers) -> bool:
    """Return whether a condition of minting holds. Those of the coordinator, which works alone here, always do."""
    match condition:
        case "issued < ceiling":
            return bool(item) and item["issued"] < item["ceiling"]
        case "stride = :stride AND ceiling = :ceiling AND issued <= :last":
            seen = values[":stride"], values[":ceiling"]
            return bool(item) and seen == (item["stride"], item["ceiling"]) and item["issued"] <= values[":last"]
        case (
            "attribute_not_exists(receipt) OR expires <= :now"
            | "attribute_not_exists(#at) OR #at <= :before OR #at > :future"
        ):
            return not item
        case _:
            return True


@dataclass
class MeteredTables(Tables):
    """The stand-in's tables, with the conditions that minting knows. They count units."""

    reads: float = 0
    writes: int = 0
    broken: str = ""
    """The key of an item whose writes are refused as invalid."""

    def put(self, region: str, table: str, item: Mapping[str, Any]) -> None:
        """Add an item, and the table if there is none. It costs nothing."""
        self._put(self.tables.setdefault((region, table), StoredTable("")), item)

    def answer(self, region: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one call and count its units, also if its condition fails."""
        match operation:
            case "GetItem":
                answer = super().answer(region, operation, request)
                self.reads += -(-max(size_of(answer.get("Item", {})), 1) // UNIT)
                return answer
            case "Scan":
                answer = super().answer(region, operation, request)
                items = self._table(region, request).items
                size = sum(items[item["counter"]["S"]].size + 7 + len(item["counter"]["S"]) for item in answer["Items"])
                self.reads += max(-(-size // UNIT), 1) * (1 if request.get("ConsistentRead") else 0.5)
                return answer
            case "TransactWriteItems":
                self.writes += 2 * sum(
                    self._units(region, next(iter(part.values()))) for part in request["TransactItems"]
                )
                return super().answer(region, operation, request)
            case "PutItem" | "UpdateItem" | "DeleteItem":
                return self._write(region, operation, request)
            case _:
                return super().answer(region, operation, request)

    def _write(self, region: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        key, item = self._item(region, request)
        if key == self.broken:
            raise Rejected("ValidationException", "unexpected")
        numbers = _numbers(item)
        before = self._units(region, request)
        values = _numbers(request.get("ExpressionAttributeValues", {}))
        if not holds(request.get("ConditionExpression", ""), numbers, values):
            self.writes += before
            raise Rejected("ConditionalCheckFailedException", "The conditional request failed", Item=item)
        if request.get("UpdateExpression") == "SET issued = issued + stride":
            step = {"N": str(numbers["stride"])}
            request = {**request, "UpdateExpression": "SET issued = issued + :step"}
            request |= {"ExpressionAttributeValues": {":step": step}}
        answer = super().answer(region, operation, request)
        self.writes += max(before, self._units(region, request))
        return answer

    def _item(self, region: str, request: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
        """Return the key that a write is about, and the item that is there, empty if there is none."""
        keys = request.get("Key") or {name: request["Item"][name] for name in KEYS if name in request["Item"]}
        ((name, key),) = keys.items()
        stored = self._table(region, request).items.get(key["S"])
        return key["S"], {} if stored is None else {name: key, **stored.attributes}

    def _units(self, region: str, request: Mapping[str, Any]) -> int:
        _, item = self._item(region, request)
        return -(-max(size_of(item), size_of(request.get("Item", {})), 1) // WRITE_UNIT)


def _numbers(attributes: Mapping[str, Any]) -> dict[str, int]:
    return {name: int(value["N"]) for name, value in attributes.items() if "N" in value}
