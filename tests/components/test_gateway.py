"""API Gateway straight to DynamoDB, where a stack asks for it."""

import json
from typing import Any

import pytest

from components import gateway_api
from local.program import UNKNOWN
from tests.components.aws_answers import (
    ACCOUNT,
    API_DEPLOYMENT,
    METHOD_SETTINGS,
    POLICY,
    REST_API,
    ROLE,
    STAGE,
)
from tests.components.recording import Deployment
from tests.components.running import PREFIX, THREE, config, deploy, deploy_badly

KINDS = (REST_API, API_DEPLOYMENT, STAGE, METHOD_SETTINGS)


@pytest.fixture(scope="module")
def on() -> Deployment:
    return deploy(config(*THREE, apiGateway="true"))


def body(deployment: Deployment, region: str) -> dict[str, Any]:
    return json.loads(deployment.one(REST_API, region=region).inputs["body"])


def test_it_is_off_by_default(signed: Deployment) -> None:
    assert [resource for kind in KINDS for resource in signed.of(kind)] == []
    assert signed.outputs["gatewayUrls"] == {}


def test_it_adds_seven_resources_a_region_one_of_them_the_component(on: Deployment, signed: Deployment) -> None:
    assert len(on.resources) - len(signed.resources) == 7 * 3
    assert {kind: len(on.of(kind)) for kind in KINDS} == dict.fromkeys(KINDS, 3)


def test_every_region_has_a_url_that_ends_with_a_slash(on: Deployment) -> None:
    assert on.outputs["gatewayUrls"] == {
        region: f"https://abc{region}.execute-api.{region}.amazonaws.com/v1/" for region in THREE
    }


def test_the_urls_are_unknown_in_a_preview() -> None:
    preview = deploy(config(*THREE, apiGateway="true"), preview=True)

    assert set(preview.outputs["gatewayUrls"].values()) == {UNKNOWN}


@pytest.mark.parametrize("region", THREE)
def test_its_role_may_update_the_regions_counter_table_and_nothing_else(on: Deployment, region: str) -> None:
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


@pytest.mark.parametrize("region", THREE)
def test_every_method_asks_that_regions_dynamodb_with_that_role(on: Deployment, region: str) -> None:
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
            statuses = {response["statusCode"] for response in integration["responses"].values()}
            assert statuses <= set(operation["responses"]), "a method answers with what it declares"


def test_the_key_of_the_write_up_is_required(on: Deployment) -> None:
    document = body(on, THREE[0])

    assert document["x-amazon-apigateway-request-validator"] in document["x-amazon-apigateway-request-validators"]
    (parameter,) = document["paths"]["/counter"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("systemKey", "query", True)


@pytest.mark.parametrize(("authorization", "signed"), [("AWS_IAM", True), ("NONE", False)])
def test_it_asks_for_a_signature_as_the_urls_do(authorization: str, signed: bool) -> None:
    document = body(deploy(config(*THREE, apiGateway="true", authorization=authorization)), THREE[1])

    operations = [operation for path in document["paths"].values() for operation in path.values()]
    assert [("security" in operation) for operation in operations] == [signed] * 6
    assert ("components" in document) == signed
    if signed:
        (scheme,) = document["components"]["securitySchemes"].values()
        assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_throttling_is_as_configured() -> None:
    deployment = deploy(config(*THREE, apiGateway="true", apiGatewayRate="50", apiGatewayBurst="20"))

    for settings in deployment.of(METHOD_SETTINGS):
        assert settings.inputs["methodPath"] == "*/*"
        assert settings.inputs["settings"] == {"throttlingRateLimit": 50, "throttlingBurstLimit": 20}


def test_the_gateway_of_a_paused_region_calls_nothing_and_answers_503(on: Deployment) -> None:
    deployment = deploy(config(*THREE, apiGateway="true", paused=[THREE[1]]))

    assert body(deployment, THREE[0]) == body(on, THREE[0])
    for path in body(deployment, THREE[1])["paths"].values():
        for operation in path.values():
            integration = operation["x-amazon-apigateway-integration"]
            assert integration["type"] == "mock"
            assert not {"uri", "credentials"} & set(integration)
            (response,) = integration["responses"].values()
            assert "responseOverride.status = 503" in response["responseTemplates"]["application/json"]


def test_access_logs_are_off(on: Deployment) -> None:
    for stage in on.of(STAGE):
        assert "accessLogSettings" not in stage.inputs


def test_it_is_deployed_anew_when_the_api_changes_and_only_then(
    on: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def triggers(deployment: Deployment) -> dict[str, Any]:
        return {made.inputs["region"]: made.inputs["triggers"] for made in deployment.of(API_DEPLOYMENT)}

    assert triggers(deploy(config(*THREE, apiGateway="true", apiGatewayRate="50"))) == triggers(on)
    monkeypatch.setattr(gateway_api, "RETRY_AFTER_SECONDS", "2")
    changed = triggers(deploy(config(*THREE, apiGateway="true")))
    assert all(changed[region] != triggers(on)[region] for region in THREE)


def test_a_long_stack_name_is_refused_for_its_longer_role() -> None:
    room = 64 - len("-gateway-ap-southeast-2")
    longest = "s" * (room - len("global-integers-"))
    deploy(config(*THREE, apiGateway="true"), stack=longest)
    error, _ = deploy_badly(config(*THREE, apiGateway="true"), stack=longest + "s")
    assert f"at most {room} are possible" in str(error)
