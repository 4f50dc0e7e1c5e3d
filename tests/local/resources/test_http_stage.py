"""An HTTP API's stage on a real server: the throttles of its routes."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from local.aws_clients import Aws
from local.engine.program import Registration
from local.paths import LocalError
from tests.local.registrations import registration, up

REGION = "eu-west-1"

HEALTH = "GET /-/health"


@pytest.fixture
def api(folder: Path, aws: Aws) -> str:
    """The id of an API without routes."""
    client = aws.client("apigatewayv2", REGION)
    return client.create_api(Name=f"t{uuid4().hex[:8]}", ProtocolType="HTTP")["ApiId"]


def stage(api: str, rate: int) -> Registration:
    inputs: dict[str, Any] = {
        "region": REGION,
        "apiId": api,
        "name": "$default",
        "autoDeploy": True,
        "defaultRouteSettings": {"throttlingRateLimit": 80, "throttlingBurstLimit": 80},
        "routeSettings": [{"routeKey": HEALTH, "throttlingRateLimit": rate, "throttlingBurstLimit": rate}],
    }
    return registration("aws:apigatewayv2/stage:Stage", "stage", inputs)


def test_a_stage_has_the_throttles_of_its_routes(aws: Aws, api: str) -> None:
    client = aws.client("apigatewayv2", REGION)
    client.create_route(ApiId=api, RouteKey=HEALTH)

    for rate in (20, 30):
        up(aws, stage(api, rate))
        found = client.get_stage(ApiId=api, StageName="$default")
        assert found["DefaultRouteSettings"] == {"ThrottlingRateLimit": 80, "ThrottlingBurstLimit": 80}
        assert found["RouteSettings"] == {HEALTH: {"ThrottlingRateLimit": rate, "ThrottlingBurstLimit": rate}}


def test_a_stage_names_no_route_that_is_not_there(aws: Aws, api: str) -> None:
    with pytest.raises(LocalError, match="Unable to find Route by key GET /-/health"):
        up(aws, stage(api, 20))
