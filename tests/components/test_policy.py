"""What each function may do: just what it does, to just the table it does it to."""

import json
from collections import Counter
from typing import Any

import pytest

from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from tests.components.aws_answers import ACCOUNT, ALIAS, FUNCTION, POLICY, ROLE
from tests.components.recording import Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy

COUNTERS = f"table/{PREFIX}-counters"
RECEIPTS = f"table/{PREFIX}-receipts"
LAYOUTS = f"table/{PREFIX}-layouts"
MIRROR = f"table/{PREFIX}-mirror"
ARCHIVE = f"table/{PREFIX}-archive"
ANYWHERE = f"arn:aws:dynamodb:*:{ACCOUNT}:{COUNTERS}"
RECEIPTS_ANYWHERE = f"arn:aws:dynamodb:*:{ACCOUNT}:{RECEIPTS}"
ALIAS_ARN = f"arn:aws:lambda:{HOME}:{ACCOUNT}:function:{PREFIX}-coordinate:minting"
OWN = f"arn:aws:lambda:{HOME}:{ACCOUNT}:function:{PREFIX}-coordinate"
FUNCTIONS = f"arn:aws:lambda:*:{ACCOUNT}:function:{PREFIX}-mint"


def role_of(deployment: Deployment, function: Registration) -> Registration:
    return next(r for r in deployment.of(ROLE) if function.inputs["role"].endswith(f":role/{r.inputs['name']}"))


def allowed(deployment: Deployment, function: Registration) -> set[tuple[str, str]]:
    """Every action with every resource that the function's role allows."""
    role = role_of(deployment, function).inputs["name"]
    policy, own = (deployment.one(POLICY, role=role, name=name).inputs["policy"] for name in ("next", "own"))
    assert policy == own, "they differ only while a version replaces another"
    document: dict[str, Any] = json.loads(policy)
    assert document["Version"] == "2012-10-17"
    pairs: set[tuple[str, str]] = set()
    for statement in document["Statement"]:
        assert set(statement) == {"Effect", "Action", "Resource"}, statement
        assert statement["Effect"] == "Allow"
        pairs |= {(action, resource) for action in statement["Action"] for resource in statement["Resource"]}
    return pairs


def own_logs(region: str, name: str) -> set[tuple[str, str]]:
    streams = f"arn:aws:logs:{region}:{ACCOUNT}:log-group:/aws/lambda/{name}:*"
    return {("logs:CreateLogStream", streams), ("logs:PutLogEvents", streams)}


@pytest.mark.parametrize("region", THREE)
def test_the_minting_function_may_mint_and_keep_receipts(signed: Deployment, region: str) -> None:
    mint = signed.one(FUNCTION, name=f"{PREFIX}-mint", region=region)

    assert allowed(signed, mint) == {
        ("dynamodb:GetItem", f"arn:aws:dynamodb:{region}:{ACCOUNT}:{COUNTERS}"),
        ("dynamodb:UpdateItem", f"arn:aws:dynamodb:{region}:{ACCOUNT}:{COUNTERS}"),
        ("dynamodb:GetItem", f"arn:aws:dynamodb:{region}:{ACCOUNT}:{RECEIPTS}"),
        ("dynamodb:PutItem", f"arn:aws:dynamodb:{region}:{ACCOUNT}:{RECEIPTS}"),
        ("lambda:InvokeFunction", ALIAS_ARN),
        *own_logs(region, f"{PREFIX}-mint"),
    }


def test_the_coordinator_may_lay_out_in_any_region(signed: Deployment) -> None:
    coordinate = signed.one(FUNCTION, name=f"{PREFIX}-coordinate")
    registers = ("GetItem", "PutItem", "Scan", "ConditionCheckItem", "DeleteItem", "DescribeTable")
    copies = ("GetItem", "PutItem", "Scan", "DeleteItem", "DescribeTable")
    past = ("GetItem", "UpdateItem", "DescribeTable")
    called = ("InvokeFunction", "InvokeFunctionUrl", "GetAlias", "UpdateAlias")
    items = ("GetItem", "PutItem", "UpdateItem", "Scan", "DeleteItem", "DescribeTable")

    assert allowed(signed, coordinate) == {
        *((f"dynamodb:{action}", f"arn:aws:dynamodb:{HOME}:{ACCOUNT}:{LAYOUTS}") for action in registers),
        *((f"dynamodb:{action}", f"arn:aws:dynamodb:{HOME}:{ACCOUNT}:{MIRROR}") for action in copies),
        *((f"dynamodb:{action}", f"arn:aws:dynamodb:{HOME}:{ACCOUNT}:{ARCHIVE}") for action in past),
        *((f"dynamodb:{action}", ANYWHERE) for action in items),
        *((f"dynamodb:{action}", RECEIPTS_ANYWHERE) for action in ("GetItem", "UpdateItem")),
        *((f"lambda:{action}", functions) for action in called for functions in (FUNCTIONS, f"{FUNCTIONS}:*")),
        *((f"lambda:{action}", own) for action in ("GetAlias", "UpdateAlias") for own in (OWN, f"{OWN}:*")),
        *own_logs(HOME, f"{PREFIX}-coordinate"),
    }


def test_a_star_stands_for_streams_regions_and_versions(signed: Deployment) -> None:
    starred: set[str] = set()
    for function in signed.of(FUNCTION):
        for action, resource in allowed(signed, function):
            assert "*" not in action
            if "*" in resource.removesuffix(":*"):
                starred.add(resource)
            elif resource.endswith(":*") and resource != f"{OWN}:*":
                assert resource.startswith(f"arn:aws:logs:{function.inputs['region']}:{ACCOUNT}:log-group:/aws/lambda/")

    assert starred == {ANYWHERE, RECEIPTS_ANYWHERE, FUNCTIONS, f"{FUNCTIONS}:*"}


def test_another_partition_has_tables_of_its_own() -> None:
    home, partition = "us-gov-west-1", "aws-us-gov"
    deployment = deploy(config(home, home=home, allowUrlRegions=[home]))
    resources = {resource for _, resource in allowed(deployment, deployment.one(FUNCTION, name=f"{PREFIX}-coordinate"))}

    assert f"arn:{partition}:dynamodb:*:{ACCOUNT}:{COUNTERS}" in resources
    assert {resource.split(":")[1] for resource in resources} == {partition}


def test_every_function_has_a_role_of_its_own(signed: Deployment) -> None:
    roles = [role_of(signed, function).urn for function in signed.of(FUNCTION)]

    assert len(set(roles)) == len(roles) == len(signed.of(ROLE))


def test_only_lambda_may_take_on_a_role(signed: Deployment) -> None:
    for role in signed.of(ROLE):
        assert json.loads(role.inputs["assumeRolePolicy"])["Statement"] == [
            {"Effect": "Allow", "Principal": {"Service": "lambda.amazonaws.com"}, "Action": "sts:AssumeRole"}
        ]


def test_nothing_else_widens_a_role(signed: Deployment) -> None:
    assert {resource.type for resource in signed.resources if resource.type.startswith("aws:iam/")} == {ROLE, POLICY}
    for role in signed.of(ROLE):
        assert not {"inlinePolicies", "managedPolicyArns"} & set(role.inputs)
    assert len(signed.of(POLICY)) == 2 * len(signed.of(ROLE))


@pytest.mark.parametrize("region", THREE)
def test_open_counters_are_listed(signed: Deployment, leaving: Deployment, region: str) -> None:
    mint = leaving.one(FUNCTION, name=f"{PREFIX}-mint", region=region)
    more = allowed(leaving, mint) - allowed(signed, signed.one(FUNCTION, name=f"{PREFIX}-mint", region=region))

    assert more == {("dynamodb:Scan", f"arn:aws:dynamodb:{region}:{ACCOUNT}:{COUNTERS}")}


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
