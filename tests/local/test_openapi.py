"""Nothing differs from docs/openapi.yaml: schemathesis asks the deployment whatever the document allows, and more."""

from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis import Case

from local.paths import ROOT
from tests.local.machine import Machine

schema = schemathesis.openapi.from_path(ROOT / "docs" / "openapi.yaml")
# A key that another request has used is refused (422), however well formed both are.
schema.config.checks.positive_data_acceptance.expected_statuses = ["2xx", "404", "422"]
# Parameters that the document doesn't name are ignored, as usual; tests/functions/test_any_event.py sends them too.
schema.config.generation.update(allow_extra_parameters=False)
PATIENT = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much]


@pytest.fixture(scope="module")
def url(deployed: Machine) -> str:
    """A region's URL, without the slash at its end."""
    result = deployed.up(settings=("openCounters=true",))
    assert result.returncode == 0, result.stderr
    return deployed.outputs()["urls"]["eu-west-1"].rstrip("/")


@schema.parametrize()  # pyright: ignore[reportUntypedFunctionDecorator]
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow, HealthCheck.filter_too_much],
)
def test_the_deployment_answers_as_the_document_says(case: Case[Any], url: str) -> None:
    case.call_and_validate(base_url=url)


def test_every_status_of_the_document_is_one_that_the_function_gives() -> None:
    documented = {
        int(status)
        for path in schema.raw_schema["paths"].values()
        for name, operation in path.items()
        if name in ("get", "post", "put")
        for status in operation["responses"]
    }

    assert documented == {200, 201, 400, 403, 404, 413, 422, 500, 503}
