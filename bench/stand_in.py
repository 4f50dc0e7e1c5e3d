"""A stand-in for DynamoDB, in a process of its own: what the coordinator's store calls, over HTTP, after a delay.

It takes every condition as true: a single coordinator that is measured meets no other one. It knows the operations and
updates that `coordinate/dynamodb/` uses, and rejects all others. One server answers for all regions: the region of a
call is in its signature, which is not checked. It counts calls and read units, and notes the largest items.
"""

import asyncio
import json
import re
import ssl
import zlib
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from multiprocessing import get_context
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple, Protocol, cast

PAGE = 2**20
"""Bytes of items, as they are stored, after which a page of a scan ends (DynamoDB guide, "Scan")."""

READ_UNIT = 4096
"""Bytes of a consistent read unit (DynamoDB guide, "Read consistency")."""

KEY = "counter"

HEAD = re.compile(
    rb"^(?:x-amz-target: *\w+\.(\w+)|content-length: *(\d+)|authorization: .*?/\d{8}/([^/]+)/.*)\r?$", re.M | re.I
)

ASSIGNMENT = re.compile(r"(\w+) = (?:(:\w+)|(\w+)(?: \+ (:\w+))?)")

UPDATE = re.compile(r"SET (.+?)(?: REMOVE (.+))?")

Attributes = Mapping[str, Any]


class Rejected(Exception):
    """An error response: its code, its message, and what else its document has."""

    def __init__(self, code: str, message: str, **more: Any) -> None:
        super().__init__(message)
        self.document = {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": message, **more}
        self.code = code


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
class Counts:
    """What was done since the last look."""

    calls: Counter[str] = field(default_factory=Counter[str])
    reads: int = 0
    """Read units."""
    largest: dict[str, int] = field(default_factory=dict[str, int])
    """Table → bytes of the largest item that was written."""
    seconds: float = 0.0
    """Of processor time."""


class Tables:
    """The tables of all regions, and what was done with them."""

    def __init__(self) -> None:
        self.tables: dict[tuple[str, str], StoredTable] = {}
        self.counts = Counts()

    def answer(self, region: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        """Carry out one call.

        Raises:
            Rejected: there is no such table or item, or the call isn't one that the store makes.
        """
        self.counts.calls[operation] += 1
        match operation:
            case "GetItem":
                return self._get(region, request)
            case "PutItem" | "UpdateItem" | "DeleteItem":
                return self._write(region, operation, request)
            case "TransactWriteItems":
                for part in request["TransactItems"]:
                    if "Put" in part:  # else it is a check of a condition
                        self._write(region, "PutItem", part["Put"])
                return {}
            case "Scan":
                return self._scan(region, request)
            case "DescribeTable":
                return {"Table": {"TableId": self._table(region, request).id, "TableStatus": "ACTIVE"}}
            case _:
                raise Rejected("UnknownOperationException", operation)

    def _table(self, region: str, request: Mapping[str, Any]) -> StoredTable:
        table = self.tables.get((region, request["TableName"]))
        if table is None:
            raise Rejected("ResourceNotFoundException", f"{region} has no table {request['TableName']}")
        return table

    def _get(self, region: str, request: Mapping[str, Any]) -> dict[str, Any]:
        key = request["Key"][KEY]["S"]
        stored = self._table(region, request).items.get(key)
        self.counts.reads += max(1, -(-_full(key, stored) // READ_UNIT))
        return {} if stored is None else {"Item": {KEY: {"S": key}, **stored.attributes}}

    def _scan(self, region: str, request: Mapping[str, Any]) -> dict[str, Any]:
        table, wanted = self._table(region, request), list(request["ExpressionAttributeNames"].values())
        keys = list(table.items)
        start = keys.index(request["ExclusiveStartKey"][KEY]["S"]) + 1 if "ExclusiveStartKey" in request else 0
        found: list[dict[str, Any]] = []
        size, key = 0, ""
        for key in keys[start:]:
            stored = table.items[key]
            size += _full(key, stored)
            attributes = stored.attributes
            item = {name: attributes[name] for name in wanted if name in attributes}
            found.append({KEY: {"S": key}, **item} if KEY in wanted else item)
            if size >= PAGE:
                break
        self.counts.reads += max(1, -(-size // READ_UNIT))
        page: dict[str, Any] = {"Items": found, "Count": len(found), "ScannedCount": len(found)}
        if size >= PAGE:
            page["LastEvaluatedKey"] = {KEY: {"S": key}}
        return page

    def _write(self, region: str, operation: str, request: Mapping[str, Any]) -> dict[str, Any]:
        table, name = self._table(region, request), request["TableName"]
        key = (request["Item"] if operation == "PutItem" else request["Key"])[KEY]["S"]
        if operation == "DeleteItem":
            table.items.pop(key, None)
            return {}
        if operation == "PutItem":
            new = {name: value for name, value in request["Item"].items() if name != KEY}
        elif key in table.items:
            values = request.get("ExpressionAttributeValues", {})
            new = updated(request["UpdateExpression"], values, table.items[key].attributes)
        else:
            raise Rejected("ValidationException", f"an update of {key}, which doesn't exist")
        table.items[key] = Stored(new, size_of(new))
        self.counts.largest[name] = max(self.counts.largest.get(name, 0), _full(key, table.items[key]))
        return {"Attributes": {KEY: {"S": key}, **new}} if operation == "UpdateItem" else {}


def updated(expression: str, values: Mapping[str, Any], before: Attributes) -> dict[str, Any]:
    """Return an item's attributes after an update. Every value is read before any is set.

    Raises:
        Rejected: the expression has another form than `SET a = :a, b = c, d = e + :f REMOVE g, h`.
    """
    assignments, removed = _changes(expression)
    new = dict(before)
    for name, value, source, addend in assignments:
        if value:
            new[name] = values[value]
        elif addend:
            new[name] = {"N": str(int(before[source]["N"]) + int(values[addend]["N"]))}
        else:
            new[name] = before[source]
    for name in removed:
        new.pop(name, None)
    return new


@lru_cache(maxsize=256)
def _changes(expression: str) -> tuple[list[tuple[str, str, str, str]], list[str]]:
    parts = UPDATE.fullmatch(expression)
    found = [ASSIGNMENT.fullmatch(part) for part in parts[1].split(", ")] if parts else [None]
    assignments = [cast("tuple[str, str, str, str]", one.groups("")) for one in found if one is not None]
    removed = parts[2].split(", ") if parts and parts[2] else []
    if len(assignments) != len(found) or not all(re.fullmatch(r"\w+", name) for name in removed):
        raise Rejected("ValidationException", f"an update that the stand-in doesn't know: {expression}")
    return assignments, removed


def _full(key: str, stored: Stored | None) -> int:
    return 0 if stored is None else len(KEY) + len(key) + stored.size


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


class Answering(Protocol):
    """Whatever answers calls."""

    def answer(self, region: str, operation: str, request: Mapping[str, Any], /) -> dict[str, Any]:
        """Carry out one call.

        Raises:
            Rejected: the response is an error.
        """
        ...


class _Http(asyncio.Protocol):
    """One connection. Its requests come one after the other."""

    def __init__(self, tables: Answering, delay: Callable[[str], float]) -> None:
        self._tables = tables
        self._delay = delay
        self._received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def data_received(self, data: bytes) -> None:
        self._received += data
        end = self._received.find(b"\r\n\r\n")
        if end < 0:
            return
        operation, length, region = "", 0, ""
        for name, size, scope in HEAD.findall(self._received, 0, end):
            operation, length, region = name.decode() or operation, int(size or length), scope.decode() or region
        if len(self._received) < end + 4 + length:
            return
        body, self._received = self._received[end + 4 : end + 4 + length], self._received[end + 4 + length :]
        try:
            status, document = 200, self._tables.answer(region, operation, json.loads(body))
        except Rejected as rejected:
            status, document = 400, rejected.document
        text = json.dumps(document).encode()
        head = (
            f"HTTP/1.1 {status} X\r\nContent-Type: application/x-amz-json-1.0\r\nContent-Length: {len(text)}\r\n"
            f"x-amz-crc32: {zlib.crc32(text)}\r\n\r\n"
        )
        asyncio.get_running_loop().call_later(self._delay(region), self._transport.write, head.encode() + text)


def serve(
    connection: Connection, tables: Answering, delay: Callable[[str], float], certificate: Path | None = None
) -> None:
    """Serve on 127.0.0.1 until the other end of the connection is closed.

    It sends the port, and then carries out each callable that it is sent on the tables, and sends what that returns.

    Args:
        connection: to whoever began it.
        tables: what it has.
        delay: how long each answer takes in a region, in seconds.
        certificate: a file of a key and its certificates, for TLS.
    """
    asyncio.run(_serve(connection, tables, delay, certificate))


async def _serve(
    connection: Connection, tables: Answering, delay: Callable[[str], float], certificate: Path | None
) -> None:
    loop = asyncio.get_running_loop()
    over = asyncio.Event()

    def asked() -> None:
        try:
            connection.send(connection.recv()(tables))
        except EOFError:
            loop.remove_reader(connection.fileno())
            over.set()

    context = None
    if certificate is not None:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate)
    server = await loop.create_server(lambda: _Http(tables, delay), "127.0.0.1", 0, ssl=context, backlog=1024)
    connection.send(server.sockets[0].getsockname()[1])
    loop.add_reader(connection.fileno(), asked)
    await over.wait()
    server.close()


@contextmanager
def process(target: Callable[..., None], *arguments: Any) -> Generator[Any]:
    """Run `target` with a connection and these arguments in a process of its own. Yield the connection's other end."""
    spawn = get_context("spawn")  # a process of its own memory
    ours, theirs = spawn.Pipe()
    started = spawn.Process(target=target, args=(theirs, *arguments), daemon=True)
    started.start()
    theirs.close()
    try:
        yield ours
    finally:
        ours.close()
        started.join()
