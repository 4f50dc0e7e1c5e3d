"""Roles and their policies. What they allow is in test_iam_simulation.py."""

import json
from collections import Counter
from typing import Any

import pytest

from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from tests.components.aws_answers import ACCOUNT, FUNCTION, POLICY, ROLE, TABLE, url
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, config, deploy


@pytest.mark.parametrize(("home", "partition"), [("us-gov-west-1", "aws-us-gov"), ("cn-north-1", "aws-cn")])
def test_another_partition_has_tables_of_its_own(home: str, partition: str) -> None:
    deployment = deploy(config(home, home=home, allowUrlRegions=[home]))
    policies = [json.loads(policy.inputs["policy"])["Statement"] for policy in deployment.of(POLICY)]
    resources = {resource for policy in policies for statement in policy for resource in statement["Resource"]}

    assert f"arn:{partition}:dynamodb:*:{ACCOUNT}:table/{PREFIX}-counters" in resources
    assert {resource.split(":")[1] for resource in resources} == {partition}


def test_nothing_else_widens_a_role(signed: Deployment) -> None:
    roles = {role.inputs["name"]: role for role in signed.of(ROLE)}

    assert sorted(function.inputs["role"].rpartition("/")[2] for function in signed.of(FUNCTION)) == sorted(roles)
    assert {resource.type for resource in signed.resources if resource.type.startswith("aws:iam/")} == {ROLE, POLICY}
    for name, role in roles.items():
        assert not {"inlinePolicies", "managedPolicyArns"} & set(role.inputs)
        both = [signed.one(POLICY, role=name, name=each).inputs["policy"] for each in ("next", "own")]
        assert both[0] == both[1], "they differ only while a version replaces another"
        assert "kms:" not in both[0]
        assert set(role.ignore_changes) == {"name", "path"}, "a function whose role is replaced stops"
    assert len(signed.of(POLICY)) == 2 * len(roles)


@pytest.mark.slow
def test_thirty_regions_with_keys_are_deployed_as_three_are() -> None:
    """A role's inline policies may have 10,240 characters together, without white space (IAM guide, "Quotas")."""
    regions = (HOME, *sorted(r for r, partition in partitions().items() if partition == "aws" and r != HOME)[:29])
    keys = {region: f"arn:aws:kms:{region}:{ACCOUNT}:key/{'0' * 36}" for region in regions}
    more: dict[str, Any] = {"allowUrlRegions": sorted(WITHOUT_FUNCTION_URLS), "openCounters": True}
    deployment = deploy(config(*regions, kmsKeys=keys, **more))
    sizes: Counter[str] = Counter()
    for policy in deployment.of(POLICY):
        sizes[policy.inputs["role"]] += len("".join(policy.inputs["policy"].split()))
    made = [each for each in deployment.resources if "name" in each.inputs and each.type != POLICY]
    named = {(each.type, each.inputs.get("region"), each.inputs["name"]) for each in made}

    assert max(sizes.values()) <= 10_240
    assert len(named) == len(made), "no two of a kind share a name in a region"
    assert {region for kind, region, _ in named if kind == TABLE} == {*regions}
    assert deployment.outputs["layout"] == {r: {"offset": n, "stride": 30} for n, r in enumerate(regions, 1)}
    assert deployment.outputs["urls"] == {region: url(region) for region in regions}
