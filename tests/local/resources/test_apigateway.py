"""A REST API that the process serves: what is refused, and when a change is served. The throttles of an HTTP API."""

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from local.apigateway import GATEWAY
from local.aws_clients import Aws
from local.engine.program import Registration
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
