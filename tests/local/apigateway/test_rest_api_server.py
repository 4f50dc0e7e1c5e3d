"""API Gateway at a deployment on this machine: beside the Function URLs, and while regions are added."""

import http.client
import json
from collections.abc import Callable, Generator
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from local.aws_clients import Aws
from tests.local.machine import Clients, Machine, mint

ONE = ("eu-west-1",)
TWO = ("us-east-1", *ONE)
THREE = (*TWO, "ap-southeast-2")
ON = ("apiGateway=true", 'counters=["integers", "orders"]')
OFF = ON[1:]


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = machines()
    result = machine.up(*ONE, settings=ON)
    assert result.returncode == 0, result.stderr
    assert "served by a small process here" in result.stdout
    yield machine
    pid, _ = process(machine)
    machine.run("down")
    assert not runs(pid)
    assert not (machine.folder / "gateway.json").exists()


def process(machine: Machine) -> tuple[int, int]:
    """Its process and port."""
    record = json.loads((machine.folder / "gateway.json").read_text())
    return record["pid"], record["port"]


def test_it_answers_as_the_function_does(machine: Machine) -> None:
    outputs = machine.outputs()
    function, gateway = outputs["urls"]["eu-west-1"], outputs["gatewayUrls"]["eu-west-1"]

    for path in ("", "integers", "orders"):
        one, other = mint(function, path), mint(gateway, path)
        assert other == (200, {**one[1], "integer": one[1]["integer"] + 1})
    assert mint(gateway, "counter?systemKey=orders", "GET")[1]["counter"] == "orders"
    refused = {"nothing": 404, "a%22b": 404, "a/b": 404, "counter": 400, "orders?count=5": 400}
    refused |= {"counter?systemKey=integers&systemKey=orders": 400, "orders?count=5&count=1": 400}
    for path, status in refused.items():
        found, document = mint(gateway, path)
        assert (found, document["status"]) == (status, status), path
        assert set(document) == {"type", "title", "status", "detail"}


@pytest.fixture
def connection(machine: Machine) -> Generator[tuple[http.client.HTTPConnection, str]]:
    """A connection to a region's API, and the path there."""
    url = urlsplit(str(machine.outputs()["gatewayUrls"]["eu-west-1"]))
    with closing(http.client.HTTPConnection(url.netloc)) as made:
        yield made, url.path


def test_headers_arrive_as_sent_and_a_body_of_any_type(connection: tuple[http.client.HTTPConnection, str]) -> None:
    """As `curl -d ''` sends a body. DynamoDB itself refuses most types."""
    caller, path = connection

    def send(body: str, **headers: str) -> tuple[int, Any]:
        caller.request("POST", path, body, {name.replace("_", "-"): value for name, value in headers.items()})
        response = caller.getresponse()
        return response.status, json.load(response)

    status, problem = send("", IDEMPOTENCY_KEY="k")
    assert (status, "Idempotency-Key isn't supported" in problem["detail"]) == (400, True)
    for kind in ("application/x-www-form-urlencoded", "text/plain", "application/json; charset=utf-8"):
        assert send("x", Content_Type=kind)[0] == 200


def test_its_role_is_what_lets_it_in_and_up_mends_it(machine: Machine) -> None:
    gateway = machine.outputs()["gatewayUrls"]["eu-west-1"]
    iam = Aws(machine.endpoint).client("iam", "us-east-1")

    iam.delete_role_policy(RoleName="global-integers-dev-gateway-eu-west-1", PolicyName="own")
    assert mint(gateway)[0] == 503
    assert machine.up(*ONE, settings=ON).returncode == 0
    assert mint(gateway)[0] == 200


@pytest.mark.long
def test_both_urls_mint_while_a_region_is_added(machine: Machine) -> None:
    assert machine.up(*TWO, settings=ON).returncode == 0
    outputs = machine.outputs()
    both = {f"{region} {name}": url for name in ("urls", "gatewayUrls") for region, url in outputs[name].items()}
    clients = Clients(both)
    try:
        result = machine.up(*THREE, settings=ON)
        assert result.returncode == 0, result.stderr
        outputs = machine.outputs()
        clients.add({"ap-southeast-2 gatewayUrls": outputs["gatewayUrls"]["ap-southeast-2"]})
        clients.wait_for_more((*both, "ap-southeast-2 gatewayUrls"))
    finally:
        minted = clients.end()

    assert len(minted) == len(set(minted))
    assert clients.failed == {}
    base = outputs["counters"]["integers"]["base"]
    for place, name in enumerate(THREE, start=1):
        for (client, _), integers in clients.minted.items():
            if client.startswith(name):
                assert integers == sorted(integers)
                assert {n % 3 for n in integers if n >= base} == {place % 3}
    assert {client for client, _ in clients.minted} == {*both, "ap-southeast-2 gatewayUrls"}


def runs(pid: int) -> bool:
    try:
        return b"local.apigateway.rest_api_server" in Path(f"/proc/{pid}/cmdline").read_bytes()
    except FileNotFoundError:
        return False
