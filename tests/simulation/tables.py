"""The world's methods on the tables of a local DynamoDB, by the store and the minting function's table."""

from typing import Any

from aws.dynamodb import DynamoDB
from coordinate.operations import Operation
from coordinate.store import Store
from mint.table import CeilingReached, CounterTable, Unavailable, UnknownCounter

from tests.lambda_.fixtures import Stack
from tests.lambda_.laying_out import HOME, make_table
from tests.simulation.operations import COUNTER, REGIONS

Records = dict[str, dict[str, Any] | None]
"""By table, every record as DynamoDB has it, by its key. None: there is no table."""


class Tables:
    """One counter on DynamoDB."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._store = Store(HOME, stack.layouts, stack.counters)
        self._minting = {region: CounterTable(stack.counters, DynamoDB(region)) for region in REGIONS}

    def carry_out(self, operation: Operation) -> Any:
        return self._store.carry_out(operation)

    def stand(self, regions: tuple[str, ...]) -> None:
        self._store.stand(regions)

    def mint(self, region: str) -> int | None:
        try:
            return self._minting[region].mint(COUNTER).first
        except (UnknownCounter, CeilingReached, Unavailable):
            return None

    def make_table(self, region: str) -> None:
        if self._records(region, self._stack.counters) is None:
            make_table(self._stack.aws, region, self._stack.counters)

    def delete_table(self, region: str) -> None:
        if self._records(region, self._stack.counters) is not None:
            self._client(region).delete_table(TableName=self._stack.counters)

    def records(self) -> Records:
        """Return all that is in the tables."""
        counters = {region: self._records(region, self._stack.counters) for region in REGIONS}
        return {**counters, "layouts": self._records(HOME, self._stack.layouts)}

    def put(self, records: Records) -> None:
        """Make every table, and put these records in place of what is there."""
        for name, found in self.records().items():
            region, table = (HOME, self._stack.layouts) if name == "layouts" else (name, self._stack.counters)
            if found is None:
                make_table(self._stack.aws, region, table)
            client, wanted = self._client(region), records[name] or {}
            for key in (found or {}).keys() - wanted.keys():
                client.delete_item(TableName=table, Key={"counter": {"S": key}})
            for record in wanted.values():
                client.put_item(TableName=table, Item=record)

    def _records(self, region: str, table: str) -> dict[str, Any] | None:
        client = self._client(region)
        try:
            found = client.scan(TableName=table, ConsistentRead=True)["Items"]
        except client.exceptions.ResourceNotFoundException:
            return None
        return {record["counter"]["S"]: record for record in found}

    def _client(self, region: str) -> Any:
        return self._stack.aws.client("dynamodb", region)
