"""A company's rules on the local server: its tags, keys, role paths and boundary; a region that is paused."""

import json
from collections.abc import Callable, Generator

import pytest

from local.resources import Aws
from tests.local.machine import Machine, mint

REGIONS = ("us-east-1", "eu-west-1")
KEYS = {region: f"arn:aws:kms:{region}:000000000000:key/7d1e" for region in REGIONS}
PREFIX = "global-integers-dev"


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = machines()
    result = machine.up(*REGIONS)
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


@pytest.fixture
def aws(machine: Machine) -> Aws:
    return Aws(f"http://127.0.0.1:{machine.port}")


@pytest.mark.long
def test_a_running_deployment_takes_a_companys_rules_on_and_off_again(machine: Machine, aws: Aws) -> None:
    boundary = (
        aws.client("iam", "us-east-1")
        .create_policy(
            PolicyName="boundary",
            PolicyDocument=json.dumps(
                {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": "*", "Resource": "*"}]}
            ),
        )["Policy"]
        .get("Arn", "")
    )
    settings = (
        'tags={"team": "shop"}',
        f"kmsKeys={json.dumps(KEYS)}",
        "iamPath=/teams/shop/",
        f"permissionsBoundary={boundary}",
        "budget=50",
        'budgetEmails=["ops@shop.example"]',
    )
    before = machine.outputs()["urls"]
    first = mint(before["eu-west-1"])[1]["integer"]

    result = machine.up(*REGIONS, settings=settings)

    assert result.returncode == 0, result.stderr
    assert machine.outputs()["urls"] == before
    assert mint(before["eu-west-1"])[1]["integer"] == first + 2
    table = aws.client("dynamodb", "eu-west-1").describe_table(TableName=f"{PREFIX}-counters")["Table"]
    assert table.get("SSEDescription", {}).get("KMSMasterKeyArn") == KEYS["eu-west-1"]
    role = aws.client("iam", "us-east-1").get_role(RoleName=f"{PREFIX}-mint-eu-west-1")["Role"]
    assert role["Path"] == "/", "a role keeps the path that it was created with"
    assert role.get("PermissionsBoundary", {}).get("PermissionsBoundaryArn") == boundary
    assert role.get("Tags") == [{"Key": "team", "Value": "shop"}]
    function = aws.client("lambda", "eu-west-1").get_function(FunctionName=f"{PREFIX}-mint")
    assert function.get("Tags") == {"team": "shop"}
    (budget,) = aws.client("budgets", "us-east-1").describe_budgets(AccountId="000000000000")["Budgets"]
    assert budget["BudgetLimit"]["Amount"] == "50"

    again = machine.up(*REGIONS)

    assert again.returncode == 0, again.stderr
    assert aws.client("lambda", "eu-west-1").get_function(FunctionName=f"{PREFIX}-mint").get("Tags", {}) == {}
    role = aws.client("iam", "us-east-1").get_role(RoleName=f"{PREFIX}-mint-eu-west-1")["Role"]
    assert not role.get("PermissionsBoundary")
    assert not aws.client("budgets", "us-east-1").describe_budgets(AccountId="000000000000").get("Budgets")
    assert mint(before["eu-west-1"])[1]["integer"] == first + 4


def test_what_is_new_has_the_path_and_the_key_from_the_start(machine: Machine, aws: Aws) -> None:
    added = (*REGIONS, "us-west-2")
    keys = KEYS | {"us-west-2": "arn:aws:kms:us-west-2:000000000000:key/7d1e"}
    result = machine.up(*added, settings=("iamPath=/teams/shop/", f"kmsKeys={json.dumps(keys)}"))

    assert result.returncode == 0, result.stderr
    role = aws.client("iam", "us-east-1").get_role(RoleName=f"{PREFIX}-mint-us-west-2")["Role"]
    assert role["Path"] == "/teams/shop/"
    name = f"/aws/lambda/{PREFIX}-mint"
    (group,) = aws.client("logs", "us-west-2").describe_log_groups(logGroupNamePrefix=name)["logGroups"]
    assert group.get("kmsKeyId") == keys["us-west-2"]
    table = aws.client("dynamodb", "us-west-2").describe_table(TableName=f"{PREFIX}-receipts")["Table"]
    assert table.get("SSEDescription", {}).get("KMSMasterKeyArn") == keys["us-west-2"]
    assert mint(machine.outputs()["urls"]["us-west-2"])[0] == 200


def test_a_paused_region_refuses_everything_and_continues_where_it_stopped(machine: Machine, aws: Aws) -> None:
    with_gateway = ("apiGateway=true",)
    assert machine.up(*REGIONS, settings=with_gateway).returncode == 0
    outputs = machine.outputs()
    url, gateway = outputs["urls"]["eu-west-1"], outputs["gatewayUrls"]["eu-west-1"]
    first = mint(url)[1]["integer"]

    paused = machine.up(*REGIONS, settings=(*with_gateway, 'paused=["eu-west-1"]'))

    assert paused.returncode == 0, paused.stderr
    assert mint(url)[0] == 429
    status, problem = mint(gateway)
    assert (status, "paused" in problem["detail"]) == (503, True)
    assert mint(outputs["urls"]["us-east-1"])[0] == 200
    counters = aws.client("dynamodb", "eu-west-1")
    item = counters.get_item(TableName=f"{PREFIX}-counters", Key={"counter": {"S": "integers"}}).get("Item", {})
    assert item["issued"].get("N") == str(first)

    assert machine.up(*REGIONS, settings=with_gateway).returncode == 0

    assert (mint(url)[1]["integer"], mint(gateway)[1]["integer"]) == (first + 2, first + 4)
    assert machine.outputs()["counters"] == outputs["counters"]
