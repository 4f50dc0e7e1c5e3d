"""Whose writes a table takes: where it is protected, those of the roles that work with it, and no others."""

import json

from components.table import WRITES
from tests.components.aws_answers import ACCOUNT, POLICY, TABLE, TABLE_POLICY, arn
from tests.components.recording import Deployment
from tests.components.running import PREFIX


def test_each_protected_table_has_a_policy(signed: Deployment, public: Deployment) -> None:
    named = {(policy.inputs["region"], policy.inputs["resourceArn"]) for policy in signed.of(TABLE_POLICY)}

    assert len(named) == len(signed.of(TABLE_POLICY))
    assert named == {
        (t.inputs["region"], arn("dynamodb", t.inputs["region"], f"table/{t.inputs['name']}")) for t in signed.of(TABLE)
    }
    assert public.of(TABLE_POLICY) == [], "without `protect`"


def test_a_region_that_leaves_goes_on_being_guarded(leaving: Deployment) -> None:
    """What it minted must not be overwritten as long as it may come back."""
    assert "us-west-2" in {policy.inputs["region"] for policy in leaving.of(TABLE_POLICY)}


def test_every_action_that_writes_is_denied(signed: Deployment) -> None:
    used = {
        action.partition(":")[2]
        for policy in signed.of(POLICY)
        for statement in json.loads(policy.inputs["policy"])["Statement"]
        for action in statement["Action"]
        if action.startswith("dynamodb:")
    }

    assert used - {*WRITES} == {"ConditionCheckItem", "DescribeTable", "GetItem", "Scan"}, "all others write"


def test_a_writer_is_named_with_its_path(ruled: Deployment) -> None:
    """`aws:PrincipalArn` has the path of a role, unlike the ARN of its session."""
    for policy in ruled.of(TABLE_POLICY):
        (statement,) = json.loads(policy.inputs["policy"])["Statement"]
        arns = statement["Condition"]["ArnNotEquals"]["aws:PrincipalArn"]
        assert arns
        assert [each for each in arns if not each.startswith(f"arn:aws:iam::{ACCOUNT}:role/teams/shop/{PREFIX}-")] == []
