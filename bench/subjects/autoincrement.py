"""`dynamodb-autoincrement`, as in its README: a read, then a transaction of two conditional puts."""

import asyncio
import os

import aioboto3
from dynamodb_autoincrement import DynamoDBAutoIncrement

TABLE = os.environ["COUNTERS_TABLE"]
loop = asyncio.new_event_loop()
client = loop.run_until_complete(aioboto3.Session().resource("dynamodb").__aenter__())
sequence = DynamoDBAutoIncrement(
    counter_table_name=TABLE,
    counter_table_key={"counter": "autoincrement"},
    attribute_name="value",
    table_name=os.environ["RECORDS_TABLE"],
    initial_value=1,
    dynamodb=client,
)


def handler(event: dict, context: object) -> dict:
    """Mint one integer."""
    value = loop.run_until_complete(sequence.put({"note": "x"}))
    return {"statusCode": 200, "body": str(value)}
