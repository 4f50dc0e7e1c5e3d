"""API Gateway at a deployment on this machine, beside the Function URLs."""

from collections.abc import Callable, Generator

import pytest

from local.aws_clients import Aws
from tests.local.machine import Machine, mint, processes_of, up

REGION = "eu-west-1"
ON = ("apiGateway=true", 'counters=["integers", "orders"]')


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = up(machines(), REGION, settings=ON)
    yield machine
    up(machine, REGION)
    assert not (machine.folder / "gateway.json").exists()
    machine.run("down")
    assert processes_of(machine.folder) == []


def test_it_answers_as_the_function_does(machine: Machine) -> None:
    outputs = machine.outputs()
    function, gateway = outputs["urls"][REGION], outputs["gatewayUrls"][REGION]

    for path in ("", "integers", "orders"):
        one, other = mint(function, path), mint(gateway, path)
        assert other == (200, {**one[1], "integer": one[1]["integer"] + 1})
    assert mint(gateway, "counter?systemKey=orders", "GET")[1]["counter"] == "orders"
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8"):
        assert mint(gateway, headers={"Content-Type": kind})[0] == 200
    assert mint(gateway, headers={"Idempotency-Key": "k"})[0] == 400
    refused = {"nothing": 404, "a%22b": 404, "a/b": 404, "counter": 400, "orders?count=5": 400}
    refused |= {"counter?systemKey=integers&systemKey=orders": 400, "orders?count=5&count=1": 400}
    for path, status in refused.items():
        found, document = mint(gateway, path)
        assert (found, document["status"]) == (status, status), path
        assert set(document) == {"type", "title", "status", "detail"}


def test_its_role_is_what_lets_it_in_and_up_mends_it(machine: Machine) -> None:
    gateway = machine.outputs()["gatewayUrls"][REGION]
    iam = Aws(machine.endpoint).client("iam", "us-east-1")

    iam.delete_role_policy(RoleName=f"global-integers-dev-gateway-{REGION}", PolicyName="own")
    assert mint(gateway)[0] == 503
    up(machine, REGION, settings=ON)
    assert mint(gateway)[0] == 200


@pytest.mark.long
def test_a_killed_process_comes_again_on_its_port(machine: Machine) -> None:
    gateway = machine.outputs()["gatewayUrls"][REGION]
    machine.kill(name="gateway")

    up(machine, REGION, settings=ON)

    assert machine.outputs()["gatewayUrls"][REGION] == gateway
    assert mint(gateway)[0] == 200
