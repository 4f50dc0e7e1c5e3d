"""Roles and their policies. What they allow is in test_iam_simulation.py."""

import json
from collections import Counter
from typing import Any

import pytest

from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from tests.components.aws_answers import ACCOUNT, ALIAS, FUNCTION, POLICY, ROLE
from tests.components.recording import Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy

ALIAS_ARN = f"arn:aws:lambda:{HOME}:{ACCOUNT}:function:{PREFIX}-coordinate:minting"


def role_of(deployment: Deployment, function: Registration) -> Registration:
    return next(r for r in deployment.of(ROLE) if function.inputs["role"].endswith(f":role/{r.inputs['name']}"))


def test_another_partition_has_tables_of_its_own() -> None:
    home, partition = "us-gov-west-1", "aws-us-gov"
    deployment = deploy(config(home, home=home, allowUrlRegions=[home]))
    policies = [json.loads(policy.inputs["policy"])["Statement"] for policy in deployment.of(POLICY)]
    resources = {resource for policy in policies for statement in policy for resource in statement["Resource"]}

    assert f"arn:{partition}:dynamodb:*:{ACCOUNT}:table/{PREFIX}-counters" in resources
    assert {resource.split(":")[1] for resource in resources} == {partition}


def test_every_function_has_a_role_of_its_own(signed: Deployment) -> None:
    roles = [role_of(signed, function).urn for function in signed.of(FUNCTION)]

    assert len(set(roles)) == len(roles) == len(signed.of(ROLE))


def test_nothing_else_widens_a_role(signed: Deployment) -> None:
    assert {resource.type for resource in signed.resources if resource.type.startswith("aws:iam/")} == {ROLE, POLICY}
    for role in signed.of(ROLE):
        assert not {"inlinePolicies", "managedPolicyArns"} & set(role.inputs)
        both = [signed.one(POLICY, role=role.inputs["name"], name=name).inputs["policy"] for name in ("next", "own")]
        assert both[0] == both[1], "they differ only while a version replaces another"
    assert len(signed.of(POLICY)) == 2 * len(signed.of(ROLE))


@pytest.mark.parametrize("region", THREE)
def test_a_minting_function_knows_only_the_coordinators_alias(signed: Deployment, region: str) -> None:
    mint = signed.one(FUNCTION, name=f"{PREFIX}-mint", region=region)
    alias = signed.one(ALIAS, name="minting")

    assert mint.inputs["environment"]["variables"]["COORDINATOR"] == ALIAS_ARN
    assert f":function:{alias.inputs['functionName']}:{alias.inputs['name']}" in ALIAS_ARN


def test_who_may_create_counters_is_known_to_both_functions(signed: Deployment, leaving: Deployment) -> None:
    for deployment, expected in ((signed, set[str]()), (leaving, {("mint", "1"), ("coordinate", "1000")})):
        known: set[tuple[str, str]] = set()
        for function in deployment.of(FUNCTION):
            variables = function.inputs["environment"]["variables"]
            kind = function.inputs["name"].removeprefix(f"{PREFIX}-")
            known |= {(kind, variables[name]) for name in ("OPEN_COUNTERS", "MAX_COUNTERS") if name in variables}
        assert known == expected


@pytest.mark.slow
def test_both_policies_of_a_role_fit_with_thirty_keys() -> None:
    """A role's inline policies may have 10,240 characters together, without white space (IAM guide, "Quotas")."""
    regions = (HOME, *sorted(r for r, partition in partitions().items() if partition == "aws" and r != HOME)[:29])
    keys = {region: f"arn:aws:kms:{region}:{ACCOUNT}:key/{'0' * 36}" for region in regions}
    more: dict[str, Any] = {"allowUrlRegions": sorted(WITHOUT_FUNCTION_URLS), "openCounters": True}
    deployment = deploy(config(*regions, kmsKeys=keys, **more))
    sizes: Counter[str] = Counter()
    for policy in deployment.of(POLICY):
        sizes[policy.inputs["role"]] += len("".join(policy.inputs["policy"].split()))

    assert max(sizes.values()) <= 10_240
