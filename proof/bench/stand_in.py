"""A stand-in for DynamoDB, over HTTP: what the coordinator's store calls.

It takes every condition as true: a single coordinator that is measured meets no other one. But its own transactions
all check one item, and DynamoDB may cancel some of them for a conflict: here, the share `conflicts`. It knows the
operations and updates that `coordinate/dynamodb/` uses, and rejects all others. One server answers for all regions: the
region of a call is in its signature, which is not checked.
"""

import re
import ssl
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from random import Random
from typing import Any, NamedTuple, cast

from proof.faulty_server import Fault, Request, Response, Server, json_response

PAGE = 2**20
"""Bytes of items, as they are stored, after which a page of a scan ends (DynamoDB guide, "Scan")."""

KEY = "counter"
KEYS = (KEY, "receipt")
"""The keys of tables. A table that is scanned has the first one."""

ASSIGNMENT = r"(\w+) = (?:(:\w+)|(\w+)(?: \+ (:\w+))?)"
UPDATE = re.compile(rf"SET ({ASSIGNMENT}(?:, {ASSIGNMENT})*)(?: REMOVE (?P<removed>\w+(?:, \w+)*))?")

Attributes = Mapping[str, Any]

Answer = Callable[[str, str, Mapping[str, Any]], dict[str, Any]]
"""Carries out a call, by region, operation and request. It raises `Rejected` if the response is an error."""


class Rejected(Exception):
    """An error response: its code, its message, and what else its document has."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.document = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}


class Stored(NamedTuple):
    """An item without its key. Items with the same attributes may share them: a write replaces all of them."""

    attributes: Attributes
    size: int
    """Bytes, without the key."""


@dataclass
class StoredTable:
    """One table of one region."""

    id: str
    items: dict[str, Stored] = field(default_factory=dict[str, Stored])
    """In the order of a scan."""


@dataclass
class Tables:
    """The tables of all regions, by region and name, and how often each operation was called."""

    tables: dict[tuple[str, str], StoredTable] = field(default_factory=dict[tuple[str, str], StoredTable])
    calls: Counter[str] = field(default_factory=Counter[str])
    conflicts: float = 0.0
    """The share of transactions that are cancelled since another one checks the same item."""
    random: Random = field(default_factory=lambda: Random(0))

    def answer(self, region: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one call, or raise `Rejected`: no such table or item, or no call that the store makes."""
        self.calls[operation] += 1
        if operation == "TransactWriteItems":
            if self.random.random() < self.conflicts:
                reasons = [{"Code": "TransactionConflict"}, {"Code": "None"}]
                message = "Transaction cancelled [TransactionConflict, None]"
                raise Rejected("TransactionCanceledException", message, CancellationReasons=reasons)
            for part in request["TransactItems"]:
                if "Put" in part:  # else it is a check of a condition
                    self._put(self._table(region, part["Put"]), part["Put"]["Item"])
            return {}
        table = self._table(region, request)
        match operation:
            case "GetItem":
                ((name, key),) = request["Key"].items()
                stored = table.items.get(key["S"])
                return {} if stored is None else {"Item": {name: key, **stored.attributes}}
            case "PutItem":
                self._put(table, request["Item"])
                return {}
            case "UpdateItem":
                return self._update(table, request)
            case "DeleteItem":
                table.items.pop(request["Key"][KEY]["S"], None)
                return {}
            case "Scan":
                return self._scan(table, request)
            case "DescribeTable":
                return {"Table": {"TableId": table.id, "TableStatus": "ACTIVE"}}
            case _:
                raise Rejected("UnknownOperationException", operation)

    def _table(self, region: str, request: Mapping[str, Any]) -> StoredTable:
        table = self.tables.get((region, request["TableName"]))
        if table is None:
            raise Rejected("ResourceNotFoundException", f"{region} has no table {request['TableName']}")
        return table

    def _put(self, table: StoredTable, item: Mapping[str, Any]) -> None:
        attributes = {name: value for name, value in item.items() if name not in KEYS}
        key = next(item[name] for name in KEYS if name in item)
        table.items[key["S"]] = Stored(attributes, size_of(attributes))

    def _update(self, table: StoredTable, request: Mapping[str, Any]) -> dict[str, Any]:
        ((name, key),) = request["Key"].items()
        before: Attributes = table.items[key["S"]].attributes if key["S"] in table.items else {}
        values = request.get("ExpressionAttributeValues", {})
        assignments, removed = changes(request["UpdateExpression"])
        item: dict[str, Any] = {name: key} | {name: value for name, value in before.items() if name not in removed}
        for name, value, source, addend in assignments:
            if source and source not in before:
                raise Rejected("ValidationException", f"an update of {key}, which has no {source}")
            item[name] = values[value] if value else before[source]
            if addend:
                item[name] = {"N": str(int(before[source]["N"]) + int(values[addend]["N"]))}
        self._put(table, item)
        return {"Attributes": item}

    def _scan(self, table: StoredTable, request: Mapping[str, Any]) -> dict[str, Any]:
        wanted, keys = list(request["ExpressionAttributeNames"].values()), list(table.items)
        start = keys.index(request["ExclusiveStartKey"][KEY]["S"]) + 1 if "ExclusiveStartKey" in request else 0
        found: list[dict[str, Any]] = []
        size = 0
        for key in keys[start:]:
            attributes = {KEY: {"S": key}, **table.items[key].attributes}
            found.append({name: attributes[name] for name in wanted if name in attributes})
            size += len(KEY) + len(key) + table.items[key].size
            if size >= PAGE or len(found) == request.get("Limit"):
                return {"Items": found, "LastEvaluatedKey": {KEY: {"S": key}}}
        return {"Items": found}


@lru_cache(maxsize=256)
def changes(expression: str) -> tuple[list[tuple[str, str, str, str]], list[str]]:
    """Return what `SET a = :a, b = c, d = e + :f REMOVE g, h` assigns and removes; other forms are `Rejected`."""
    parts = UPDATE.fullmatch(expression)
    if parts is None:
        raise Rejected("ValidationException", f"an update that the stand-in doesn't know: {expression}")
    return re.findall(ASSIGNMENT, parts[1]), (parts["removed"] or "").split(", ")


def size_of(attributes: Attributes) -> int:
    """Return the bytes of an item (DynamoDB guide, "DynamoDB item sizes and formats")."""
    return sum(len(name) + _value(value) for name, value in attributes.items())


def _value(value: Mapping[str, Any]) -> int:
    ((kind, content),) = value.items()
    match kind:
        case "S":
            return len(content.encode())
        case "N":
            return len(content) // 2 + 2
        case "L":
            return 3 + sum(1 + _value(element) for element in cast("list[Any]", content))
        case "M":
            return 3 + len(content) + size_of(content)
        case _:
            return 1


def serving(answer: Answer, faults: Iterable[Fault] = (), tls: ssl.SSLContext | None = None) -> Server:
    """Return a server of these calls, which keeps no requests."""

    async def handler(request: Request) -> Response:
        try:
            return json_response(answer(request.scope[0], request.operation, request.document))
        except Rejected as rejected:
            return json_response(rejected.document, 400)

    return Server(handler, faults, tls=tls, recording=False)
