"""API Gateway straight to DynamoDB, where a stack asks for it."""

import json
import re
from typing import Any

import pulumi
import pulumi_aws as aws
import pytest

from components.gateway import Gateway, templates
from components.gateway import openapi as gateway_api
from components.settings import settings_of
from tests.components.aws_answers import ACCOUNT, API_DEPLOYMENT, METHOD_SETTINGS, POLICY, REST_API, ROLE, STAGE, TOPIC
from tests.components.recording import Aws, Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy

KINDS = (REST_API, API_DEPLOYMENT, STAGE, METHOD_SETTINGS)


TWO = THREE[:2]


@pytest.fixture(scope="module")
def on() -> Deployment:
    """In two regions."""
    return deploy(config(*TWO, apiGateway=True))


@pytest.fixture(scope="module")
def public_and_paused() -> Deployment:
    """For everyone, with other limits; the second region is paused."""
    more: dict[str, Any] = {"apiGatewayRate": 50, "apiGatewayBurst": 20, "paused": [TWO[1]]}
    return deploy(config(*TWO, apiGateway=True, authorization="NONE", **more))


def body(deployment: Deployment, region: str) -> dict[str, Any]:
    return json.loads(deployment.one(REST_API, region=region).inputs["body"])


def test_it_is_off_by_default_and_adds_seven_resources_a_region(on: Deployment) -> None:
    off = deploy(config(*TWO))
    assert [resource for kind in KINDS for resource in off.of(kind)] == []
    assert off.outputs["gatewayUrls"] == {}
    assert len(on.resources) - len(off.resources) == 7 * 2, "one of them the component"
    assert {kind: len(on.of(kind)) for kind in KINDS} == dict.fromkeys(KINDS, 2)


def test_every_region_has_a_url_that_ends_with_a_slash(on: Deployment) -> None:
    assert list(on.outputs["gatewayUrls"]) == list(TWO)
    for region, url in on.outputs["gatewayUrls"].items():
        assert re.fullmatch(rf"https://\w+\.execute-api\.{region}\.amazonaws\.com/v1/", url)


@pytest.mark.parametrize("region", TWO)
def test_its_role_may_update_the_regions_counters_only(on: Deployment, region: str) -> None:
    role = on.one(ROLE, name=f"{PREFIX}-gateway-{region}")
    (trusted,) = json.loads(role.inputs["assumeRolePolicy"])["Statement"]
    policy = json.loads(on.one(POLICY, role=role.inputs["name"]).inputs["policy"])

    assert trusted["Principal"] == {"Service": "apigateway.amazonaws.com"}
    assert policy["Statement"] == [
        {
            "Effect": "Allow",
            "Action": ["dynamodb:UpdateItem"],
            "Resource": [f"arn:aws:dynamodb:{region}:{ACCOUNT}:table/{PREFIX}-counters"],
        }
    ]


@pytest.mark.parametrize("region", TWO)
def test_every_method_asks_its_regions_dynamodb(on: Deployment, region: str) -> None:
    api = on.one(REST_API, region=region)
    assert api.inputs["endpointConfiguration"] == {"types": "REGIONAL"}
    document = body(on, region)

    assert set(document["paths"]) == {"/", "/{counter}", "/counter"}
    for path in document["paths"].values():
        assert set(path) == {"get", "post"}
        for operation in path.values():
            integration = operation["x-amazon-apigateway-integration"]
            assert integration["type"] == "aws"
            assert integration["uri"] == f"arn:aws:apigateway:{region}:dynamodb:action/UpdateItem"
            assert integration["credentials"] == f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-gateway-{region}"
            assert integration["passthroughBehavior"] == "never"
            statuses = [response["statusCode"] for response in integration["responses"].values()]
            assert sorted(statuses) == sorted(operation["responses"]), "each has a status of its own, which is declared"


def test_the_key_of_the_write_up_is_required(on: Deployment) -> None:
    document = body(on, THREE[0])

    assert document["x-amazon-apigateway-request-validator"] in document["x-amazon-apigateway-request-validators"]
    (parameter,) = document["paths"]["/counter"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("systemKey", "query", True)


def test_it_asks_for_a_signature_as_the_urls_do(on: Deployment, public_and_paused: Deployment) -> None:
    for deployment, signed in ((on, True), (public_and_paused, False)):
        document = body(deployment, TWO[0])
        operations = [operation for path in document["paths"].values() for operation in path.values()]
        assert [("security" in operation) for operation in operations] == [signed] * 6
        assert ("components" in document) == signed
    (scheme,) = body(on, TWO[0])["components"]["securitySchemes"].values()
    assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_throttling_is_as_configured(public_and_paused: Deployment) -> None:
    for settings in public_and_paused.of(METHOD_SETTINGS):
        assert settings.inputs["methodPath"] == "*/*"
        assert settings.inputs["settings"] == {"throttlingRateLimit": 50, "throttlingBurstLimit": 20}


def test_the_gateway_of_a_paused_region_answers_503(public_and_paused: Deployment) -> None:
    kinds = {
        region: {
            operation["x-amazon-apigateway-integration"]["type"]
            for path in body(public_and_paused, region)["paths"].values()
            for operation in path.values()
        }
        for region in TWO
    }
    assert kinds == {TWO[0]: {"aws"}, TWO[1]: {"mock"}}
    for path in body(public_and_paused, TWO[1])["paths"].values():
        for operation in path.values():
            integration = operation["x-amazon-apigateway-integration"]
            assert not {"uri", "credentials"} & set(integration)
            (response,) = integration["responses"].values()
            assert "responseOverride.status = 503" in response["responseTemplates"]["application/json"]


def test_a_leaving_region_names_those_to_go_to(leaving: Deployment) -> None:
    for region in (HOME, "us-west-2"):
        for path in body(leaving, region)["paths"].values():
            refused = path["get"]["x-amazon-apigateway-integration"]["responses"][r"4\d{2}"]
            template = refused["responseTemplates"]["application/json"]
            assert ("responseOverride.status = 410" in template) == (region == "us-west-2")
            assert (f'"regions": {json.dumps(THREE)}' in template) == (region == "us-west-2")


def test_what_passes_by_itself_is_said_to(on: Deployment) -> None:
    responses = body(on, HOME)[gateway_api.GATEWAY_RESPONSES]

    transient = {
        kind for kind, made in responses.items() if "gatewayresponse.header.Retry-After" in made["responseParameters"]
    }
    assert transient == {"API_CONFIGURATION_ERROR", "INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT", "THROTTLED"}
    assert {responses[kind]["statusCode"] for kind in transient} == {"503"}
    assert "REQUEST_TOO_LARGE" not in responses, "which API Gateway lets nobody change"


@pytest.mark.parametrize("paused", [False, True])
def test_callers_see_a_change_after_what_it_waits_for(paused: bool) -> None:
    """At once: what callers don't see, which is the API until it is deployed and what its role may do; and a pause."""

    def program() -> None:
        settings = settings_of({"home": HOME, "regions": [HOME], "paused": [HOME] if paused else []}, PREFIX)
        key = aws.dynamodb.TableAttributeArgs(name="counter", type="S")
        table = aws.dynamodb.Table("table", name="counters", region=HOME, hash_key="counter", attributes=[key])
        check = aws.sns.Topic("check", name="check", region=HOME)
        Gateway(
            "gateway",
            settings.region(HOME),
            names=settings.names,
            roles=settings.roles,
            signed=True,
            rate=1,
            burst=1,
            table=table,
            default_counter="integers",
            after=[check],
            opts=pulumi.ResourceOptions(),
        )

    deployment = deploy(config(HOME), program=program)

    check = deployment.one(TOPIC).urn
    waiting = {resource.type for resource in deployment.resources if check in resource.dependencies}
    assert waiting == (set() if paused else {API_DEPLOYMENT})
    assert deployment.one(API_DEPLOYMENT).urn in deployment.one(STAGE).dependencies


def test_access_logs_are_off(on: Deployment) -> None:
    for stage in on.of(STAGE):
        assert "accessLogSettings" not in stage.inputs


def test_it_is_deployed_anew_only_when_the_api_changes(
    on: Deployment, public_and_paused: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trigger(deployment: Deployment) -> Any:
        return deployment.one(API_DEPLOYMENT, region=HOME).inputs["triggers"]

    rate_only = deploy(config(HOME, apiGateway=True, apiGatewayRate=50))
    assert trigger(rate_only) == trigger(on) != trigger(public_and_paused)
    monkeypatch.setattr(templates, "RETRY_AFTER_SECONDS", "2")
    assert trigger(deploy(config(HOME, apiGateway=True), aws=Aws())) != trigger(on)
