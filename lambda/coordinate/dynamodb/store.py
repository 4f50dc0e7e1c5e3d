"""The protocol's operations on DynamoDB. Each is one call to one region; only a scan is several."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from secrets import token_hex
from sys import intern
from typing import Any, TypeVar

from aws_client.service import DynamoDB

from global_integers_core.lattice import Layout
from global_integers_core.names import CHECK_COUNTER, COUNTER_NAME, DELETED
from global_integers_core.records import (
    ADMITTED_KEY,
    HOME_KEY,
    RECORD_KEY,
    counter_of,
    history_text,
    issued_in,
    layouts_key,
    recorded_of,
)

from ..protocol import operations as op
from ..protocol.model import MAX_PAST, Absent, Admitted, Claim, Copy, ItemState
from ..protocol.refusals import unreadable
from . import encoding
from .calls import Clients, Reachability, Shared, held, retried
from .encoding import Attributes
from .run_lock import RunLock

PAGE = 1000
"""Items of one response to a scan. DynamoDB's 1 MB hold ten times as many, and all regions' responses are parsed at the
same time, which would take more than half of the memory."""

TRUE = {"BOOL": True}

T = TypeVar("T")


class Store:
    """The layouts table and its mirror in the region `home`, and every region's tables, by their names.

    One is made for each run: it remembers which regions haven't answered, and asks them no more. `patience` is for how
    many seconds the home region is tried again, by default `RETRY_SECONDS`. `client_of` returns a region's client.
    """

    def __init__(
        self,
        home: str,
        layouts: str,
        mirror: str,
        counters: str,
        receipts: str,
        *,
        patience: float | None = None,
        client_of: Callable[[str], DynamoDB] | None = None,
    ) -> None:
        self.home = home
        self._patience = patience
        self._layouts = layouts
        self._mirror = mirror
        self._counters = counters
        self._receipts = receipts
        self._client_of = client_of or Clients().of
        self._regions = Reachability()
        self._described: dict[tuple[str, str], Shared] = {}

    def carry_out(self, operation: op.Operation) -> Any:
        """Carry out one operation and answer as `protocol/operations.py` says, or raise `Refused`."""
        region: str | None = getattr(operation, "region", None)
        counter: str | None = getattr(operation, "counter", None)
        if region is None:
            client = self._client_of(self.home)
            return retried(self.home, lambda: self._at_home(operation, client), self._patience)
        return self._regions.retried(
            region,
            lambda: self._in_region(operation, region),
            counter,
            patient=getattr(operation, "patient", False),
            dispensable=isinstance(operation, op.OnRecord),
        )

    def run_lock(self, holder: str) -> RunLock:
        """Return the run lock, which keeps two scheduled runs apart."""
        return RunLock(self._client_of(self.home), self._layouts, holder)

    def _at_home(self, operation: op.Operation, client: DynamoDB) -> Any:
        match operation:
            case op.DescribeLayouts():
                return self._id(client.region, self._layouts)
            case op.DescribeStream():
                return client.call("DescribeTable", {"TableName": self._layouts})["Table"].get("LatestStreamLabel", "")
            case op.DescribeMirror():
                return self._id(client.region, self._mirror)
            case op.ReadRecord():
                return self._record(client, self._layouts, encoding.record_of)
            case op.ReadAdmitted():
                return read(client, self._layouts, ADMITTED_KEY, encoding.admitted_of)
            case op.WriteRecord(old, new, admitted):
                no_claim = {"ConditionExpression": "attribute_not_exists(home)"}  # what is there can't be read
                same = no_claim if isinstance(admitted, Absent) else _unchanged(admitted)
                beside = {"TableName": self._layouts, "Item": encoding.attributes_of(new.admitted), **same}
                return _together(client, {"Put": replacement(self._layouts, old, new)}, {"Put": beside})
            case op.ReadRecordCopy():
                return self._record(client, self._mirror, encoding.copy_of(encoding.record_of))
            case op.WriteRecordCopy(old, new, admitted):
                check = _check(self._layouts, ADMITTED_KEY, admitted)
                return _together(client, check, {"Put": replacement(self._mirror, old, new)})
            case op.WriteClaim(old, new, copy, taken):
                marked = [] if taken is None else [{"Put": replacement(self._mirror, copy, taken)}]
                return _together(client, {"Put": replacement(self._layouts, old, new)}, *marked)
            case op.WriteCopy(old, new):
                return held(lambda: client.call("PutItem", replacement(self._mirror, old, new)))
            case op.ReadRegister(counter):
                return read(client, self._layouts, counter, encoding.register_of)
            case op.WriteRegister(old, new, admitted, copy):
                checks = [_check(self._layouts, ADMITTED_KEY, admitted)]
                checks += [] if copy == "any" else [_check(self._mirror, RECORD_KEY, copy)]
                return _together(client, *checks, {"Put": replacement(self._layouts, old, new)})
            case op.ReadCopy(counter):
                return read(client, self._mirror, counter, encoding.copy_of(encoding.register_of))
            case op.ScanRegisters():
                return scan(client, self._layouts, encoding.REGISTER_NAMES, encoding.register_of)
            case op.ScanCopies():
                names = (*encoding.REGISTER_NAMES, "mirrorId")
                return scan(client, self._mirror, names, encoding.copy_of(encoding.register_of))
            case _:
                raise TypeError(f"{operation} is not one of the home region")

    def _record(self, client: DynamoDB, table: str, decode: Callable[[Mapping[str, Any]], Any]) -> Any:
        found = read(client, table, RECORD_KEY, decode)
        if found is Absent.STRAY:
            raise unreadable(client.region, table)
        return found

    def _in_region(self, operation: op.Operation, region: str) -> Any:
        client, table = self._client_of(region), self._counters
        match operation:
            case op.AtHome(_, there):
                return self._at_home(there, client)
            case op.RecordHome(_, term):
                key, values = {"receipt": {"S": HOME_KEY}}, {":home": {"S": self.home}, ":term": {"N": str(term)}}
                condition = "attribute_not_exists(term) OR term < :term OR term = :term AND home = :home"
                return bool(update(client, self._receipts, key, "SET home = :home, term = :term", condition, values))
            case op.ReadHome():
                return read(client, self._receipts, HOME_KEY, encoding.admitted_of, "receipt")
            case op.DescribeTable():
                return self._id(region, table)
            case op.ScanItems():
                return scan(client, table, encoding.ITEM_NAMES, encoding.item_of)
            case op.ReadItem(_, counter):
                return read(client, table, counter, encoding.item_of)
            case op.RecordLayouts(_, counter, layouts, past):
                return record(client, self._receipts, {"receipt": {"S": layouts_key(counter)}}, layouts, past)
            case op.ReadRecorded(_, counter):
                key = layouts_key(counter)
                return read(client, self._receipts, key, lambda found: recorded_of(found).layouts, "receipt")
            case op.HoldItem() | op.OpenItem() | op.RaiseItem() | op.FenceItem():
                key, fences = {"counter": {"S": operation.counter}}, isinstance(operation, op.FenceItem)
                new = update(client, table, key, *_change(operation), "ALL_NEW")
                return int(new["ceiling"]["N"]) if new and fences else bool(new)
            case _:
                raise TypeError(f"{operation} is not one of a region")

    def _id(self, region: str, table: str) -> str:
        shared = self._described.get((region, table))
        if shared is None:
            client = self._client_of(region)
            shared = self._described.setdefault((region, table), Shared(lambda: described_id(client, table)))
        return shared.ask()


def _change(operation: op.ItemUpdate) -> tuple[str, str, dict[str, Any]]:
    """Return the update of an item, its condition, and their values.

    DynamoDB reads every value before it sets any, so `issued` is still that of the past epoch.
    """
    match operation:
        case op.HoldItem(_, _, state, over):
            values = {":true": TRUE, ":epoch": {"N": str(state.epoch)}, ":held": {"S": state.held}}
            sets = "SET epoch = :epoch, fenced = :true, held = :held"
            if over is None:
                values |= {":zero": {"N": "0"}, ":one": {"N": "1"}}
                put = f"{sets}, issued = :zero, stride = :one, ceiling = :zero"
                return put, "attribute_not_exists(#counter)", values
            same, compared = _compared(over)
            past = [] if over.held else PAST
            return ", ".join([sets, "ceiling = issued", *past]), same, {**values, **compared}
        case op.OpenItem(_, _, item, over):
            same, values = _compared(over)
            new = {f":{name}": value for name, value in encoding.item_values(item).items()}
            past = PAST if over.held in ("", DELETED) else []
            sets = [*(f"#{name[1:]} = {name}" for name in new), *past]
            return f"SET {', '.join(sets)} REMOVE fenced, held", same, {**new, **values}
        case op.RaiseItem(_, _, epoch, ceiling, low):
            numbers = {":ceiling": ceiling, ":low": low, ":epoch": epoch}
            return (
                "SET ceiling = :ceiling, low = :low",
                "epoch = :epoch AND attribute_not_exists(fenced) AND ceiling < :ceiling",
                {name: {"N": str(number)} for name, number in numbers.items()},
            )
        case op.FenceItem(_, _, over, epoch, by, most):
            same, values = _compared(over)
            sets = ["fenced = :true", "epoch = :epoch"]
            values |= {":true": TRUE, ":epoch": {"N": str(epoch)}}
            if by == 0:
                past = PAST if over.epoch < epoch and not over.held else []
                return f"SET {', '.join(['ceiling = issued', *sets, *past])} REMOVE held", same, values
            if by is None:
                return f"SET {', '.join(sets)} REMOVE held", same, values
            return (
                f"SET {', '.join(['ceiling = issued + :by', *sets])}",
                f"{same} AND attribute_not_exists(fenced) AND issued <= :most",
                {**values, ":by": {"N": str(by)}, ":most": {"N": str(most)}},
            )


PAST = ["pastEpoch = :over", "pastIssued = issued"]
"""What an item keeps of the epoch that ends."""


def _compared(over: ItemState) -> tuple[str, Attributes]:
    """Return the condition that an item is in this state, and its values."""
    if not over.held:
        return "epoch = :over AND attribute_not_exists(held)", {":over": {"N": str(over.epoch)}}
    return "epoch = :over AND held = :holder", {":over": {"N": str(over.epoch)}, ":holder": {"S": over.held}}


def forgotten(over: int, epoch: int) -> range:
    """Return the epochs whose last integer is dropped when a record of `epoch` gets that of `over`, which is kept.

    An expression may not name an attribute twice (DynamoDB guide, "Update expressions").
    """
    return range(max(1, over - MAX_PAST), min(over, epoch - MAX_PAST))


def _together(client: DynamoDB, *parts: Any) -> bool:
    # By the token, DynamoDB knows an attempt whose answer was lost, and answers as it did then.
    request = {"TransactItems": parts, "ClientRequestToken": token_hex(16)}
    return held(lambda: client.call("TransactWriteItems", request))


def described_id(client: DynamoDB, table: str) -> str:
    """Return the `TableId` of a table, or when it was created if the server has no `TableId`."""
    found: Any = client.call("DescribeTable", {"TableName": table})["Table"]
    return str(found.get("TableId") or found["CreationDateTime"])


def read(
    client: DynamoDB, table: str, key: str, decode: Callable[[Mapping[str, Any]], T], attribute: str = "counter"
) -> T | Absent | None:
    """Return what the item of this key encodes, read consistently; None if there is none. `attribute` is the key's."""
    request = {"TableName": table, "Key": {attribute: {"S": key}}, "ConsistentRead": True}
    item = client.call("GetItem", request).get("Item")
    return None if item is None else encoding.decoded(decode, item)


def scan(
    client: DynamoDB, table: str, names: Sequence[str], decode: Callable[[Mapping[str, Any]], T]
) -> dict[str, T | Absent]:
    """Return what all counters' items encode, by counter. Only the attributes `names` are transferred."""
    found: dict[str, T | Absent] = {}
    projection = {f"#{name}": name for name in names}
    request: dict[str, Any] = {
        "TableName": table,
        "ConsistentRead": True,
        "ProjectionExpression": ", ".join(projection),
        "ExpressionAttributeNames": projection,
        "Limit": PAGE,
    }
    while True:
        page = client.call("Scan", request)
        for item in page["Items"]:
            key = item.get("counter", {}).get("S")
            counter = counter_of(intern(key)) if isinstance(key, str) else None  # another table may have another key
            if counter is not None:
                named = counter == CHECK_COUNTER or COUNTER_NAME.fullmatch(counter)
                found[counter] = encoding.decoded(decode, item) if named else Absent.STRAY
        if not page.get("LastEvaluatedKey"):
            return found
        request["ExclusiveStartKey"] = page["LastEvaluatedKey"]


def record(client: DynamoDB, table: str, key: Any, layouts: tuple[Layout, ...], past: tuple[int, int] | None) -> bool:
    """Record layouts unless the record has some of this epoch or a later one. Return whether it was written.

    What else the item has stays, but what was issued too long ago.
    """
    epoch = layouts[-1].epoch
    values: Attributes = {":epoch": {"N": str(epoch)}, ":history": {"S": history_text(layouts)}}
    change, removed = "SET epoch = :epoch, history = :history", ""
    if past is not None:
        over, last = past
        dropped = [*forgotten(over, epoch)]
        if over < epoch - MAX_PAST:
            dropped.append(over)
        else:
            values[":issued"] = {"N": str(last)}
            change += f", {issued_in(over)} = :issued"
        removed = ", ".join(map(issued_in, dropped))
    change = f"{change} REMOVE {removed}" if removed else change
    return bool(update(client, table, key, change, "attribute_not_exists(epoch) OR epoch < :epoch", values))


def update(
    client: DynamoDB, table: str, key: Any, change: str, condition: str, values: Attributes, returned: str = "NONE"
) -> Any:
    """Update the item of this key if the condition holds. Return what was asked for, or whether it held."""
    request: Any = {
        "TableName": table,
        "Key": key,
        "UpdateExpression": change,
        "ConditionExpression": condition,
        "ExpressionAttributeValues": values,
        "ReturnValues": returned,
    }
    if names := {name: name[1:] for name in re.findall(r"#\w+", f"{change} {condition}")}:
        request["ExpressionAttributeNames"] = names
    answers: list[Any] = []
    return held(lambda: answers.append(client.call("UpdateItem", request))) and answers[-1].get("Attributes", True)


def replacement(table: str, old: Any, new: Any) -> dict[str, Any]:
    """Return the put that replaces what is stored by `new`, on the condition that it is still `old`.

    Every attribute must be unchanged, and one that only the new item has must not exist yet.
    """
    item = encoding.attributes_of(new)
    return {"TableName": table, "Item": item, **_unchanged(old, item)}


def _check(table: str, key: str, old: Admitted | Claim | Copy[Admitted] | None) -> dict[str, Any]:
    """Return the part of a transaction that fails unless what has this key is still `old`."""
    return {"ConditionCheck": {"TableName": table, "Key": {"counter": {"S": key}}, **_unchanged(old)}}


def _unchanged(old: Any, new: Iterable[str] = ()) -> dict[str, Any]:
    if old is None:
        condition = "attribute_not_exists(#counter)"
        return {"ConditionExpression": condition, "ExpressionAttributeNames": {"#counter": "counter"}}
    compared = encoding.attributes_of(old)
    added = [name for name in new if name not in compared and name != "counter"]
    compared.pop("counter", None)
    tests = [f"#{name} = :{name}" for name in compared] + [f"attribute_not_exists(#{name})" for name in added]
    return {
        "ConditionExpression": " AND ".join(tests),
        "ExpressionAttributeNames": {f"#{name}": name for name in (*compared, *added)},
        "ExpressionAttributeValues": {f":{name}": value for name, value in compared.items()},
    }
