"""The address of a deployment on this machine: it answers from the nearest region that is well."""

import http.client
import json
import os
import signal
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any, cast

import pytest
from botocore.auth import SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from local.address.health import INTERVAL, TIMEOUT
from local.resources import Aws
from tests.local.machine import Machine, processes_of

REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
DOMAIN = "integers.example.com"
ADDRESS = (f"domain={DOMAIN}", "hostedZone=example.com")
MINT = "global-integers-dev-mint"
THRESHOLD = 2
"""That the program registers."""

MINTED: list[int] = []
"""All integers that these tests got."""


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    machine = machines()
    result = machine.up(*REGIONS, settings=(*ADDRESS, "apiGateway=true"))
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


def call(
    machine: Machine, path: str = "/", host: str = "", method: str = "POST", **headers: str
) -> tuple[int, dict[str, Any]]:
    """Return status and document of a request to the address."""
    _, port = process(machine)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()} | ({"Host": host} if host else {})
        connection.request(method, path, headers=named)
        response = connection.getresponse()
        document = json.load(response)
    finally:
        connection.close()
    if response.status == 200:
        MINTED.extend(document.get("integers", [document["integer"]] if "integer" in document else []))
    return response.status, document


def process(machine: Machine) -> tuple[int, int]:
    """Its process and port."""
    record = json.loads((machine.folder / "address.json").read_text())
    return record["pid"], record["port"]


def regions(machine: Machine, start: str = "us-east-1") -> str:
    """The region that mints for a caller in the region `start`, or why none does."""
    status, document = call(machine, x_from_region=start)
    return document["region"] if status == 200 else f"{status} {document}"


def moved(machine: Machine, to: str, start: str = "us-east-1") -> float:
    """Wait until the address answers from the region `to`. Return the seconds that took."""
    began = time.monotonic()
    while regions(machine, start) != to:
        assert time.monotonic() - began < 60
        time.sleep(0.1)
    return time.monotonic() - began


def test_the_nearest_region_mints_and_another_ones_is_elsewhere(machine: Machine) -> None:
    assert call(machine)[1]["region"] == "us-east-1"
    assert call(machine, host=DOMAIN)[1]["region"] == "us-east-1"
    nearest = {"eu-north-1": "eu-west-1", "ap-southeast-4": "ap-southeast-2", "us-west-2": "us-east-1"}
    assert {start: regions(machine, start) for start in nearest} == nearest


def test_each_region_mints_its_own_integers_under_its_own_name(machine: Machine) -> None:
    for place, region in enumerate(REGIONS, 1):
        status, minted = call(machine, "/integers?count=2", host=f"{region}.{DOMAIN}")
        assert (status, minted["region"]) == (200, region)
        assert {integer % 3 for integer in minted["integers"]} == {place % 3}


def test_an_http_proxy_is_another_way_to_name_the_host(machine: Machine) -> None:
    assert call(machine, f"http://eu-west-1.{DOMAIN}:80/", host=DOMAIN)[1]["region"] == "eu-west-1"
    assert call(machine, f"http://eu-west-1.{DOMAIN}", host=DOMAIN)[1]["region"] == "eu-west-1"


def test_the_apis_without_a_function_have_a_name_too(machine: Machine) -> None:
    for start in ("us-east-1", "eu-west-2"):
        status, minted = call(machine, "/integers", host=f"gateway.{DOMAIN}", x_from_region=start)
        assert (status, minted["region"]) == (200, {"eu-west-2": "eu-west-1"}.get(start, start))


def test_what_the_function_responds_arrives_as_it_is(machine: Machine) -> None:
    status, problem = call(machine, "/nothing%20here?count=1")
    assert (status, problem["status"]) == (404, 404)
    assert [call(machine, method="DELETE")[0], call(machine, "/?count=0")[0]] == [405, 400]
    assert call(machine, "//mars/", host=DOMAIN)[1]["status"] == 404
    first = call(machine, Idempotency_Key="cart-99")
    assert call(machine, Idempotency_Key="cart-99") == first
    MINTED.remove(first[1]["integer"])  # it was returned twice, as it should be


def test_wrong_names_and_places_are_said(machine: Machine) -> None:
    status, document = call(machine, host=f"mars.{DOMAIN}")
    assert (status, f"there is no record for mars.{DOMAIN}" in document["message"]) == (404, True)
    status, document = call(machine, x_from_region="mars")
    assert (status, "'mars' is not a region" in document["message"]) == (400, True)


@pytest.mark.long
def test_the_outputs_and_up_say_where_it_is_and_it_comes_again_on_its_port(machine: Machine) -> None:
    pid, port = process(machine)
    outputs = machine.outputs()
    assert (outputs["address"], outputs["localAddress"]) == (f"https://{DOMAIN}/", f"http://127.0.0.1:{port}/")

    again = machine.up(*REGIONS, settings=(*ADDRESS, "apiGateway=true"))
    assert process(machine) == (pid, port), "a second run leaves it alone"
    assert f"curl http://127.0.0.1:{port}/    (Host: {DOMAIN})" in again.stdout
    os.kill(pid, signal.SIGKILL)
    assert machine.up(*REGIONS, settings=(*ADDRESS, "apiGateway=true")).returncode == 0
    fresh, same = process(machine)

    assert (fresh != pid, same) == (True, port)
    assert regions(machine) == "us-east-1"
    shown = machine.run("demo").stdout
    assert f"the address, http://127.0.0.1:{port}/, minted " in shown
    assert "take a region down:" in shown


def test_a_region_that_cannot_mint_is_left_out_until_it_can(machine: Machine) -> None:
    table = Aws(f"http://127.0.0.1:{machine.port}").client("dynamodb", "us-east-1")
    assert regions(machine) == "us-east-1"

    table.delete_table(TableName="global-integers-dev-counters")
    assert regions(machine).startswith("503"), "its callers notice at once, the address only later"
    within = moved(machine, "eu-west-1")
    assert within < THRESHOLD * (INTERVAL + TIMEOUT) + 5
    assert regions(machine, "ap-southeast-2") == "ap-southeast-2"
    assert call(machine, "/-/health", f"us-east-1.{DOMAIN}", "GET")[0] == 503
    assert call(machine, "/-/health", f"eu-west-1.{DOMAIN}", "GET") == (200, {"status": "ok", "region": "eu-west-1"})

    assert machine.up(*REGIONS, settings=(*ADDRESS, "apiGateway=true")).returncode == 0
    moved(machine, "us-east-1")


@pytest.mark.long
def test_a_paused_region_is_left_out_and_if_all_are_each_is_asked_again(machine: Machine) -> None:
    functions = {region: Aws(f"http://127.0.0.1:{machine.port}").client("lambda", region) for region in REGIONS}
    paused = ("us-east-1", "eu-west-1")
    assert machine.up(*REGIONS, settings=(*ADDRESS, f"paused={json.dumps(paused)}")).returncode == 0
    moved(machine, "ap-southeast-2")

    functions["ap-southeast-2"].put_function_concurrency(FunctionName=MINT, ReservedConcurrentExecutions=0)
    functions["us-east-1"].delete_function_concurrency(FunctionName=MINT)
    moved(machine, "us-east-1")
    functions["us-east-1"].put_function_concurrency(FunctionName=MINT, ReservedConcurrentExecutions=0)
    assert regions(machine).startswith("429")

    functions["ap-southeast-2"].delete_function_concurrency(FunctionName=MINT)
    assert machine.up(*REGIONS, settings=ADDRESS).returncode == 0
    moved(machine, "us-east-1")


def test_no_integer_was_minted_twice(machine: Machine) -> None:
    assert len(MINTED) == len(set(MINTED)) > 20


def test_signed_requests_mint_by_the_name_of_a_region(machine: Machine) -> None:
    assert machine.up(*REGIONS, settings=(*ADDRESS, "authorization=AWS_IAM")).returncode == 0
    iam = Aws(f"http://127.0.0.1:{machine.port}").client("iam", "us-east-1")
    allow = {"Effect": "Allow", "Action": "execute-api:Invoke", "Resource": "arn:aws:execute-api:*:*:*/v1/*"}
    iam.create_user(UserName="caller")
    iam.put_user_policy(
        UserName="caller", PolicyName="mint", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [allow]})
    )
    key = iam.create_access_key(UserName="caller")["AccessKey"]
    keys = Credentials(key["AccessKeyId"], key["SecretAccessKey"])

    for region in REGIONS:
        host = f"{region}.{DOMAIN}"
        assert call(machine, "/-/health", host, "GET") == (200, {"status": "ok", "region": region})
        assert call(machine, host=host)[0] == 403
        status, minted = call(machine, "/integers?count=2", host, **signed(keys, host, region))
        assert (status, minted.get("region")) == (200, region), minted
        wrong = Credentials(keys.access_key, "x" * 40)
        assert call(machine, "/integers?count=2", host, **signed(wrong, host, region))[0] == 403
    assert call(machine)[0] == 403
    status, document = call(machine, "/integers?count=2", **signed(keys, DOMAIN, "us-east-1"))
    assert (status, f"sign for us-east-1.{DOMAIN}" in document["message"]) == (501, True)


def signed(keys: Credentials, host: str, region: str) -> Mapping[str, str]:
    request = AWSRequest("POST", f"http://{host}/integers?count=2")
    cast("Any", SigV4Auth(keys, "execute-api", region)).add_auth(request)
    return {str(name): str(value) for name, value in cast("Any", request.headers).items()}


@pytest.mark.long
def test_without_a_zone_nothing_answers_and_up_says_so(machine: Machine) -> None:
    pid, _ = process(machine)
    result = machine.up(*REGIONS, settings=(f"domain={DOMAIN}",))

    assert result.returncode == 0, result.stderr
    assert "the records are made by hand, so nothing answers at it here. To try it: " in result.stdout
    assert "localAddress" not in machine.outputs()
    assert pid not in processes_of(machine.folder)

    assert machine.up(*REGIONS, settings=(f"domain={DOMAIN}", "functionUrls=false")).returncode == 0
    assert "there are no Function URLs to mint by.\naddress: the records are made by hand" in machine.run("demo").stderr


@pytest.mark.long
def test_without_function_urls_the_demo_mints_by_the_names(machine: Machine) -> None:
    assert machine.up(*REGIONS, settings=(*ADDRESS, "functionUrls=false")).returncode == 0

    shown = machine.run("demo")

    assert shown.returncode == 0, shown.stderr
    url = machine.outputs()["localAddress"]
    assert f"mint one more:  curl -x {url} http://us-east-1.{DOMAIN}/" in shown.stdout
    assert "12 integers minted; all is well" in shown.stdout


@pytest.mark.long
def test_an_added_region_answers_by_its_name_at_once_and_by_the_address_once_it_is_well(machine: Machine) -> None:
    assert machine.up(*REGIONS, "us-west-2", settings=ADDRESS).returncode == 0

    assert call(machine, host=f"us-west-2.{DOMAIN}")[1]["region"] == "us-west-2"
    moved(machine, "us-west-2", start="us-west-1")


def test_down_ends_it(machine: Machine) -> None:
    assert machine.up(*REGIONS, settings=ADDRESS).returncode == 0
    assert regions(machine) == "us-east-1"

    machine.run("down")

    assert processes_of(machine.folder) == []
    assert not (machine.folder / "address.json").exists()
