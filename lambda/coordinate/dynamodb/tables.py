"""The three kinds of tables: clients for every region, ids, and how their items are read and written."""

import json
import threading
import zlib
from collections.abc import Callable, Mapping, Sequence
from sys import intern
from typing import TYPE_CHECKING, Any, TypeVar, cast

import boto3
from botocore.config import Config

from integers.records import counter_of

from ..protocol.model import Refused
from .retries import Garbled, count, held

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

MAX_ITEM = 400 * 1024
"""Bytes of an item, with the names of its attributes (DynamoDB guide, "Constraints in DynamoDB")."""

T = TypeVar("T")

KEPT = 16
"""How many connections to a region are kept open. A function may have 1,024 files open (Lambda guide, "Lambda quotas"):
these, of 34 regions, and one for each thread (`threads.py`)."""

TRANSPORT = Config(
    connect_timeout=3,
    read_timeout=5,
    retries={"mode": "standard", "total_max_attempts": 3},
    max_pool_connections=KEPT,
    # What follows saves a quarter of a call's processor time. DynamoDB validates requests, too; and without a name of
    # its own, botocore puts the user agent together anew for every call.
    parameter_validation=False,
    user_agent="global-integers-coordinator",
)


class Clients:
    """A client for each region, made when it is first needed."""

    def __init__(self) -> None:
        self._clients: dict[str, DynamoDBClient] = {}
        self._creating = threading.Lock()

    def of(self, region: str) -> "DynamoDBClient":
        """Return the region's client."""
        with self._creating:  # threads may share boto3's clients, but must not create them at the same time
            if region not in self._clients:
                client = self._clients[region] = boto3.client("dynamodb", region_name=region, config=TRANSPORT)
                client.meta.events.register("before-parse.dynamodb", understood, unique_id="understood")
                client.meta.events.register("after-call-error.dynamodb", count, unique_id="count")
            return self._clients[region]


def understood(response_dict: dict[str, Any], customized_response_dict: dict[str, Any], **_: Any) -> None:
    """Look at a response before botocore does: it takes any 200 for an answer, which then says that there is no item.

    Items are in it as botocore gives them, so they don't go through its parser, which takes ten times as long. An error
    that isn't DynamoDB's own document loses its body, on which that parser fails.

    Raises:
        Garbled: it is an answer, but not JSON, or its checksum differs.
    """
    body: bytes = response_dict["body"]
    checksum: str | None = response_dict["headers"].get("x-amz-crc32")
    document = _object(body)
    if response_dict["status_code"] < 300:
        if document is None or (checksum and checksum != str(zlib.crc32(body))):
            raise Garbled(what=f"{len(body)} bytes that begin with {body[:40]!r}")
        if "Table" not in document:  # its times are converted
            customized_response_dict.update(document)
            response_dict["body"] = b"{}"
    elif document is None:
        response_dict["body"] = b""


def _object(body: bytes) -> dict[str, Any] | None:
    try:
        document: Any = json.loads(body)
    except ValueError:
        return None
    if isinstance(document, dict) and isinstance(cast("dict[str, Any]", document).get("__type", ""), str):
        return cast("dict[str, Any]", document)
    return None


class Shared:
    """One answer for all threads that ask at the same time.

    An answer serves only those who asked before the call began. So a table that is described this way was described
    after what its caller had read or written.
    """

    def __init__(self, call: Callable[[], Any]) -> None:
        self._call = call
        self._lock = threading.Lock()
        self._next: _Round | None = None
        self._running = threading.Lock()

    def ask(self) -> Any:
        """Return an answer to a call that began after this one."""
        with self._lock:
            mine = self._next = self._next or _Round()
        with self._running:
            if not mine.done:
                with self._lock:
                    self._next = None  # whoever comes from here on is too late for this call
                mine.answer(self._call)
        return mine.result()


class _Round:
    """A call that several threads wait for."""

    def __init__(self) -> None:
        self.done = False
        self._value: Any = None
        self._error: Exception | None = None

    def answer(self, call: Callable[[], Any]) -> None:
        try:
            self._value = call()
        except Exception as error:  # raised in every thread that waits
            self._error = error
        self.done = True

    def result(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._value


def described_id(client: "DynamoDBClient", table: str) -> str:
    """Return the `TableId` of a table, or when it was created if the server has no `TableId`."""
    found: Any = client.describe_table(TableName=table)["Table"]
    return str(found.get("TableId") or found["CreationDateTime"].timestamp())


def get(client: "DynamoDBClient", table: str, key: str) -> Mapping[str, Any] | None:
    """Return the item of this key, read consistently."""
    return client.get_item(TableName=table, Key={"counter": {"S": key}}, ConsistentRead=True).get("Item")


def scan(
    client: "DynamoDBClient", table: str, names: Sequence[str], decode: Callable[[Mapping[str, Any]], T]
) -> dict[str, T]:
    """Return what all counters' items encode, by counter, each read consistently.

    Args:
        client: the region's.
        table: its name.
        names: the attributes that are read. What an item keeps of the past isn't transferred.
        decode: makes something of them.
    """
    found: dict[str, T] = {}
    projection = {f"#{name}": name for name in names}
    pages = client.get_paginator("scan").paginate(
        TableName=table,
        ConsistentRead=True,
        ProjectionExpression=", ".join(projection),
        ExpressionAttributeNames=projection,
    )
    for page in pages:
        for item in page["Items"]:
            key = item.get("counter", {}).get("S")
            counter = counter_of(intern(key)) if isinstance(key, str) else None  # another table may have another key
            if counter is not None:
                found[counter] = decode(item)
    return found


def put(
    client: "DynamoDBClient",
    table: str,
    key: str,
    attributes: Mapping[str, Any],
    condition: str,
    values: Mapping[str, Any],
) -> bool:
    """Put an item if the condition holds, and return whether it did. `#counter` may stand for the key."""
    item = {**attributes, "counter": {"S": key}}
    check_size(item)
    request: dict[str, Any] = {"Item": item, "ConditionExpression": condition}
    if "#counter" in condition:
        request["ExpressionAttributeNames"] = {"#counter": "counter"}
    if values:
        request["ExpressionAttributeValues"] = values
    return held(lambda: client.put_item(TableName=table, **request))


def update(
    client: "DynamoDBClient", table: str, key: str, update: str, condition: str, values: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Update an item if the condition holds. Return it as it is then, or None if the condition didn't hold."""
    new: list[Any] = []
    request: dict[str, Any] = {"ExpressionAttributeValues": values} if values else {}
    done = held(
        lambda: new.append(
            client.update_item(
                TableName=table,
                Key={"counter": {"S": key}},
                UpdateExpression=update,
                ConditionExpression=condition,
                ReturnValues="ALL_NEW",
                **request,
            )
        )
    )
    return new[-1]["Attributes"] if done else None


def replacement(
    table: str, old: Mapping[str, Any] | None, new: Mapping[str, Any], not_compared: frozenset[str]
) -> dict[str, Any]:
    """Return the put that replaces `old` by `new`, on the condition that the stored item is still `old`.

    Every attribute of `old` must be unchanged, and one that only `new` has must not exist yet.

    Raises:
        Refused: it is larger than DynamoDB stores.
    """
    check_size(new)
    put: dict[str, Any] = {"TableName": table, "Item": new}
    if old is None:
        put["ConditionExpression"] = "attribute_not_exists(#counter)"
        put["ExpressionAttributeNames"] = {"#counter": "counter"}
        return put
    compared = {name: value for name, value in old.items() if name not in not_compared}
    added = [name for name in new if name not in old and name not in not_compared]
    tests = [f"#{name} = :{name}" for name in compared] + [f"attribute_not_exists(#{name})" for name in added]
    put["ConditionExpression"] = " AND ".join(tests)
    put["ExpressionAttributeNames"] = {f"#{name}": name for name in (*compared, *added)}
    put["ExpressionAttributeValues"] = {f":{name}": value for name, value in compared.items()}
    return put


def check_size(item: Mapping[str, Any]) -> None:
    """Check that DynamoDB stores an item of this size (DynamoDB guide, "Constraints": 400 KB).

    Raises:
        Refused: it doesn't.
    """
    size = size_of(item)
    if size > MAX_ITEM:
        key = item["counter"]["S"]
        raise Refused(f"{key}: this item would have {size:,} bytes, and DynamoDB stores {MAX_ITEM:,} at most.")


def size_of(attribute: Any) -> int:
    """Return how many bytes DynamoDB counts for an attribute, or for a map of attributes, at most.

    DynamoDB guide, "DynamoDB item sizes and formats": names and strings in UTF-8, at most 21 bytes for a number, one
    for each entry of a list or a map, and three for it.
    """
    match attribute:
        case {"S": str(text)}:
            return len(text.encode())
        case {"N": _}:
            return 21
        case {"L": entries}:
            return 3 + sum(1 + size_of(entry) for entry in entries)
        case {"BOOL": _} | {"NULL": _}:
            return 1
        case _:
            return 3 + sum(1 + len(name.encode()) + size_of(value) for name, value in attribute.items())
