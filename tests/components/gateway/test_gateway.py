"""API Gateway straight to DynamoDB, where a stack asks for it."""

import json
from typing import Any

import pytest

from components.gateway import openapi as gateway_api
from components.gateway import templates
from tests.components.aws_answers import ACCOUNT, API_DEPLOYMENT, REST_API, STAGE
from tests.components.recording import Aws, Deployment
from tests.components.running import HOME, PREFIX, THREE, config, deploy

TWO = THREE[:2]


@pytest.fixture(scope="module")
def public_and_paused() -> Deployment:
    """For everyone, with other limits; the second region is paused."""
    more: dict[str, Any] = {"apiGatewayRate": 50, "apiGatewayBurst": 20, "paused": [TWO[1]]}
    return deploy(config(*TWO, apiGateway=True, authorization="NONE", **more))


def body(deployment: Deployment, region: str) -> dict[str, Any]:
    return json.loads(deployment.one(REST_API, region=region).inputs["body"])


def operations(deployment: Deployment, region: str) -> list[dict[str, Any]]:
    return [operation for methods in body(deployment, region)["paths"].values() for operation in methods.values()]


@pytest.mark.parametrize("region", TWO)
def test_every_method_asks_its_regions_dynamodb(leaving: Deployment, region: str) -> None:
    document = body(leaving, region)
    asked = {
        "type": "aws",
        "uri": f"arn:aws:apigateway:{region}:dynamodb:action/UpdateItem",
        "credentials": f"arn:aws:iam::{ACCOUNT}:role/{PREFIX}-gateway-{region}",
        "passthroughBehavior": "never",
    }

    assert {*document["paths"]} == {"/", "/{counter}", "/counter"}
    assert [{*methods} for methods in document["paths"].values()] == [{"get", "post"}] * 3
    for operation in operations(leaving, region):
        integration = operation["x-amazon-apigateway-integration"]
        assert asked.items() <= integration.items()
        statuses = [response["statusCode"] for response in integration["responses"].values()]
        assert sorted(statuses) == sorted(operation["responses"]), "each has a status of its own, which is declared"
    assert document["x-amazon-apigateway-request-validator"] in document["x-amazon-apigateway-request-validators"]
    (parameter,) = document["paths"]["/counter"]["get"]["parameters"]
    assert (parameter["name"], parameter["in"], parameter["required"]) == ("systemKey", "query", True)


def test_it_asks_for_a_signature_as_the_urls_do(leaving: Deployment, public_and_paused: Deployment) -> None:
    for deployment, signed in ((leaving, True), (public_and_paused, False)):
        assert [("security" in operation) for operation in operations(deployment, TWO[0])] == [signed] * 6
        assert ("components" in body(deployment, TWO[0])) == signed
    (scheme,) = body(leaving, TWO[0])["components"]["securitySchemes"].values()
    assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"


def test_the_gateway_of_a_paused_region_answers_503(public_and_paused: Deployment) -> None:
    for operation in operations(public_and_paused, TWO[1]):
        integration = operation["x-amazon-apigateway-integration"]
        assert integration["type"] == "mock"
        assert not {"uri", "credentials"} & set(integration)
        (response,) = integration["responses"].values()
        assert "responseOverride.status = 503" in response["responseTemplates"]["application/json"]


def test_what_passes_by_itself_is_said_to(leaving: Deployment) -> None:
    responses = body(leaving, HOME)[gateway_api.GATEWAY_RESPONSES]

    transient = {
        kind for kind, made in responses.items() if "gatewayresponse.header.Retry-After" in made["responseParameters"]
    }
    assert transient == {"API_CONFIGURATION_ERROR", "INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT", "THROTTLED"}
    assert {responses[kind]["statusCode"] for kind in transient} == {"503"}
    assert "REQUEST_TOO_LARGE" not in responses, "which API Gateway lets nobody change"


@pytest.mark.parametrize(("region", "waiting"), [(TWO[0], {API_DEPLOYMENT}), (TWO[1], set[str]())])
def test_callers_see_a_change_after_what_it_waits_for(
    public_and_paused: Deployment, region: str, waiting: set[str]
) -> None:
    """At once: what callers don't see, which is the API until it is deployed and what its role may do; and a pause."""
    own = [each for each in public_and_paused.resources if f"{region}-gateway" in each.name]
    (release,) = (each.urn for each in public_and_paused.releases() if each.name.endswith(region))

    assert {each.type for each in own if release in each.dependencies} == waiting
    deployed = public_and_paused.one(API_DEPLOYMENT, region=region)
    assert deployed.urn in public_and_paused.one(STAGE, region=region).dependencies


def test_it_is_deployed_anew_only_when_the_api_changes(
    public_and_paused: Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    def trigger(deployment: Deployment) -> Any:
        return deployment.one(API_DEPLOYMENT, region=HOME).inputs["triggers"]

    before, rate_only = (trigger(deploy(config(HOME, apiGateway=True, apiGatewayRate=rate))) for rate in (1000, 50))
    assert rate_only == before != trigger(public_and_paused)
    monkeypatch.setattr(templates, "RETRY_AFTER_SECONDS", "2")
    assert trigger(deploy(config(HOME, apiGateway=True), aws=Aws())) != before
