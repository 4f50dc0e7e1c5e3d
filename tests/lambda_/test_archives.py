"""The archives of both functions, as they are deployed, under AWS's own runtime for Python (`awslambdaric`).

The program is deployed to the local AWS server, but its invocations of the coordinator are events of AWS's runtime.
"""

import json
import sys
from collections.abc import Generator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from global_integers_core.names import CHECK_COUNTER, DEPLOYMENTS_ALIAS
from local.aws_clients import Aws
from local.engine import Engine
from local.engine.inputs import as_json
from local.engine.program import Registration, run_program
from local.resources.lambda_ import INVOCATION
from local.stack import State
from proof.bench.runtime_api import FunctionError, Runtime, unpack
from tests.components.aws_answers import FUNCTION
from tests.components.running import PROJECT, config
from tests.lambda_.fixtures import recorded

pytestmark = [pytest.mark.long, pytest.mark.skipif(sys.platform != "linux", reason="awslambdaric runs on Linux only")]

HOME, OTHER = REGIONS = ("us-east-1", "eu-west-1")


class UnderRuntime(Engine):
    """Makes all that the program registers in the local server, but has AWS's runtime run the coordinator."""

    def __init__(self, aws: Aws, stack: str, folder: Path) -> None:
        super().__init__(aws, State(stack), lambda _event, _kind, _name: None)
        self._folder = folder
        self.functions: dict[tuple[str, str], Runtime] = {}
        """By region and handler. A copy is started."""
        self.runs: dict[str, tuple[Any, str]] = {}
        """The coordinator's reply and its log, by the invocation's name."""

    def create(self, resource: Registration) -> tuple[str, Mapping[str, Any]]:
        if resource.type == INVOCATION:
            coordinator = self.functions[HOME, "coordinate.handler.handler"]
            with replace(coordinator, qualifier=resource.inputs["qualifier"]) as runtime:
                reply = runtime.invoke(json.loads(resource.inputs["input"]))
                self.runs[resource.name] = reply, runtime.log
            return resource.name, {**resource.inputs, "result": json.dumps(reply)}
        if resource.type == FUNCTION:
            inputs = as_json(resource.inputs)
            folder = self._folder / resource.name
            unpack(inputs["code"], folder)
            logging = inputs["loggingConfig"]
            variables = {
                **inputs["environment"]["variables"],
                "AWS_ENDPOINT_URL": self._aws.endpoint,
                "AWS_LAMBDA_LOG_FORMAT": logging["logFormat"],
                "AWS_LAMBDA_LOG_LEVEL": logging["applicationLogLevel"],
            }
            names = inputs["name"], inputs["handler"], inputs["region"]
            # A busy machine may need longer than the function may take on AWS.
            function = Runtime(folder, *names, variables, inputs["memorySize"], timeout=250)
            self.functions[function.region, function.handler] = function
        return super().create(resource)


@pytest.fixture(scope="module")
def engine(aws: Aws, tmp_path_factory: pytest.TempPathFactory) -> UnderRuntime:
    """The program, deployed in two regions."""
    folder = tmp_path_factory.mktemp("archives")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GLOBAL_INTEGERS_LOCAL", str(folder))
        stack = f"t{uuid4().hex[:8]}"
        engine = UnderRuntime(aws, stack, folder)
        settings = config(*REGIONS, protect="false", scheduleMinutes="60", counters=["integers", "orders"])
        outcome = run_program(engine, project=PROJECT, stack=stack, config=settings)
    assert outcome.error is None, outcome.error
    return engine


@pytest.fixture
def mint(engine: UnderRuntime) -> Generator[Runtime]:
    """The minting function of the home region, cold."""
    with replace(engine.functions[HOME, "mint.handler.handler"]) as runtime:
        yield runtime


def document(response: Mapping[str, Any], status: int = 200) -> dict[str, Any]:
    assert response["statusCode"] == status, response
    return json.loads(response["body"])


def lines(log: str) -> list[dict[str, Any]]:
    """The lines of a log, each of which is a JSON object."""
    return [json.loads(line) for line in log.splitlines()]


@pytest.mark.parametrize("event", ["get", "http_api_post", "rest_get"])
def test_an_event_mints_the_regions_next_integer(event: str, mint: Runtime) -> None:
    first, second = (document(mint.invoke(recorded(event))) for _ in range(2))

    assert (first["counter"], first["region"]) == ("integers", HOME)
    assert first["integer"] % 2 == 1
    assert second["integer"] == first["integer"] + 2
    assert mint.log == ""


def test_a_table_that_is_gone_is_a_line_of_json_in_the_log(engine: UnderRuntime) -> None:
    deployed = engine.functions[HOME, "mint.handler.handler"]
    with replace(deployed, variables={**deployed.variables, "COUNTERS_TABLE": "gone"}) as runtime:
        response = runtime.invoke(recorded("get"))
        (line,) = lines(runtime.log)

    assert document(response, 503)["detail"] == "the table is unavailable; try again"
    assert (line["level"], line["logger"]) == ("WARNING", "mint.handler")
    assert "table unavailable" in line["message"]


def test_a_deployment_checks_regions_and_lays_out_counters(engine: UnderRuntime) -> None:
    reconciled, log = engine.runs["integers-coordinator-us-east-1-reconcile"]

    assert engine.runs["integers-coordinator-us-east-1-self"][0] == {"checked": "1"}
    for region in REGIONS:
        assert engine.runs[f"integers-coordinator-us-east-1-check-{region}"][0] == {"checked": region}
        assert engine.runs[f"integers-coordinator-us-east-1-release-{region}"][0] == {"released": region}
    assert {*reconciled["counters"]} == {"integers", "orders"}
    for counter in reconciled["counters"].values():
        assert counter["regions"] == {HOME: {"offset": 1, "stride": 2}, OTHER: {"offset": 2, "stride": 2}}
    created = {line["counter"] for line in lines(log) if line.get("phase") == "created"}
    assert created == {"integers", "orders", CHECK_COUNTER}


def test_a_refused_event_is_an_error_with_the_coordinators_words(engine: UnderRuntime) -> None:
    deployed = engine.functions[HOME, "coordinate.handler.handler"]
    with replace(deployed, qualifier=DEPLOYMENTS_ALIAS) as runtime:
        with pytest.raises(FunctionError, match=r"^CoordinatorError: .*did you mean schedule") as failed:
            runtime.invoke({"scheduled": True})
        line = lines(runtime.log)[-1]

    expected = {name: failed.value.document[name] for name in ("errorType", "errorMessage")}
    assert line == line | {"level": "ERROR", **expected}
