"""The protocol's operations on DynamoDB. Each is one call to one region."""

from collections.abc import Mapping
from threading import Lock
from typing import TYPE_CHECKING, Any

import boto3
from botocore.config import Config

from integers.records import STANDING_KEY, issued_in, layouts_attribute, layouts_key, regions_attribute, regions_of

from .encoding import item_of, item_values, register_attributes, register_of
from .model import MAX_PAST, Register
from .operations import (
    CreateRegister,
    FenceItem,
    OpenItem,
    Operation,
    PlaceItem,
    ReadItem,
    ReadRegister,
    ReadStanding,
    RecordLayouts,
    RenewItem,
    ReplaceRegister,
)
from .retries import held, retried

if TYPE_CHECKING:
    from types_boto3_dynamodb import DynamoDBClient

TRANSPORT = Config(
    connect_timeout=3, read_timeout=5, retries={"mode": "standard", "total_max_attempts": 5}, max_pool_connections=64
)


class Store:
    """The layouts table in the region `home`, and the counters table of every region, by their names."""

    def __init__(self, home: str, layouts: str, counters: str) -> None:
        self.home = home
        self._layouts = layouts
        self._counters = counters
        self._clients: dict[str, DynamoDBClient] = {}
        self._creating = Lock()

    def carry_out(self, operation: Operation) -> Any:
        """Carry out one operation and answer as `operations.py` says.

        Raises:
            Refused: the region can't be reached, or DynamoDB refused the call.
        """
        region = getattr(operation, "region", self.home)
        return retried(region, lambda: self._call(operation, self._client(region)))

    def registered(self) -> list[Register]:
        """Return all registers, read consistently.

        Raises:
            Refused: as `carry_out`.
        """
        return retried(self.home, lambda: self._scan(self._client(self.home)))

    def _scan(self, client: "DynamoDBClient") -> list[Register]:
        pages = client.get_paginator("scan").paginate(TableName=self._layouts, ConsistentRead=True)
        items = [item for page in pages for item in page["Items"]]
        return [register_of(item) for item in items if item["counter"].get("S") != STANDING_KEY]

    def stand(self, regions: tuple[str, ...]) -> None:
        """Record the regions that a deployment asks for. Counters that are created from now on get them.

        Raises:
            Refused: as `carry_out`.
        """
        item = {"counter": {"S": STANDING_KEY}, "regions": regions_attribute(regions)}
        retried(self.home, lambda: self._client(self.home).put_item(TableName=self._layouts, Item=item))

    def _call(self, operation: Operation, client: "DynamoDBClient") -> Any:
        match operation:
            case ReadStanding():
                record = _get(client, self._layouts, STANDING_KEY)
                return regions_of(record["regions"]) if record else None
            case ReadRegister(counter):
                record = _get(client, self._layouts, counter)
                return register_of(record) if record else None
            case CreateRegister(register):
                return self._create(client, register)
            case ReplaceRegister(old, new, standing):
                return self._replace(client, old, new, standing)
            case ReadItem(_, counter):
                try:
                    record = _get(client, self._counters, counter)
                except client.exceptions.ResourceNotFoundException:
                    return None
                return item_of(record) if record else None
            case RenewItem(_, counter, item, over):
                values = {f":{name}": value for name, value in item_values(item).items()}
                removed = ["fenced", *(issued_in(epoch) for epoch in forgotten(over, item.epoch))]
                return self._update(
                    client,
                    counter,
                    # DynamoDB reads every value before it sets any, so `issued` is still that of the past epoch.
                    f"SET {', '.join(f'{name[1:]} = {name}' for name in values)}, {issued_in(over)} = issued "
                    f"REMOVE {', '.join(removed)}",
                    "epoch = :over AND attribute_not_exists(opening)",
                    {**values, ":over": {"N": str(over)}},
                )
            case RecordLayouts(_, counter, layouts):
                epoch = {"N": str(layouts[-1].epoch)}
                return self._put(
                    client,
                    layouts_key(counter),
                    {"epoch": epoch, "layouts": layouts_attribute(layouts)},
                    "attribute_not_exists(epoch) OR epoch < :epoch",
                    {":epoch": epoch},
                )
            case PlaceItem(_, counter, item, instead_of):
                condition, values = "attribute_not_exists(#counter)", {}
                if instead_of is not None:
                    condition, values = "opening = :instead_of", {":instead_of": {"S": instead_of}}
                return self._put(client, counter, item_values(item), condition, values)
            case OpenItem(_, counter, token, ceiling):
                return self._update(
                    client,
                    counter,
                    "SET ceiling = :ceiling REMOVE opening, fenced",
                    "opening = :token",
                    {":ceiling": {"N": str(ceiling)}, ":token": {"S": token}},
                )
            case FenceItem(_, counter, epoch, ceiling):
                return self._update(
                    client,
                    counter,
                    "SET ceiling = :ceiling, fenced = :true",
                    "epoch = :epoch AND attribute_not_exists(fenced) AND issued <= :ceiling",
                    {":ceiling": {"N": str(ceiling)}, ":epoch": {"N": str(epoch)}, ":true": {"BOOL": True}},
                )

    def _client(self, region: str) -> "DynamoDBClient":
        with self._creating:  # threads may share boto3's clients, but must not create them at the same time
            if region not in self._clients:
                self._clients[region] = boto3.client("dynamodb", region_name=region, config=TRANSPORT)
            return self._clients[region]

    def _create(self, client: "DynamoDBClient", register: Register) -> bool:
        put = {
            "TableName": self._layouts,
            "Item": register_attributes(register),
            "ConditionExpression": "attribute_not_exists(#counter)",
            "ExpressionAttributeNames": {"#counter": "counter"},
        }
        return self._put_while_standing(client, put, register.regions)

    def _replace(
        self, client: "DynamoDBClient", old: Register, new: Register, standing: tuple[str, ...] | None
    ) -> bool:
        # `past` isn't compared: `born` and `epoch` determine it.
        before = {key: value for key, value in register_attributes(old).items() if key not in ("counter", "past")}
        tests = [f"#{key} = :{key}" for key in before] + ([] if "next" in before else ["attribute_not_exists(#next)"])
        put: dict[str, Any] = {
            "TableName": self._layouts,
            "Item": register_attributes(new),
            "ConditionExpression": " AND ".join(tests),
            "ExpressionAttributeNames": {f"#{key}": key for key in {*before, "next"}},
            "ExpressionAttributeValues": {f":{key}": value for key, value in before.items()},
        }
        if standing is None:
            return held(lambda: client.put_item(**put))
        return self._put_while_standing(client, put, standing)

    def _put_while_standing(self, client: "DynamoDBClient", put: dict[str, Any], standing: tuple[str, ...]) -> bool:
        check = {
            "TableName": self._layouts,
            "Key": {"counter": {"S": STANDING_KEY}},
            "ConditionExpression": "regions = :regions",
            "ExpressionAttributeValues": {":regions": regions_attribute(standing)},
        }
        both: Any = [{"ConditionCheck": check}, {"Put": put}]
        return held(lambda: client.transact_write_items(TransactItems=both))

    def _put(
        self, client: "DynamoDBClient", counter: str, item: Mapping[str, Any], condition: str, values: Mapping[str, Any]
    ) -> bool:
        request: dict[str, Any] = {"Item": {"counter": {"S": counter}, **item}, "ConditionExpression": condition}
        if "#counter" in condition:
            request["ExpressionAttributeNames"] = {"#counter": "counter"}
        if values:
            request["ExpressionAttributeValues"] = values
        return held(lambda: client.put_item(TableName=self._counters, **request))

    def _update(
        self, client: "DynamoDBClient", counter: str, update: str, condition: str, values: Mapping[str, Any]
    ) -> bool:
        return held(
            lambda: client.update_item(
                TableName=self._counters,
                Key={"counter": {"S": counter}},
                UpdateExpression=update,
                ConditionExpression=condition,
                ExpressionAttributeValues=values,
            )
        )


def forgotten(over: int, epoch: int) -> range:
    """Return the epochs whose last integer is dropped when `epoch` follows `over`. `over` itself is kept.

    An expression may not name an attribute twice (DynamoDB guide, "Update expressions").
    """
    return range(max(1, over - MAX_PAST), min(over, epoch - MAX_PAST))


def _get(client: "DynamoDBClient", table: str, key: str) -> Mapping[str, Any] | None:
    return client.get_item(TableName=table, Key={"counter": {"S": key}}, ConsistentRead=True).get("Item")
