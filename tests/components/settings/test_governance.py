"""What governance asks for: the path and the boundary of roles, keys, a budget, callers."""

import json

import pytest

from tests.components.aws_answers import FUNCTION, LOG_GROUP, POLICY, ROLE, TABLE, TOPIC
from tests.components.recording import Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy
from tests.components.test_region import of_aws

BOUNDARY = "arn:aws:iam::123456789012:policy/boundary"
TWO = THREE[:2]
KEYS = {region: f"arn:aws:kms:{region}:123456789012:key/{region[:2]}" for region in (*TWO, "us-west-2")}


@pytest.fixture(scope="module")
def ruled() -> Deployment:
    """Everything that can be deployed, by a company's rules. The home region doesn't mint."""
    return deploy(
        config(
            *TWO,
            home="us-west-2",
            apiGateway=True,
            budget=5,
            alarmEmails=["ops@shop.example"],
            domain="integers.example.com",
            hostedZone="example.com",
            iamPath="/teams/shop/",
            permissionsBoundary=BOUNDARY,
            kmsKeys=KEYS,
        )
    )


def test_every_role_has_the_path_and_the_boundary(ruled: Deployment) -> None:
    roles = ruled.of(ROLE)

    assert len(roles) == 1 + 2 * len(TWO)
    assert {(r.inputs["path"], r.inputs["permissionsBoundary"]) for r in roles} == {("/teams/shop/", BOUNDARY)}


def test_tables_and_logs_are_encrypted_with_the_regions_key(ruled: Deployment) -> None:
    tables, groups = ruled.of(TABLE), ruled.of(LOG_GROUP)

    assert (len(tables), len(groups)) == (2 * len(TWO) + 2, len(TWO) + 1)
    for table in tables:
        assert table.inputs["serverSideEncryption"] == {"enabled": True, "kmsKeyArn": KEYS[table.inputs["region"]]}
    for group in groups:
        assert group.inputs["kmsKeyId"] == KEYS[group.inputs["region"]]


def test_so_are_topics_and_environments(ruled: Deployment) -> None:
    topics, functions = ruled.of(TOPIC), ruled.of(FUNCTION)

    assert (len(topics), len(functions)) == (len(TWO) + 1, len(TWO) + 1)
    assert [t.inputs["kmsMasterKeyId"] for t in topics] == [KEYS[t.inputs["region"]] for t in topics]
    assert [f.inputs["kmsKeyArn"] for f in functions] == [KEYS[f.inputs["region"]] for f in functions]


CALLERS = {"arn:aws:iam::123456789012:role/shop": ["orders"], "*": "*"}


@pytest.fixture(scope="module")
def governed() -> Deployment:
    """Callers are named."""
    return deploy(config(HOME, callers=CALLERS))


def test_nothing_of_this_is_there_unless_asked_for(signed: Deployment) -> None:
    asked = {"path", "permissionsBoundary", "serverSideEncryption", "kmsKeyId", "kmsKeyArn", "kmsMasterKeyId"}

    assert [r.name for r in of_aws(signed) if asked & set(r.inputs)] == []
    assert "kms:" not in "".join(r.inputs["policy"] for r in signed.of(POLICY))


def test_a_budget_tells_of_costs_in_the_deployments_regions(ruled: Deployment) -> None:
    budget = ruled.one("aws:budgets/budget:Budget")

    assert (budget.inputs["limitAmount"], budget.inputs["timeUnit"]) == ("5", "MONTHLY")
    filters = {entry["name"]: entry["values"] for entry in budget.inputs["costFilters"]}
    assert set(filters["Region"]) == {*TWO, "us-west-2", "global"}
    assert "Amazon Route 53" in filters["Service"], "its costs are in no region"
    governed = {tuple(n["subscriberEmailAddresses"]) for n in budget.inputs["notifications"]}
    assert governed == {("ops@shop.example",)}


def test_callers_reach_the_function_as_json(governed: Deployment, signed: Deployment) -> None:
    variables = governed.one(FUNCTION, name=f"{PREFIX}-mint").inputs["environment"]["variables"]

    assert json.loads(variables["CALLERS"]) == {**CALLERS, "*": ["*"]}
    assert [f.name for f in signed.of(FUNCTION) if "CALLERS" in f.inputs["environment"]["variables"]] == []
