"""What every region gets, which integers are its own, and who may call its URL."""

import inspect
from importlib import import_module
from typing import Any, get_overloads

import boto3
import pulumi
import pytest

from components.partitions import WITHOUT_FUNCTION_URLS
from tests.components.aws_answers import FUNCTION, FUNCTION_URL, INVOCATION, LOG_GROUP, PERMISSION, ROLE, TABLE, url
from tests.components.recording import Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy

THIRTY = tuple(boto3.Session().get_available_regions("lambda"))[:30]
WITHOUT_URLS = sorted(WITHOUT_FUNCTION_URLS)


@pytest.fixture(scope="module", params=[THREE[:1], THREE, THIRTY], ids=lambda regions: f"{len(regions)} regions")
def regions(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return request.param


@pytest.fixture(scope="module")
def deployment(regions: tuple[str, ...]) -> Deployment:
    return deploy(config(*regions, allowUrlRegions=WITHOUT_URLS))


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


def test_every_region_has_a_counter_table_of_the_same_name(deployment: Deployment, regions: tuple[str, ...]) -> None:
    tables = [table for table in deployment.of(TABLE) if table.inputs["name"] == f"{PREFIX}-counters"]

    assert sorted(table.inputs["region"] for table in tables) == sorted(regions)


@pytest.mark.parametrize(
    ("resource_type", "inputs"),
    [
        (FUNCTION, {"name": f"{PREFIX}-mint"}),
        (FUNCTION_URL, {"functionName": f"{PREFIX}-mint"}),
        (LOG_GROUP, {"name": f"/aws/lambda/{PREFIX}-mint"}),
    ],
    ids=["function", "URL", "log group"],
)
def test_every_region_has_its_own(
    deployment: Deployment, regions: tuple[str, ...], resource_type: str, inputs: dict[str, Any]
) -> None:
    found = [r for r in deployment.of(resource_type) if inputs.items() <= r.inputs.items()]

    assert sorted(resource.inputs["region"] for resource in found) == sorted(regions)


def test_a_function_writes_to_the_table_of_its_region(deployment: Deployment, regions: tuple[str, ...]) -> None:
    for region in regions:
        mint = deployment.one(FUNCTION, region=region, name=f"{PREFIX}-mint")
        table = deployment.one(TABLE, region=region, name=mint.inputs["environment"]["variables"]["COUNTERS_TABLE"])

        assert table.name == f"integers-{region}-table"


def test_the_exported_regions_are_in_the_configured_order(deployment: Deployment, regions: tuple[str, ...]) -> None:
    assert deployment.outputs["regions"] == list(regions)


def test_offsets_are_the_places_in_the_list_and_the_stride_is_its_length(
    deployment: Deployment, regions: tuple[str, ...]
) -> None:
    layout = deployment.outputs["layout"]

    assert [layout[region]["offset"] for region in regions] == list(range(1, len(regions) + 1))
    assert [layout[region]["stride"] for region in regions] == [len(regions)] * len(regions)
    assert len(layout) == len(regions)


def test_every_region_has_a_url_of_that_region(deployment: Deployment, regions: tuple[str, ...]) -> None:
    assert deployment.outputs["urls"] == {region: url(region) for region in regions}


def test_every_resource_says_its_region_where_its_type_has_one(
    deployment: Deployment, regions: tuple[str, ...]
) -> None:
    regional = [resource for resource in of_aws(deployment) if takes_region(resource)]

    assert [r.name for r in regional if r.inputs.get("region") not in {*regions, HOME}] == []
    assert {TABLE, FUNCTION, FUNCTION_URL, LOG_GROUP, INVOCATION} <= {resource.type for resource in regional}
    assert ROLE not in {resource.type for resource in regional}, "the check takes everything for regional"


def test_one_provider_serves_all_regions(deployment: Deployment) -> None:
    assert [resource.name for resource in deployment.resources if resource.providers] == []
    assert [r.name for r in deployment.resources if r.type.startswith("pulumi:providers:")] == []


def test_no_two_resources_of_a_kind_share_a_name_in_a_region(deployment: Deployment) -> None:
    named = [(r.type, r.inputs.get("region"), r.inputs["name"]) for r in of_aws(deployment) if "name" in r.inputs]
    named = [name for name in named if not name[0].endswith(":RolePolicy")]  # those are their roles' own

    assert len(set(named)) == len(named)


@pytest.mark.parametrize("region", THREE)
def test_everyone_may_call_a_public_url_and_call_the_function_through_it(public: Deployment, region: str) -> None:
    function = public.one(FUNCTION, name=f"{PREFIX}-mint", region=region).inputs["name"]
    granted = [
        {key: value for key, value in permission.inputs.items() if key not in ("region", "statementId")}
        for permission in public.of(PERMISSION)
        if permission.inputs["region"] == region and permission.inputs["function"] == function
    ]

    assert sorted(granted, key=lambda permission: permission["action"]) == [
        {"action": "lambda:InvokeFunction", "function": function, "principal": "*", "invokedViaFunctionUrl": True},
        {"action": "lambda:InvokeFunctionUrl", "function": function, "principal": "*", "functionUrlAuthType": "NONE"},
    ]


def test_the_two_statements_are_not_those_that_the_provider_adds_by_itself(public: Deployment) -> None:
    statements = {p.inputs["statementId"] for p in public.of(PERMISSION) if p.inputs["function"].endswith("-mint")}

    assert len(statements) == 2
    assert not statements & {"FunctionURLAllowPublicAccess", "FunctionURLAllowInvokeAction"}


@pytest.mark.parametrize("region", THREE)
def test_the_url_and_the_two_statements_are_made_one_after_the_other(public: Deployment, region: str) -> None:
    """Lambda may drop one of two statements that are added at the same time."""
    function_url = public.one(FUNCTION_URL, region=region)
    first = public.one(PERMISSION, region=region, statementId="global-integers-public-url")
    second = public.one(PERMISSION, region=region, statementId="global-integers-public-invoke")

    assert function_url.urn in first.dependencies
    assert first.urn in second.dependencies


@pytest.mark.parametrize(("authorization", "signs"), [("AWS_IAM", True), ("NONE", False)])
def test_pages_of_other_origins_may_send_what_the_api_reads(authorization: str, signs: bool) -> None:
    deployment = deploy(config(HOME, corsOrigins=["https://shop.example"], authorization=authorization))

    allowed = set(deployment.one(FUNCTION_URL).inputs["cors"]["allowHeaders"])
    assert {"accept", "content-type", "idempotency-key"} <= allowed
    signature = {"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}
    assert allowed & signature == (signature if signs else set())


def test_a_public_url_asks_for_no_signature(public: Deployment) -> None:
    assert [u.inputs["authorizationType"] for u in public.of(FUNCTION_URL)] == ["NONE"] * 3


def test_by_default_requests_must_be_signed_and_nobody_is_let_in(signed: Deployment) -> None:
    assert [u.inputs["authorizationType"] for u in signed.of(FUNCTION_URL)] == ["AWS_IAM"] * 3
    assert [p.inputs["function"] for p in signed.of(PERMISSION)] == [f"{PREFIX}-coordinate"]


def test_the_coordinator_can_never_be_called_from_outside(public: Deployment) -> None:
    coordinate = f"{PREFIX}-coordinate"

    assert coordinate not in {u.inputs["functionName"] for u in public.of(FUNCTION_URL)}
    assert [p.inputs["principal"] for p in public.of(PERMISSION) if p.inputs["function"] == coordinate] == [
        "events.amazonaws.com"
    ]
