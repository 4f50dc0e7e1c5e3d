"""What every region gets: its tables, its function and URL, which integers are its own, and who may call."""

import inspect
import json
from importlib import import_module
from typing import get_overloads

import pulumi
import pytest

from components.region import cors, url_permissions
from components.settings.aws_regions import WITHOUT_FUNCTION_URLS, partitions
from components.settings.rules import MAX_ACCOUNTS
from tests.components.aws_answers import (
    FUNCTION,
    FUNCTION_URL,
    INVOCATION,
    LOG_GROUP,
    PERMISSION,
    ROLE,
    STASH,
    TABLE,
    url,
)
from tests.components.recording import Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, settings

THIRTY = (HOME, *sorted(r for r, partition in partitions().items() if partition == "aws" and r != HOME)[:29])


def takes_region(resource: Registration) -> bool:
    """Whether the type has an input `region`: by the signature of its class in pulumi_aws."""
    _, module, name = resource.type.split(":")
    package = module.split("/")[0]
    made_of: type[pulumi.CustomResource] = getattr(
        import_module(f"pulumi_aws.{'lambda_' if package == 'lambda' else package}"), name
    )
    return any("region" in inspect.signature(way).parameters for way in get_overloads(made_of.__init__))


def of_aws(deployment: Deployment) -> list[Registration]:
    return [resource for resource in deployment.resources if resource.type.startswith("aws:")]


def check_regions(deployment: Deployment, *regions: str) -> None:
    """Check that every region has all that is its own."""
    for kind, inputs in {
        TABLE: {"name": f"{PREFIX}-counters"},
        FUNCTION: {"name": f"{PREFIX}-mint"},
        FUNCTION_URL: {"functionName": f"{PREFIX}-mint"},
        LOG_GROUP: {"name": f"/aws/lambda/{PREFIX}-mint"},
    }.items():
        found = [made for made in deployment.of(kind) if inputs.items() <= made.inputs.items()]
        assert sorted(made.inputs["region"] for made in found) == sorted(regions), kind
    assert deployment.outputs["regions"] == list(regions)
    assert deployment.outputs["layout"] == {
        region: {"offset": offset, "stride": len(regions)} for offset, region in enumerate(regions, 1)
    }
    assert deployment.outputs["urls"] == {region: url(region) for region in regions}
    named = [(r.type, r.inputs.get("region"), r.inputs["name"]) for r in of_aws(deployment) if "name" in r.inputs]
    named = [name for name in named if not name[0].endswith(":RolePolicy")]  # those are their roles' own
    assert len(set(named)) == len(named), "two of a kind share a name in a region"


def test_every_region_has_its_own(one: Deployment, signed: Deployment) -> None:
    check_regions(one, HOME)
    check_regions(signed, *THREE)


@pytest.mark.slow
def test_thirty_regions_are_deployed_as_three_are() -> None:
    check_regions(deploy(config(*THIRTY, allowUrlRegions=sorted(WITHOUT_FUNCTION_URLS))), *THIRTY)


def test_a_function_writes_to_the_table_of_its_region(signed: Deployment) -> None:
    for region in THREE:
        mint = signed.one(FUNCTION, region=region, name=f"{PREFIX}-mint")
        table = signed.one(TABLE, region=region, name=mint.inputs["environment"]["variables"]["COUNTERS_TABLE"])

        assert table.name == f"integers-{region}-table"


def test_every_resource_says_its_region(signed: Deployment) -> None:
    regional = [resource for resource in of_aws(signed) if takes_region(resource)]

    assert [r.name for r in regional if r.inputs.get("region") not in THREE] == []
    assert {TABLE, FUNCTION, FUNCTION_URL, LOG_GROUP, INVOCATION} <= {resource.type for resource in regional}
    assert ROLE not in {resource.type for resource in regional}, "the check takes everything for regional"


def test_one_provider_serves_all_regions(signed: Deployment) -> None:
    assert [resource.name for resource in signed.resources if resource.providers] == []
    assert [r.name for r in signed.resources if r.type.startswith("pulumi:providers:")] == []


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


def test_the_statements_are_not_those_of_the_provider(public: Deployment) -> None:
    statements = {p.inputs["statementId"] for p in public.of(PERMISSION) if p.inputs["function"].endswith("-mint")}

    assert len(statements) == 2
    assert not statements & {"FunctionURLAllowPublicAccess", "FunctionURLAllowInvokeAction"}


def test_the_statements_are_made_one_after_the_other(public: Deployment) -> None:
    """Lambda may drop one of two statements that are added at the same time."""
    for region in THREE:
        first = public.one(PERMISSION, region=region, statementId="global-integers-public-url")
        second = public.one(PERMISSION, region=region, statementId="global-integers-public-invoke")
        assert public.one(FUNCTION_URL, region=region).urn in first.dependencies
        assert first.urn in second.dependencies


@pytest.mark.parametrize("signed", [True, False])
def test_pages_of_other_origins_send_what_the_api_reads(signed: bool, public_domain: Deployment) -> None:
    authorization = "AWS_IAM" if signed else "NONE"
    allowed = set(cors(settings(config(HOME, authorization=authorization)).access)["allow_headers"])

    assert {"accept", "content-type", "idempotency-key"} <= allowed
    signature = {"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}
    assert allowed & signature == (signature if signed else set())
    if not signed:
        assert set(public_domain.of(FUNCTION_URL)[0].inputs["cors"]["allowHeaders"]) == allowed


def test_by_default_requests_are_signed_and_nobody_let_in(signed: Deployment) -> None:
    assert [u.inputs["authorizationType"] for u in signed.of(FUNCTION_URL)] == ["AWS_IAM"] * 3
    assert [p.inputs["function"] for p in signed.of(PERMISSION)] == [f"{PREFIX}-coordinate"]


def test_the_coordinator_can_never_be_called_from_outside(public: Deployment) -> None:
    coordinate = f"{PREFIX}-coordinate"

    assert coordinate not in {u.inputs["functionName"] for u in public.of(FUNCTION_URL)}
    assert [p.inputs["principal"] for p in public.of(PERMISSION) if p.inputs["function"] == coordinate] == [
        "events.amazonaws.com"
    ]


def test_each_table_is_where_it_belongs(signed: Deployment) -> None:
    tables = {(table.inputs["name"], table.inputs["region"]) for table in signed.of(TABLE)}

    assert tables == {
        (f"{PREFIX}-layouts", HOME),
        (f"{PREFIX}-mirror", HOME),
        *((f"{PREFIX}-counters", region) for region in THREE),
        *((f"{PREFIX}-receipts", region) for region in THREE),
    }


def test_tables_are_protected_unless_it_is_turned_off(signed: Deployment, public: Deployment) -> None:
    for deployment, protected in ((signed, True), (public, False)):
        assert [table.inputs["deletionProtectionEnabled"] for table in deployment.of(TABLE)] == [protected] * 8
        assert [table.protect for table in deployment.of(TABLE)] == [protected] * 8
    assert {resource.type for resource in signed.resources if resource.protect} == {TABLE, STASH}


def test_tables_are_on_demand_and_can_be_restored(signed: Deployment) -> None:
    for table in signed.of(TABLE):
        name: str = table.inputs["name"].removeprefix(f"{PREFIX}-")
        key = "receipt" if name == "receipts" else "counter"
        assert table.inputs["billingMode"] == "PAY_PER_REQUEST"
        assert table.inputs["pointInTimeRecovery"] == {"enabled": True}
        assert table.inputs["hashKey"] == key
        assert table.inputs["attributes"] == [{"name": key, "type": "S"}]
        assert not {"rangeKey", "readCapacity", "writeCapacity"} & set(table.inputs)
        assert table.inputs.get("ttl") == ({"attributeName": "expires", "enabled": True} if key == "receipt" else None)
        told_apart = name in ("counters", "layouts"), "by its stream, from a successor of the same name"
        assert table.inputs["streamEnabled"] == told_apart[0], told_apart
