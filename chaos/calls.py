"""Reads what a call to AWS asks for, and what was minted, from the bytes of the request and the answer."""

import json
import re
from collections.abc import Mapping
from typing import Any, NamedTuple

SCOPE = re.compile(rb"Credential=([^/\s]+)/[0-9]{8}/([a-z0-9-]+)/([a-z0-9-]+)/aws4_request")
"""The access key, region and service in the signature's credential scope (IAM guide, "Signature elements")."""

TARGET = re.compile(rb"^x-amz-target: *DynamoDB_[0-9]{8}\.([A-Za-z]+)", re.IGNORECASE | re.MULTILINE)
TABLE = re.compile(rb'"TableName" *: *"([A-Za-z0-9_.-]+)"')
KEY = re.compile(rb'"counter" *: *\{ *"S" *: *"([^"]+)"')
MINTS = re.compile(rb'"UpdateExpression" *: *"SET issued = issued \+')
COUNTERS = "-counters"
"""The end of a counters table's name."""


class Call(NamedTuple):
    """One call to a service in a region."""

    region: str
    service: str
    operation: str
    """The operation of DynamoDB; empty for another service."""
    table: str
    """The first table that it names, if any."""
    key: str
    """The first item that it names, if any."""
    mints: bool

    @property
    def to_dynamodb(self) -> bool:
        """Whether it goes to DynamoDB."""
        return self.service == "dynamodb"

    @property
    def writes(self) -> bool:
        """Whether it may change an item."""
        return self.operation in ("UpdateItem", "PutItem", "DeleteItem", "TransactWriteItems", "BatchWriteItem")

    @property
    def of_layouts(self) -> bool:
        """Whether it may be one of the coordinator's: whatever doesn't mint, and isn't about receipts."""
        return not self.mints and not self.table.endswith("-receipts")

    @property
    def coordinates(self) -> bool:
        """Whether it is one of the coordinator's writes to a counters table: every write that doesn't mint."""
        return self.to_dynamodb and self.writes and not self.mints and self.table.endswith(COUNTERS)


class Write(NamedTuple):
    """A write that minted: `count` integers from `first` on, `stride` apart, carried out between two moments."""

    region: str
    counter: str
    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    began: float
    ended: float

    def integers(self) -> range:
        """Return the integers."""
        return range(self.first, self.first + self.count * self.stride, self.stride)


def call_of(head: bytes, body: bytes) -> Call:
    """Return what a request's head and body ask for."""
    scope, target, table, key = SCOPE.search(head), TARGET.search(head), TABLE.search(body), KEY.search(body)
    return Call(
        region=scope[2].decode() if scope else "",
        service=scope[3].decode() if scope else "",
        operation=target[1].decode() if target else "",
        table=table[1].decode() if table else "",
        key=key[1].decode() if key else "",
        mints=MINTS.search(body) is not None,
    )


def write_of(call: Call, request: bytes, answer: bytes, began: float, ended: float) -> Write | None:
    """Return the write that minted, or None if the successful call is another one.

    The function and API Gateway mint by the same UpdateItem, which returns the item.
    """
    if call.operation != "UpdateItem" or not call.table.endswith(COUNTERS) or not call.mints:
        return None
    asked: Mapping[str, Any] = json.loads(request)
    item: Mapping[str, Any] = json.loads(answer)["Attributes"]
    issued, stride = int(item["issued"]["N"]), int(item["stride"]["N"])
    step = int(asked.get("ExpressionAttributeValues", {}).get(":step", {"N": stride})["N"])
    first = issued - step + stride
    return Write(call.region, item["counter"]["S"], first, stride, step // stride, began, ended)
