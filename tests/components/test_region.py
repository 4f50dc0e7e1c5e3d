"""What every region gets, who may call, and from which pages. What is registered is in `registered`, too."""

import json
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from components.region import cors, url_permissions
from components.settings.rules import MAX_ACCOUNTS
from tests.components.aws_answers import FUNCTION_URL, PERMISSION, STASH, TABLE
from tests.components.recording import Deployment
from tests.components.registrations import CONFIGURATIONS, REGISTERED, SHOWN, renewed, short
from tests.components.running import HOME, PREFIX, THREE, config, deploy, settings


@pytest.mark.parametrize("path", REGISTERED, ids=lambda path: path.stem)
def test_what_is_registered_is_in_its_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert renewed(text) == text, "if that is meant: make fix, and read the difference"


GONE = "us-west-2"
GLOBAL = ("aws:iam/", "aws:route53/", "aws:budgets/", STASH)


@pytest.mark.parametrize("name", CONFIGURATIONS)
def test_one_provider_serves_all_regions(name: str) -> None:
    """So a resource that doesn't say its region is made in the provider's, which is the home region."""
    made = [each for each in deploy(CONFIGURATIONS[name]).resources if each.custom]

    assert [each.name for each in made if each.providers or each.type.startswith("pulumi:providers:")] == []
    regional = [each for each in made if not each.type.startswith(GLOBAL)]
    assert [each.name for each in regional if not each.inputs.get("region")] == []


OTHERS = ("111122223333", "444455556666")
CALLERS = {
    f"arn:aws:iam::{OTHERS[1]}:role/shop-*": "*",
    f"arn:aws:sts::{OTHERS[0]}:assumed-role/shop/*": "*",
    "arn:aws:iam::*:role/admin": "*",
}


@pytest.mark.parametrize(("home", "partition"), [(HOME, "aws"), ("us-gov-west-1", "aws-us-gov")])
def test_an_account_is_named_as_its_partition_names_it(home: str, partition: str) -> None:
    callers = {pattern.replace("arn:aws:", f"arn:{partition}:"): counters for pattern, counters in CALLERS.items()}
    more = {"allowUrlRegions": [home]} if home != HOME else {}
    found = url_permissions(settings(config(home, home=home, callers=callers, **more)).access, home)

    assert {each: what["principal"] for each, what in found.items()} == {
        f"account-{account}-{end}": f"arn:{partition}:iam::{account}:root"
        for account in OTHERS
        for end in ("url", "invoke")
    }


def test_the_statements_of_the_most_accounts_have_room() -> None:
    """In a function's policy of 20 KB (Lambda guide, "Lambda quotas"), with the longest names, and others beside."""
    named = {f"arn:aws:iam::{account}:role/x": "*" for account in range(10**11, 10**11 + MAX_ACCOUNTS)}
    resource = f"arn:aws-us-gov:lambda:ap-southeast-2:123456789012:function:{'x' * 64}:live"
    statements: list[dict[str, object]] = []
    for sid, what in url_permissions(settings(config(HOME, callers=named)).access, HOME).items():
        condition = {"StringEquals": {"lambda:FunctionUrlAuthType": "AWS_IAM"}}
        principal = {"AWS": what["principal"].replace("aws", "aws-us-gov")}
        statement = {"Effect": "Allow", "Action": what["action"], "Principal": principal, "Resource": resource}
        statements.append({"Sid": f"global-integers-{sid}", **statement, "Condition": condition})

    assert len(statements) == 2 * MAX_ACCOUNTS
    assert len(json.dumps({"Version": "2012-10-17", "Id": "default", "Statement": statements})) < 19 * 1024


SCHEDULE = (
    "lambda:InvokeFunction …-coordinate events.amazonaws.com deployments arn:aws:events:{}:account:rule/…-schedule"
)
URL = {
    "lambda:InvokeFunctionUrl …-mint functionUrlAuthType=NONE * live",
    "lambda:InvokeFunction …-mint invokedViaFunctionUrl=True * live",
}
API = "lambda:InvokeFunction …-mint apigateway.amazonaws.com live arn:aws:execute-api:{}:account:abc{}/*"
LET_IN = {
    "signed": {SCHEDULE},
    "public": {SCHEDULE, *URL},
    "leaving": {SCHEDULE},
    "signed_domain": {SCHEDULE, API},
    "public_domain": {SCHEDULE, API, *URL},
}
"""Action, function, conditions, principal, alias, and for which caller of the principal."""


@pytest.mark.parametrize("name", LET_IN)
def test_nobody_else_is_let_in(name: str, request: pytest.FixtureRequest) -> None:
    deployment: Deployment = request.getfixturevalue(name)
    statements: Counter[str] = Counter()
    for made in deployment.of(PERMISSION):
        known = [f"{key}={value}" if "Url" in key else value for key, value in sorted(made.inputs.items())]
        rest = " ".join(each for each in known if each not in (made.inputs["region"], made.inputs["statementId"]))
        statements[short(rest, made.inputs["region"])] += 1
        assert not made.inputs["statementId"].startswith("FunctionURLAllow"), "the provider's own"

    regions = [*deployment.outputs["regions"], *deployment.outputs["leaving"]]
    assert statements == {each: 1 if each == SCHEDULE else len(regions) for each in LET_IN[name]}
    assert {made.inputs["functionName"] for made in deployment.of(FUNCTION_URL)} <= {f"{PREFIX}-mint"}


def test_statements_are_added_one_after_the_other(public_domain: Deployment) -> None:
    """Lambda may drop one of two statements that are added at the same time."""
    for region in THREE:
        url = public_domain.one(FUNCTION_URL, region=region)
        ids = ("public-url", "public-invoke", "domain-http")
        added = [public_domain.one(PERMISSION, region=region, statementId=f"global-integers-{each}") for each in ids]
        for before, after in pairwise([url, *added]):
            assert before.urn in after.dependencies


def test_pages_of_other_origins_send_what_the_api_reads() -> None:
    signature = {"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}
    allowed = set(cors(settings(config(HOME)).access)["allow_headers"])

    assert allowed >= {"accept", "content-type", "idempotency-key", *signature}


def test_tables_are_protected_unless_it_is_turned_off(signed: Deployment, public: Deployment) -> None:
    for deployment, protected in ((signed, True), (public, False)):
        assert [table.inputs["deletionProtectionEnabled"] for table in deployment.of(TABLE)] == [protected] * 8
        assert [table.protect for table in deployment.of(TABLE)] == [protected] * 8
    assert {resource.type for resource in signed.resources if resource.protect} == {TABLE, STASH}


def test_only_tables_of_a_region_that_leaves_lose_protection(leaving: Deployment) -> None:
    for table in leaving.of(TABLE):
        protected = table.inputs["region"] != GONE
        assert (table.protect, table.inputs["deletionProtectionEnabled"]) == (protected, protected)


@pytest.mark.slow
def test_a_region_that_leaves_keeps_all_that_it_had(leaving: Deployment) -> None:
    more: dict[str, Any] = {**SHOWN, "leaving": []}
    before = {made.urn: made for made in deploy(config(*THREE, GONE, **more)).resources}

    missing = [before.pop(urn).name for urn in {*before} - {made.urn for made in leaving.resources}]
    assert [name for name in missing if f"monitoring-{GONE}" not in name] == [
        f"integers-coordinator-{HOME}-check-{GONE}"
    ]
    assert {*before} == {made.urn for made in leaving.resources}
