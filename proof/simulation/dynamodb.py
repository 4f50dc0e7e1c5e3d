"""DynamoDB in memory: the tables of all regions, and calls that evaluate the real expressions.

It takes the requests of `aws_client.service.DynamoDB`, and has DynamoDB's answers and errors: test_dynamodb.py compares
it with DynamoDB Local. What it doesn't know (an operation, a parameter, part of an expression) it refuses with
NotImplementedError. Every read is consistent, nothing is throttled, and no transaction meets another one.

Every test that a write depends on can be taken out, to see whether it is needed. It is called by what writes, and by
what is tested, such as `Mint: issued < ceiling`. What writes is the database's `label`, or the kind of write and the
table, and a check has ` check of <table>` behind it. What is tested is one of the tests that AND joins. A replacement
tests every attribute (`#name = :name`), or that there is none (`attribute_not_exists(#name)`): all of these are one
test, `unchanged`.
"""

import json
from binascii import crc32
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate
from threading import Lock
from typing import Any

from aws_client.service import DynamoDB, ServiceError

from proof.simulation.expressions import Expressions, Item, check_value, invalid, size_of, translated

Request = Mapping[str, Any]

MAX_ITEM, MAX_KEY = 400 * 1024, 2048
"""Bytes (DynamoDB guide, "Constraints in DynamoDB")."""

MAX_WRITES = 100
"""Of a transaction."""

PAGE = 2**20
"""Bytes of items, as they are stored, after which a page of a scan ends (DynamoDB guide, "Scan")."""

READ_UNIT, WRITE_UNIT = 4096, 1024
"""Bytes (DynamoDB guide, "DynamoDB read and write operations")."""

_KEYED = {"TableName", "Key"}
_CONDITION = {"ConditionExpression", "ExpressionAttributeNames", "ExpressionAttributeValues"}
_READ = {"ConsistentRead", "ProjectionExpression", "ExpressionAttributeNames"}
WRITES = {
    "Put": {"TableName", "Item", *_CONDITION},
    "Update": {*_KEYED, "UpdateExpression", *_CONDITION},
    "Delete": {*_KEYED, *_CONDITION},
    "ConditionCheck": {*_KEYED, *_CONDITION},
}
PARAMETERS = WRITES | {
    **{f"{write}Item": {*own, "ReturnValues", "ReturnValuesOnConditionCheckFailure"} for write, own in WRITES.items()},
    "TransactWriteItems": {"TransactItems", "ClientRequestToken"},
    "GetItem": {*_KEYED, *_READ},
    "Scan": {"TableName", "FilterExpression", "ExpressionAttributeValues", "Limit", "ExclusiveStartKey", *_READ},
    "DescribeTable": {"TableName"},
}
"""What an operation, or a write in a transaction, may have."""

OLD = ("NONE", "ALL_OLD")
RETURNED = {"PutItem": OLD, "DeleteItem": OLD, "UpdateItem": (*OLD, "ALL_NEW", "UPDATED_NEW")}
"""What a write may return."""

_ONE_AT_A_TIME = Lock()
"""A call is carried out as a whole, whatever other threads call."""


_loaded = lru_cache(maxsize=20_000)(json.loads)


@lru_cache(maxsize=100_000)
def _place(key: str) -> tuple[int, str]:
    """Return where a scan finds a key. As in DynamoDB, it is no order that anybody may rely on."""
    return crc32(key.encode()), key


@dataclass
class Table:
    """One table of one region."""

    key: str
    """The name of the attribute that is the key, a string."""
    id: str
    stream: str = ""
    """The label of its stream, if it has one."""
    items: dict[str, Item] = field(default_factory=dict[str, Item])
    """By key. A write replaces an item and never changes it, so a copy of this dict is a snapshot."""

    def key_of(self, item: Item) -> str:
        """Return the key that a request names, or raise `invalid`."""
        found = item.get(self.key, {}).get("S")
        if len(item) != 1 or not isinstance(found, str) or not 0 < len(found.encode()) <= MAX_KEY:
            raise invalid(f"The provided key element does not match the schema, or is empty or too long: {item}")
        return found


_Prepared = tuple[Table, str, Expressions, Callable[[], tuple[Item | None, Item | None]]]
"""A write's table, its key, its plan, and what returns the item before it and after it, or raises."""


@dataclass
class Database:
    """The tables of all regions, by region and name. `create` creates one; what is taken out of `tables` is deleted.

    Tests that are `without` always hold. `label` says what writes: whoever calls may set it before each call.

    If it is `metered`, `reads` and `writes` are the units that calls have taken. A read takes them by the size of what
    it reads, and half of them if it isn't consistent. A write takes them by the size of the larger item, before it or
    after, also if its condition fails, and twice as many in a transaction.
    """

    without: frozenset[str] = frozenset()
    label: str = ""
    metered: bool = False
    reads: float = 0
    writes: int = 0
    calls: Counter[str] = field(default_factory=Counter[str])
    """How often each operation was called."""
    tables: dict[tuple[str, str], Table] = field(default_factory=dict[tuple[str, str], Table])
    tests: set[str] = field(default_factory=set[str])
    """All tests that writes have had so far."""
    _done: dict[str, Any] = field(default_factory=dict[str, Any])
    """Transactions by their tokens. DynamoDB knows them for ten minutes."""
    _created: int = 0

    def create(self, region: str, name: str, key: str = "counter", id_: str = "", stream: str = "") -> Table:
        """Create an empty table, in place of one that may be there. Without `id_`, it gets an id that none has had."""
        self._created += 1
        table = self.tables[region, name] = Table(key, id_ or f"{region} {name} {self._created}", stream)
        return table

    def client(self, region: str) -> "Client":
        """Return the client of a region."""
        return Client(self, region)

    def call(self, region: str, operation: str, request: Request | bytes) -> dict[str, Any]:
        """Call an operation in a region, as `DynamoDB.call` does. What it returns must not be changed.

        Raises:
            ServiceError: DynamoDB refuses the call.
            NotImplementedError: it isn't known here.
        """
        document: Request = _loaded(request) if isinstance(request, bytes) else request
        with _ONE_AT_A_TIME:
            self.calls[operation] += 1
            try:
                _check(operation, document)
                if operation in READS:
                    return READS[operation](self, self._table(region, document), document)
                if operation == "TransactWriteItems":
                    return self._transact(region, document)
                return self._write(region, operation, document)
            except ServiceError as error:
                error.operation = operation
                raise

    def _describe(self, table: Table, request: Request) -> dict[str, Any]:
        described = {"TableName": request["TableName"], "TableStatus": "ACTIVE", "TableId": table.id}
        return {"Table": described | ({"LatestStreamLabel": table.stream} if table.stream else {})}

    def _get(self, table: Table, request: Request) -> dict[str, Any]:
        plan, _ = self._plan(request)
        item = table.items.get(table.key_of(request["Key"]))
        self._read(request, [] if item is None else [item])
        return {} if item is None else {"Item": _projected(item, plan)}

    def _scan(self, table: Table, request: Request) -> dict[str, Any]:
        plan, values = self._plan({**request, "ConditionExpression": request.get("FilterExpression")})
        after = _place(table.key_of(request["ExclusiveStartKey"])) if "ExclusiveStartKey" in request else (-1, "")
        if request.get("Limit", 1) < 1:
            raise invalid("Limit must be greater than or equal to 1")
        keys = [key for _, key in sorted(place for place in map(_place, table.items) if place > after)]
        sizes = accumulate(size_of(table.items[key]) for key in keys)
        page = min(1 + sum(size < PAGE for size in sizes), request.get("Limit", len(keys) + 1))
        more = {"LastEvaluatedKey": {table.key: {"S": keys[page - 1]}}} if page <= len(keys) else {}
        scanned = [table.items[key] for key in keys[:page]]
        self._read(request, scanned)
        found = [_projected(item, plan) for item in scanned if plan.test(item, values)]
        return {"Items": found, "Count": len(found), "ScannedCount": len(scanned), **more}

    def _write(self, region: str, operation: str, request: Request) -> dict[str, Any]:
        returned = request.get("ReturnValues", "NONE")
        if returned not in RETURNED.get(operation, ()):
            raise NotImplementedError(f"{operation} with ReturnValues {returned}")
        table, key, plan, outcome = self._prepared(region, operation.removesuffix("Item"), request)
        before, after = outcome()
        _store(table, key, after)
        updated = _projected(after or {}, plan)
        attributes = {"ALL_OLD": before, "ALL_NEW": after, "UPDATED_NEW": updated}.get(returned)
        return {"Attributes": attributes} if attributes else {}

    def _transact(self, region: str, request: Request) -> dict[str, Any]:
        items, token = request["TransactItems"], request.get("ClientRequestToken")
        if token in self._done:
            if self._done[token] == items:
                return {}
            raise ServiceError(400, "IdempotentParameterMismatchException", "another request had this token")
        parts = [part for item in items for part in item.items()]
        for kind, each in parts:
            _check(kind, each)
        writes = [self._prepared(region, kind, each, 2) for kind, each in parts]
        if not 1 <= len({(id(table), key) for table, key, *_ in writes}) == len(writes) <= MAX_WRITES:
            raise invalid("Transaction request cannot include multiple operations on one item, or more than 100")
        reasons, after = list[str](), list[Item | None]()
        for *_, outcome in writes:
            try:
                after.append(outcome()[1])
                reasons.append("None")
            except ServiceError as error:
                reasons.append("ValidationError" if error.code == "ValidationException" else "ConditionalCheckFailed")
        if len(after) < len(writes):
            message = "Transaction cancelled, please refer cancellation reasons for specific reasons"
            raise ServiceError(400, "TransactionCanceledException", f"{message} [{', '.join(reasons)}]", None, reasons)
        for (table, key, *_), item in zip(writes, after, strict=True):
            _store(table, key, item)
        if token:
            self._done[token] = items
        return {}

    def _prepared(self, region: str, kind: str, request: Request, times: int = 1) -> _Prepared:
        """Return a write's place and plan, and what carries it out. It takes so many times the units of a write."""
        table, name = self._table(region, request), request["TableName"]
        check = f" check of {name}" if kind == "ConditionCheck" else ""
        plan, values = self._plan(request, f"{self.label or f'{kind} {name}'}{check}: ")
        self.tests |= plan.tests
        put = {**request.get("Item", {})}
        for value in put.values():
            check_value(value)
        key = table.key_of({table.key: put.get(table.key, {})} if kind == "Put" else request["Key"])

        def outcome() -> tuple[Item | None, Item | None]:
            before = table.items.get(key)
            after = put or before or {table.key: {"S": key}}
            held = plan.test(before or {}, values)
            if held and kind == "Update":
                after = plan.change(after, values)
            if self.metered:
                self.writes += times * -(-max(size_of(before or {}), size_of(after)) // WRITE_UNIT)
            if not held:
                item = before if request.get("ReturnValuesOnConditionCheckFailure") == "ALL_OLD" else None
                raise ServiceError(400, "ConditionalCheckFailedException", "The conditional request failed", item)
            if size_of(after) > MAX_ITEM or "" in after:
                raise invalid("Item size has exceeded the maximum allowed size, or an attribute has no name")
            if kind == "Update" and table.key in plan.names:
                raise invalid(f"Cannot update attribute {table.key}. This attribute is part of the key")
            return before, None if kind == "Delete" or (kind == "ConditionCheck" and before is None) else after

        return table, key, plan, outcome

    def _plan(self, request: Request, label: str = "") -> tuple[Expressions, Item]:
        names, values = request.get("ExpressionAttributeNames", {}), request.get("ExpressionAttributeValues", {})
        texts = [request.get(f"{kind}Expression") for kind in ("Condition", "Update", "Projection")]
        plan = translated(*texts, tuple(names.items()), label, self.without)
        for value in values.values():
            check_value(value)
        if values.keys() != plan.places.keys():
            raise invalid(f"Expression attribute values unused or not defined: {values.keys() ^ plan.places.keys()}")
        if not all(allows(values[name]) for name, places in plan.places.items() for allows in places):
            raise invalid(f"Incorrect operand type for operator or function: {values}")
        return plan, values

    def _table(self, region: str, request: Request) -> Table:
        if (region, request["TableName"]) not in self.tables:
            raise ServiceError(400, "ResourceNotFoundException", f"{region} has no table {request['TableName']}")
        return self.tables[region, request["TableName"]]

    def _read(self, request: Request, items: Sequence[Item]) -> None:
        if self.metered:
            units = max(-(-sum(map(size_of, items)) // READ_UNIT), 1)
            self.reads += units if request.get("ConsistentRead") else units / 2


READS = {"GetItem": Database._get, "Scan": Database._scan, "DescribeTable": Database._describe}
"""What carries out the operations that write nothing."""


class Client(DynamoDB):
    """The client of one region, as the functions use it."""

    def __init__(self, database: Database, region: str) -> None:
        self.region, self._database = region, database

    def call(self, operation: str, request: Request | bytes) -> dict[str, Any]:
        """Call an operation, as `Database.call` does."""
        return self._database.call(self.region, operation, request)

    def close(self) -> None:
        """Do nothing: there are no connections."""


def _check(operation: str, request: Request) -> None:
    if not request.keys() <= PARAMETERS.get(operation, set()):
        raise NotImplementedError(f"{operation} with {', '.join(sorted(request))}")
    if request.get("ExpressionAttributeNames") == {} or request.get("ExpressionAttributeValues") == {}:
        raise invalid("ExpressionAttributeNames or ExpressionAttributeValues must not be empty")


def _projected(item: Item, plan: Expressions) -> Item:
    return {name: item[name] for name in plan.names if name in item} if plan.names else item


def _store(table: Table, key: str, item: Item | None) -> None:
    if item is None:
        table.items.pop(key, None)
    else:
        table.items[key] = item
