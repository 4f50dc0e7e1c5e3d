"""The world's methods on the tables of a local DynamoDB, by the store and the minting function's table."""

from typing import Any

from aws_client.service import DynamoDB, ServiceError
from coordinate.dynamodb.store import Store, described_id
from coordinate.protocol.operations import Operation
from mint.model import CeilingReached, NoItem
from mint.table import CounterTable

from proof.simulation.world import World
from tests.lambda_.coordinator_calls import HOME, make_table
from tests.lambda_.fixtures import Stack
from tests.proof.simulation.random_operations import COUNTER, REGIONS

Records = dict[str, dict[str, Any] | None]
"""By table, every record as DynamoDB has it, by its key. None: there is no table."""


class Tables:
    """One counter on DynamoDB."""

    def __init__(self, stack: Stack) -> None:
        self._stack = stack
        self._store = Store(HOME, stack.layouts, stack.mirror, stack.counters, stack.archive, stack.receipts)
        self._dynamodb = {region: DynamoDB(region) for region in REGIONS}
        self._names = {
            **{region: (region, stack.counters) for region in REGIONS},
            "layouts": (HOME, stack.layouts),
            "mirror": (HOME, stack.mirror),
            "archive": (HOME, stack.archive),
            **{f"receipts {region}": (region, stack.receipts) for region in REGIONS},
        }
        self._ids: dict[str, str] = {}
        """What the world calls a table's id."""

    def carry_out(self, operation: Operation) -> Any:
        answer = self._store.carry_out(operation)
        return self._ids.get(answer, answer) if type(operation).__name__.startswith("Describe") else answer

    def mint(self, region: str) -> int | None:
        try:
            return self._cold(region).mint(COUNTER).first
        except (NoItem, CeilingReached, ServiceError):
            return None

    def mint_block(self, region: str, count: int) -> list[int]:
        try:
            return list(self._cold(region).mint_block(COUNTER, count).integers())
        except (NoItem, CeilingReached, ServiceError):
            return []

    def make_table(self, region: str) -> None:
        for name in (region, f"receipts {region}"):
            if self._records(name) is None:
                self._make(name)

    def delete_table(self, region: str) -> None:
        if self._records(region) is not None:
            self._client(region).delete_table(TableName=self._stack.counters)

    def delete_receipts(self, region: str) -> None:
        if self._records(f"receipts {region}") is not None:
            self._client(region).delete_table(TableName=self._stack.receipts)

    def name_ids(self, world: World) -> None:
        """Learn what the world calls the tables that there are now."""
        names = {region: table.id for region, table in world.tables.items()}
        home = {"layouts": world.layouts, "mirror": world.mirror, "archive": world.archive}
        for table, name in {**names, **{table: there.id for table, there in home.items() if there}}.items():
            region, actual = self._names[table]
            self._ids[described_id(self._dynamodb[region], actual)] = name

    def records(self) -> Records:
        """Return all that is in the tables."""
        return {name: self._records(name) for name in self._names}

    def put(self, records: Records) -> None:
        """Make every table, and put these records in place of what is there."""
        for name, found in self.records().items():
            region, table = self._names[name]
            if found is None:
                self._make(name)
            client, wanted = self._client(region), records[name] or {}
            for key in (found or {}).keys() - wanted.keys():
                client.delete_item(TableName=table, Key={_key(name): {"S": key}})
            for record in wanted.values():
                client.put_item(TableName=table, Item=record)

    def _cold(self, region: str) -> CounterTable:
        """Return the table as a cold function has it: a warm one notices the states that `put` restores."""
        return CounterTable(self._stack.counters, self._dynamodb[region])

    def _records(self, name: str) -> dict[str, Any] | None:
        region, table = self._names[name]
        client = self._client(region)
        try:
            found = client.scan(TableName=table, ConsistentRead=True)["Items"]
        except client.exceptions.ResourceNotFoundException:
            return None
        return {record[_key(name)]["S"]: record for record in found}

    def _make(self, name: str) -> None:
        region, table = self._names[name]
        make_table(self._stack.aws, region, table, _key(name))

    def _client(self, region: str) -> Any:
        return self._stack.aws.client("dynamodb", region)


def _key(name: str) -> str:
    return "receipt" if name.startswith("receipts ") else "counter"
