"""A company's rules on the local server: its keys, role paths and boundary; a region that is paused."""

import json
from collections.abc import Callable

import pytest

from local.aws_clients import Aws
from tests.local.machine import Machine, mint, up

REGIONS = ("us-east-1", "eu-west-1")
KEYS = {region: f"arn:aws:kms:{region}:000000000000:key/7d1e" for region in REGIONS}
RULES = ("apiGateway=true", "iamPath=/teams/shop/", f"kmsKeys={json.dumps(KEYS)}")
PREFIX = "global-integers-dev"


@pytest.fixture(scope="module")
def ruled(machines: Callable[[], Machine]) -> Machine:
    """Two regions under a company's rules from the start."""
    return up(machines(), *REGIONS, settings=RULES)


@pytest.fixture
def aws(ruled: Machine) -> Aws:
    return Aws(ruled.endpoint)


@pytest.mark.long
def test_a_running_deployment_takes_rules_on_and_off_again(fresh: Machine) -> None:
    machine = up(fresh, *REGIONS)
    aws = Aws(machine.endpoint)
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
        f"kmsKeys={json.dumps(KEYS)}",
        "iamPath=/teams/shop/",
        f"permissionsBoundary={boundary}",
        "budget=50",
        'alarmEmails=["ops@shop.example"]',
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
    (budget,) = aws.client("budgets", "us-east-1").describe_budgets(AccountId="000000000000")["Budgets"]
    assert budget["BudgetLimit"]["Amount"] == "50"

    again = machine.up(*REGIONS)

    assert again.returncode == 0, again.stderr
    role = aws.client("iam", "us-east-1").get_role(RoleName=f"{PREFIX}-mint-eu-west-1")["Role"]
    assert not role.get("PermissionsBoundary")
    assert not aws.client("budgets", "us-east-1").describe_budgets(AccountId="000000000000").get("Budgets")
    assert mint(before["eu-west-1"])[1]["integer"] == first + 4


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
