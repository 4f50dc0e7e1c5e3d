"""Whose writes a table takes: where it is protected, those of the roles that work with it, and no others."""

import json

import pytest

from components.table import OPEN
from tests.components.aws_answers import ACCOUNT, POLICY, TABLE, TABLE_POLICY, arn
from tests.components.recording import Aws, Deployment
from tests.components.running import PREFIX, config, deploy_badly

OF_HOME = ("coordinator-eu-west-1-layouts", "coordinator-eu-west-1-mirror")


def test_each_protected_table_has_a_policy(leaving: Deployment, public: Deployment) -> None:
    """Also in a region that leaves: what it minted must not be overwritten as long as it may come back."""
    named = [(policy.inputs["region"], policy.inputs["resourceArn"]) for policy in leaving.of(TABLE_POLICY)]
    tables = [(table.inputs["region"], table.inputs["name"]) for table in leaving.of(TABLE)]

    assert sorted(named) == sorted((region, arn("dynamodb", region, f"table/{name}")) for region, name in tables)
    assert "us-west-2" in {region for region, _ in named}
    assert public.of(TABLE_POLICY) == [], "without `protect`"


@pytest.mark.parametrize("table", ["eu-west-1-table", "eu-west-1-receipts", *OF_HOME])
def test_a_table_of_another_region_is_refused(table: str) -> None:
    """`pulumi import` reads the provider's region, and `ignore_changes` would leave that in the state for good."""
    aws = Aws(imported=f"integers-{table}")
    error, deployment = deploy_badly(config("eu-west-1", home="eu-west-1", apiGateway=True), aws=aws)

    assert f"integers-{table}: Pulumi's state has the table of ap-south-1, not of eu-west-1" in str(error)
    assert not [made for made in deployment.of(TABLE_POLICY) if "ap-south-1" in made.inputs["resourceArn"]]
    assert not [made for made in deployment.of(POLICY) if "ap-south-1" in made.inputs["policy"]]
    assert deployment.releases() == []


def test_what_the_roles_write_with_is_not_open_to_others(signed: Deployment) -> None:
    used = {
        action.partition(":")[2]
        for policy in signed.of(POLICY)
        for statement in json.loads(policy.inputs["policy"])["Statement"]
        for action in statement["Action"]
        if action.startswith("dynamodb:")
    }

    assert used - {*OPEN} == {"DeleteItem", "PutItem", "UpdateItem"}, "all others read"


def test_a_writer_is_named_with_its_path(ruled: Deployment) -> None:
    """`aws:PrincipalArn` has the path of a role, unlike the ARN of its session."""
    for policy in ruled.of(TABLE_POLICY):
        (statement,) = json.loads(policy.inputs["policy"])["Statement"]
        arns = statement["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]
        assert arns
        assert [each for each in arns if not each.startswith(f"arn:aws:iam::{ACCOUNT}:role/teams/shop/{PREFIX}-")] == []
