"""A REST API that the process serves: what is refused, and when a change is served. The throttles of an HTTP API."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from local.apigateway import GATEWAY
from local.aws_clients import Aws
from local.engine.program import Registration
from local.paths import LocalError
from tests.components.running import gateway_document
from tests.local.machine import mint
from tests.local.registrations import HOME, registration, up

API = f"{HOME}-api"
TABLE = f"arn:aws:dynamodb:{HOME}:000000000000:table/counters"
ROLE = "arn:aws:iam::000000000000:role/gateway"


@pytest.fixture
def aws(aws: Aws, folder: Path) -> Generator[Aws]:
    yield aws
    up(aws)
    assert not GATEWAY.runs()


def openapi(*, paused: bool = False) -> dict[str, Any]:
    return gateway_document(HOME, TABLE, ROLE, paused=[HOME] if paused else [], authorization="NONE")


def rest_api(body: dict[str, Any]) -> Registration:
    return registration(
        "aws:apigateway/restApi:RestApi", "api", {"region": HOME, "name": "api", "body": json.dumps(body)}
    )


def deployment(trigger: str) -> Registration:
    inputs = {"region": HOME, "restApi": API, "triggers": {"body": trigger}}
    return registration("aws:apigateway/deployment:Deployment", "deployment", inputs)


def stage(trigger: str) -> Registration:
    inputs = {"region": HOME, "restApi": API, "deployment": f"{API}-{trigger}", "stageName": "v1"}
    return registration("aws:apigateway/stage:Stage", "stage", inputs)


def test_a_change_is_served_once_it_is_deployed(aws: Aws) -> None:
    (*_, served), _ = up(aws, rest_api(openapi(paused=True)), deployment("a"), stage("a"))

    def detail() -> str:
        return mint(f"{served['invokeUrl']}/")[1]["detail"]

    assert "paused" in detail()
    _, events = up(aws, rest_api(openapi()), deployment("a"), stage("a"))
    assert events["updated"] == 1
    assert "paused" in detail(), "callers see the API as it was deployed"
    _, events = up(aws, rest_api(openapi()), deployment("b"), stage("b"))
    assert (events["replaced"], events["updated"]) == (1, 1)
    assert "paused" not in detail()


def test_a_stage_that_is_gone_is_forbidden_and_comes_back(aws: Aws) -> None:
    resources = rest_api(openapi(paused=True)), deployment("a"), stage("a")
    (*_, served), _ = up(aws, *resources)

    up(aws, *resources[:2])
    assert mint(f"{served['invokeUrl']}/") == (403, {"message": "Forbidden"})
    _, events = up(aws, *resources)
    assert events["created"] == 1
    assert mint(f"{served['invokeUrl']}/")[0] == 503


def test_a_document_that_api_gateway_refuses_changes_nothing(aws: Aws) -> None:
    resources = rest_api(openapi(paused=True)), deployment("a"), stage("a")
    (*_, served), _ = up(aws, *resources)
    refused = json.loads(json.dumps(openapi()))
    del refused["paths"]["/"]["get"]["responses"]["500"]

    with pytest.raises(LocalError, match=r"BadRequestException.*PutRestApi.*No method response exists for method"):
        up(aws, rest_api(refused), deployment("b"), stage("b"))

    assert mint(f"{served['invokeUrl']}/")[0] == 503
    up(aws, *resources)


HEALTH = "GET /-/health"


@pytest.fixture
def http_api(aws: Aws) -> str:
    """The id of an API without routes."""
    client = aws.client("apigatewayv2", HOME)
    return client.create_api(Name=f"t{uuid4().hex[:8]}", ProtocolType="HTTP")["ApiId"]


def http_stage(api: str, rate: int) -> Registration:
    inputs: dict[str, Any] = {
        "region": HOME,
        "apiId": api,
        "name": "$default",
        "autoDeploy": True,
        "defaultRouteSettings": {"throttlingRateLimit": 80, "throttlingBurstLimit": 80},
        "routeSettings": [{"routeKey": HEALTH, "throttlingRateLimit": rate, "throttlingBurstLimit": rate}],
    }
    return registration("aws:apigatewayv2/stage:Stage", "stage", inputs)


def test_a_stage_has_the_throttles_of_its_routes(aws: Aws, http_api: str) -> None:
    client = aws.client("apigatewayv2", HOME)
    client.create_route(ApiId=http_api, RouteKey=HEALTH)

    for rate in (20, 30):
        up(aws, http_stage(http_api, rate))
        found = client.get_stage(ApiId=http_api, StageName="$default")
        assert found["DefaultRouteSettings"] == {"ThrottlingRateLimit": 80, "ThrottlingBurstLimit": 80}
        assert found["RouteSettings"] == {HEALTH: {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": rate}}


def test_a_stage_names_no_route_that_is_not_there(aws: Aws, http_api: str) -> None:
    with pytest.raises(LocalError, match="Unable to find Route by key GET /-/health"):
        up(aws, http_stage(http_api, 20))
