"""Only the stack's own roles write into its tables, whatever else in the account allows: by each way of writing."""

from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.aws_clients import Aws
from tests.local.callers import allowing, user
from tests.local.machine import Machine, mint, up

HOME = "us-east-1"
PREFIX = "global-integers-dev"
COUNTERS = f"{PREFIX}-counters"
SETTINGS = ("protect=true", "apiGateway=true", "iamPath=/teams/shop/")
KEY = {"counter": {"S": "integers"}}
STRAY = {"counter": {"S": "stray"}}
SET = "SET issued = :one"
ONE = {":one": {"N": "1"}}

Client = Any


@pytest.fixture(scope="module")
def protected(machines: Callable[[], Machine]) -> Machine:
    return up(machines(), HOME, settings=SETTINGS)


@pytest.fixture(scope="module")
def administrator(protected: Machine) -> Client:
    """A user who may do everything in DynamoDB."""
    keys = user(Aws(protected.endpoint), allowing("dynamodb:*"))
    return Aws(protected.endpoint, (keys.access_key, keys.secret_key)).client("dynamodb", HOME)


@pytest.fixture
def root(protected: Machine) -> Client:
    return Aws(protected.endpoint).client("dynamodb", HOME)


def transact(client: Client, table: str, **item: Any) -> None:
    client.transact_write_items(TransactItems=[{kind: {"TableName": table, **what} for kind, what in item.items()}])


def statement(text: str) -> Callable[[Client, str], Any]:
    return lambda client, table: client.execute_statement(Statement=text.replace("TABLE", f'"{table}"'))


WRITES: dict[str, Callable[[Client, str], Any]] = {
    "PutItem": lambda client, table: client.put_item(TableName=table, Item=STRAY),
    "UpdateItem": lambda client, table: client.update_item(
        TableName=table, Key=KEY, UpdateExpression=SET, ExpressionAttributeValues=ONE
    ),
    "DeleteItem": lambda client, table: client.delete_item(TableName=table, Key=KEY),
    "BatchWriteItem": lambda client, table: client.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": STRAY}}]}
    ),
    "a transaction's Put": lambda client, table: transact(client, table, Put={"Item": STRAY}),
    "a transaction's Delete": lambda client, table: transact(client, table, Delete={"Key": KEY}),
    "INSERT": statement("INSERT INTO TABLE VALUE {'counter': 'stray'}"),
    "UPDATE": statement("UPDATE TABLE SET issued = 1 WHERE counter = 'integers'"),
    "DELETE": statement("DELETE FROM TABLE WHERE counter = 'integers'"),
    "a batch of statements": lambda client, table: client.batch_execute_statement(
        Statements=[{"Statement": f"DELETE FROM \"{table}\" WHERE counter = 'integers'"}]
    ),
    "a transaction of statements": lambda client, table: client.execute_transaction(
        TransactStatements=[{"Statement": f"DELETE FROM \"{table}\" WHERE counter = 'integers'"}]
    ),
    "a table that is named by its ARN": lambda client, table: client.put_item(
        TableName=f"arn:aws:dynamodb:{HOME}:000000000000:table/{table}", Item=STRAY
    ),
}


@pytest.mark.parametrize("write", WRITES)
@pytest.mark.parametrize("who", ["administrator", pytest.param("root", marks=pytest.mark.long)])
def test_nobody_else_writes(request: pytest.FixtureRequest, protected: Machine, who: str, write: str) -> None:
    client = request.getfixturevalue(who)

    with pytest.raises(ClientError, match=r"AccessDenied.*explicit deny in a resource-based policy"):
        WRITES[write](client, COUNTERS)

    assert "Item" not in client.get_item(TableName=COUNTERS, Key=STRAY), "it may be read"
    assert "Item" in client.get_item(TableName=COUNTERS, Key=KEY)


@pytest.mark.parametrize("table", ["receipts", "layouts", "mirror", "archive"])
def test_nor_into_another_table_of_the_stack(administrator: Client, table: str) -> None:
    key = "receipt" if table == "receipts" else "counter"

    with pytest.raises(ClientError, match="explicit deny in a resource-based policy"):
        administrator.put_item(TableName=f"{PREFIX}-{table}", Item={key: {"S": "stray"}})


def test_its_own_roles_do(protected: Machine) -> None:
    """The minting function, with a receipt; API Gateway without a function; the coordinator has laid out."""
    outputs = protected.outputs()
    url, gateway = outputs["urls"][HOME], outputs["gatewayUrls"][HOME]

    assert [mint(each)[0] for each in (url, gateway)] == [200, 200]
    up(protected, HOME, settings=(*SETTINGS, 'counters=["integers", "orders"]'))
    assert mint(url, "orders")[1]["integer"] == 1
    up(protected, HOME, settings=SETTINGS)


def test_an_operator_may_take_the_policy_off_and_up_puts_it_back(protected: Machine, administrator: Client) -> None:
    arn = f"arn:aws:dynamodb:{HOME}:000000000000:table/{COUNTERS}"

    administrator.delete_resource_policy(ResourceArn=arn)
    administrator.put_item(TableName=COUNTERS, Item=STRAY)
    administrator.delete_item(TableName=COUNTERS, Key=STRAY)
    up(protected, HOME, settings=SETTINGS)

    with pytest.raises(ClientError, match="explicit deny"):
        administrator.put_item(TableName=COUNTERS, Item=STRAY)


def test_without_protection_others_write_too(small: Machine) -> None:
    """So it is the policy that refuses above, and nothing else."""
    client = Aws(small.endpoint).client("dynamodb", HOME)

    for write in ("PutItem", "INSERT"):
        WRITES[write](client, COUNTERS)
        client.delete_item(TableName=COUNTERS, Key=STRAY)


@pytest.mark.long
def test_a_protected_stack_can_be_ended(fresh: Machine) -> None:
    """As the runbook says: without protection first."""
    up(fresh, HOME, settings=SETTINGS)
    up(fresh, HOME, settings=("protect=false",))

    down = fresh.run("down")

    assert down.returncode == 0, down.stderr
