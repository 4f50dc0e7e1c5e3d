"""The deployment answers as docs/openapi.yaml says, whether a request is one that the document allows or not."""

# pyright: reportUnknownVariableType=false

from typing import Any

import pytest
import requests
import schemathesis
from coordinate.protocol.model import Item
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis import Response as Received
from schemathesis.checks import CheckFunction, not_a_server_error, positive_data_acceptance

from local.paths import ROOT
from tests.lambda_.coordinator_calls import put_item
from tests.lambda_.fixtures import HOME, Ask, Stack
from tests.local.machine import HANGING, Machine

schema = schemathesis.openapi.from_path(ROOT / "docs" / "openapi.yaml")
# A key that another request has used is refused (422), however well formed both are.
schema.config.checks.positive_data_acceptance.expected_statuses = ["2xx", "404", "422"]
# Parameters that the document doesn't name are ignored; tests/lambda_/mint/test_handler.py sends them.
schema.config.generation.update(allow_extra_parameters=False)


@pytest.fixture(scope="module")
def url(opened: Machine) -> str:
    """A region's URL, without the slash at its end."""
    return opened.outputs()["urls"]["eu-west-1"].rstrip("/")


def asked(examples: int) -> settings:
    """Return how an operation of the document is tried."""
    health = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]
    return settings(max_examples=examples, suppress_health_check=health)


@schema.parametrize()  # pyright: ignore[reportUntypedFunctionDecorator]
@asked(5)
def test_the_deployment_answers_as_the_document_says(case: Case[Any], url: str) -> None:
    check(case, url)


@pytest.mark.long
@schema.parametrize()  # pyright: ignore[reportUntypedFunctionDecorator]
@asked(100)
def test_it_does_whatever_is_asked(case: Case[Any], url: str) -> None:
    check(case, url)


def check(case: Case[Any], url: str) -> None:
    """Ask the deployment, and check its response against the document."""
    response = case.call(base_url=url)
    excluded: list[CheckFunction] = []
    if response.status_code == 503:
        # The owner of an integer that is granted to no region yet; every other 503 is a failure of the deployment.
        assert case.path == "/{counter}/{integer}"
        assert case.method == "HEAD" or "grants integers step by step" in response.json()["detail"]
        excluded = [not_a_server_error, positive_data_acceptance]
    case.validate_response(response, excluded_checks=excluded)


def test_every_status_of_the_document_is_given() -> None:
    documented = {
        int(status)
        for path in schema.raw_schema["paths"].values()
        for name, operation in path.items()
        if name in ("get", "head", "post", "put")
        for status in operation["responses"]
    }

    assert documented == {200, 201, 400, 403, 404, 410, 413, 414, 422, 500, 503}


def test_a_region_that_has_left_answers_as_the_document_says(stack: Stack, ask: Ask) -> None:
    stack.monkeypatch.setenv("LEAVING", "us-east-1,eu-west-1")
    put_item(stack, HOME, Item(issued=7, stride=3, ceiling=7, epoch=1, fenced=True))

    for path, method, target in (
        ("/", "get", "/"),
        ("/{counter}", "post", "/integers"),
        ("/{counter}/{integer}", "get", "/nothing/8"),
        ("/-/health", "get", "/-/health"),
    ):
        response = ask(method.upper(), target)
        assert response["statusCode"] == 410
        schema[path][method].validate_response(
            Received(
                status_code=410,
                headers={name.lower(): [value] for name, value in response["headers"].items()},
                content=response["body"].encode(),
                request=requests.Request(method, "http://127.0.0.1" + target).prepare(),
                elapsed=0.0,
                verify=False,
            )
        )


@pytest.mark.parametrize(("path", "status"), [("/-/counters", 200), ("/integers/7", 200), ("/integers/0", 404)])
def test_head_is_answered_like_get_without_the_body(url: str, path: str, status: int) -> None:
    head, get = (requests.request(method, url + path, timeout=HANGING) for method in ("HEAD", "GET"))

    assert (head.status_code, get.status_code, head.content) == (status, status, b"")
    assert get.content
    for name in ("Content-Type", "Cache-Control"):
        assert head.headers[name] == get.headers[name]
