"""A company's rules on the local server: its keys, role paths, boundary and tables' policies; a paused region."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from botocore.exceptions import ClientError

from local.aws_clients import Aws
from tests.local.callers import allowing, document, user
from tests.local.machine import Machine, mint, up

REGIONS = ("us-east-1", "eu-west-1")
KEYS = {region: f"arn:aws:kms:{region}:000000000000:key/7d1e" for region in REGIONS}
RULES = ("protect=true", "apiGateway=true", "iamPath=/teams/shop/", f"kmsKeys={json.dumps(KEYS)}")
PREFIX = "global-integers-dev"
COUNTERS = f"{PREFIX}-counters"
KEY = {"counter": {"S": "integers"}}
STRAY = {"counter": {"S": "stray"}}
SET = "SET issued = :one"
ONE = {":one": {"N": "1"}}
BULK = {
    "InputS3Configuration": {"S3Bucket": "items", "InputFormat": "ION"},
    "OutputS3Configuration": {"OutputType": ["ERROR"]},
}

Client = Any


@pytest.fixture(scope="module")
def ruled(machines: Callable[[], Machine]) -> Machine:
    """Two regions under a company's rules from the start."""
    return up(machines(), *REGIONS, settings=RULES)


@pytest.fixture
def aws(ruled: Machine) -> Aws:
    return Aws(ruled.endpoint)


@pytest.mark.long
def test_a_running_deployment_takes_rules_on_and_off_again(fresh: Machine) -> None:
    aws = Aws(up(fresh, *REGIONS).endpoint)
    iam = aws.client("iam", "us-east-1")
    policy = iam.create_policy(PolicyName="boundary", PolicyDocument=document(allowing("*")))["Policy"]
    boundary = policy.get("Arn", "")
    rules = (f"kmsKeys={json.dumps(KEYS)}", "iamPath=/teams/shop/", f"permissionsBoundary={boundary}")
    rules += ("budget=50", 'alarmEmails=["operator@shop.example"]')
    url = fresh.outputs()["urls"]["eu-west-1"]
    first = mint(url)[1]["integer"]

    up(fresh, *REGIONS, settings=rules)

    assert mint(url)[1]["integer"] == first + 2
    table = aws.client("dynamodb", "eu-west-1").describe_table(TableName=f"{PREFIX}-counters")["Table"]
    assert table.get("SSEDescription", {}).get("KMSMasterKeyArn") == KEYS["eu-west-1"]
    role = iam.get_role(RoleName=f"{PREFIX}-mint-eu-west-1")["Role"]
    assert role["Path"] == "/", "a role keeps the path that it was created with"
    assert role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn") == boundary

    up(fresh, *REGIONS)

    assert not iam.get_role(RoleName=f"{PREFIX}-mint-eu-west-1")["Role"].get("PermissionsBoundary")
    assert mint(url)[1]["integer"] == first + 4


def test_what_is_new_has_the_path_and_the_key(ruled: Machine, aws: Aws) -> None:
    role = aws.client("iam", "us-east-1").get_role(RoleName=f"{PREFIX}-mint-eu-west-1")["Role"]
    assert role["Path"] == "/teams/shop/"
    name = f"/aws/lambda/{PREFIX}-mint"
    (group,) = aws.client("logs", "eu-west-1").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    assert group.get("kmsKeyId") == KEYS["eu-west-1"]
    table = aws.client("dynamodb", "eu-west-1").describe_table(TableName=f"{PREFIX}-receipts")["Table"]
    assert table.get("SSEDescription", {}).get("KMSMasterKeyArn") == KEYS["eu-west-1"]


def test_a_paused_region_refuses_and_continues_where_it_stopped(ruled: Machine, aws: Aws) -> None:
    outputs = ruled.outputs()
    url, gateway = outputs["urls"]["eu-west-1"], outputs["gatewayUrls"]["eu-west-1"]
    first = mint(url)[1]["integer"]

    up(ruled, *REGIONS, settings=(*RULES, 'paused=["eu-west-1"]'))

    assert mint(url)[0] == 429
    status, problem = mint(gateway)
    assert (status, "paused" in problem["detail"]) == (503, True)
    assert mint(outputs["urls"]["us-east-1"])[0] == 200
    counters = aws.client("dynamodb", "eu-west-1")
    item = counters.get_item(TableName=f"{PREFIX}-counters", Key={"counter": {"S": "integers"}}).get("Item", {})
    assert item["issued"].get("N") == str(first)

    up(ruled, *REGIONS, settings=RULES)

    assert (mint(url)[1]["integer"], mint(gateway)[1]["integer"]) == (first + 2, first + 4)
    assert ruled.outputs()["counters"] == outputs["counters"]


@pytest.fixture(scope="module")
def administrator(ruled: Machine) -> Client:
    """A user who may do everything in DynamoDB."""
    keys = user(Aws(ruled.endpoint), allowing("dynamodb:*"))
    return Aws(ruled.endpoint, (keys.access_key, keys.secret_key)).client("dynamodb", REGIONS[0])


def statement(text: str) -> Callable[[Client, str], Any]:
    return lambda client, table: client.execute_statement(Statement=text.replace("TABLE", f'"{table}"'))


WRITES: dict[str, Callable[[Client, str], Any]] = {
    "PutItem": lambda client, table: client.put_item(TableName=table, Item=STRAY),
    "UpdateItem": lambda client, table: client.update_item(
        TableName=table, Key=KEY, UpdateExpression=SET, ExpressionAttributeValues=ONE
    ),
    "BatchWriteItem": lambda client, table: client.batch_write_item(
        RequestItems={table: [{"PutRequest": {"Item": STRAY}}]}
    ),
    "StartBulkPutItems": lambda client, table: client.start_bulk_put_items(
        TableName=f"arn:aws:dynamodb:{REGIONS[0]}:000000000000:table/{table}", **BULK
    ),
    "a transaction": lambda client, table: client.transact_write_items(
        TransactItems=[{"Put": {"TableName": table, "Item": STRAY}}]
    ),
    "INSERT": statement("INSERT INTO TABLE VALUE {'counter': 'stray'}"),
    "a batch of statements": lambda client, table: client.batch_execute_statement(
        Statements=[{"Statement": f"DELETE FROM \"{table}\" WHERE counter = 'integers'"}]
    ),
    "a table that is named by its ARN": lambda client, table: client.put_item(
        TableName=f"arn:aws:dynamodb:{REGIONS[0]}:000000000000:table/{table}", Item=STRAY
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_nobody_else_writes(administrator: Client, write: str) -> None:
    with pytest.raises(ClientError, match=r"AccessDenied.*explicit deny in a resource-based policy"):
        WRITES[write](administrator, COUNTERS)

    assert "Item" not in administrator.get_item(TableName=COUNTERS, Key=STRAY), "it may be read"


@pytest.mark.parametrize("table", ["receipts", "layouts", "mirror"])
def test_nor_into_another_table_of_the_stack(administrator: Client, table: str) -> None:
    key = "receipt" if table == "receipts" else "counter"

    with pytest.raises(ClientError, match="explicit deny in a resource-based policy"):
        administrator.put_item(TableName=f"{PREFIX}-{table}", Item={key: {"S": "stray"}})


def test_its_own_roles_do(ruled: Machine) -> None:
    """The minting function, with a receipt; API Gateway without a function."""
    outputs = ruled.outputs()

    assert mint(outputs["urls"][REGIONS[0]], headers={"Idempotency-Key": "order-1"})[0] == 200
    assert mint(outputs["gatewayUrls"][REGIONS[0]])[0] == 200


def test_an_operator_may_take_the_policy_off_and_up_puts_it_back(ruled: Machine, administrator: Client) -> None:
    arn = f"arn:aws:dynamodb:{REGIONS[0]}:000000000000:table/{COUNTERS}"

    administrator.delete_resource_policy(ResourceArn=arn)
    for write in ("PutItem", "INSERT"):  # so it is the policy that refuses above, and nothing else
        WRITES[write](administrator, COUNTERS)
        administrator.delete_item(TableName=COUNTERS, Key=STRAY)
    up(ruled, *REGIONS, settings=RULES)

    with pytest.raises(ClientError, match="explicit deny"):
        administrator.put_item(TableName=COUNTERS, Item=STRAY)
