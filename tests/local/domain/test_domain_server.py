"""The domain of a deployment on this machine: its names, its process, and the nearest region that is healthy."""

import http.client
import json
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

import pytest
from botocore.credentials import Credentials

from local.aws_clients import Aws
from tests.local.callers import allowing, role_session, signed, user
from tests.local.machine import HANGING, Machine, processes_of, up

REGIONS = ("us-east-1", "eu-west-1")
DOMAIN = "integers.example.com"
WITH_DOMAIN = (f"domain={DOMAIN}", "hostedZone=example.com")
BOTH = (*WITH_DOMAIN, "functionUrls=false", "apiGateway=true")
MINT = "global-integers-dev-mint"

ACCOUNT = "arn:aws:iam::000000000000"
CALLERS = {f"{ACCOUNT}:role/teams/shop": ["orders"], f"{ACCOUNT}:user/alice": ["integers"]}


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    """A stack with a domain and API Gateways, without Function URLs. The tests change it, from top to bottom."""
    machine = up(machines(), *REGIONS, settings=BOTH)
    yield machine
    machine.end()
    assert processes_of(machine.folder) == []
    assert not (machine.folder / "domain.json").exists()


@pytest.fixture
def aws(machine: Machine) -> Aws:
    return Aws(machine.endpoint)


def send(port: int, path: str, method: str, headers: Mapping[str, str]) -> tuple[int, dict[str, Any]]:
    """Return status and document."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=HANGING)
    try:
        connection.request(method, path, headers=dict(headers))
        response = connection.getresponse()
        return response.status, json.load(response)
    finally:
        connection.close()


def ask(machine: Machine, host: str, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    """Return status and document of a request to the server by this name, as API Gateway gets it."""
    return send(machine.port, path, method, {"Host": host})


def healthy(status: int, document: dict[str, Any]) -> str:
    """Return the region that says that it is healthy."""
    assert (status, document["status"]) == (200, "ok")
    return document["region"]


def call(
    machine: Machine, path: str = "/", host: str = "", method: str = "POST", **headers: str
) -> tuple[int, dict[str, Any]]:
    """Return status and document of a request to the domain."""
    named = {name.replace("_", "-"): value for name, value in headers.items()} | ({"Host": host} if host else {})
    return send(process(machine)[1], path, method, named)


def process(machine: Machine) -> tuple[int, int]:
    """Its process and port."""
    record = json.loads((machine.folder / "domain.json").read_text())
    return record["pid"], record["port"]


def region_of(machine: Machine, start: str = "", path: str = "/", host: str = "") -> str:
    """The region that mints for a caller in the region `start`, by default the home region, or why none does."""
    status, document = call(machine, path, host, **({"x_from_region": start} if start else {}))
    return document["region"] if status == 200 else f"{status} {document}"


def moved(machine: Machine, to: str, start: str = "", path: str = "/", host: str = "") -> None:
    """Wait until the domain answers from the region `to`. On a busy machine, any region may seem unhealthy."""
    while region_of(machine, start, path, host) != to:
        time.sleep(0.1)


def test_the_nearest_region_mints_and_another_ones_is_elsewhere(machine: Machine) -> None:
    moved(machine, "us-east-1", host=DOMAIN)
    for start, nearest in {"": "us-east-1", "eu-north-1": "eu-west-1", "us-west-2": "us-east-1"}.items():
        moved(machine, nearest, start)


def test_each_region_mints_its_own_integers_under_its_own_name(machine: Machine) -> None:
    for place, region in enumerate(REGIONS, 1):
        host = f"{region}.{DOMAIN}"
        assert healthy(*ask(machine, host, "/-/health")) == region
        for status, minted in (
            call(machine, "/integers?count=2", host=host),
            ask(machine, host, "/integers?count=2", "POST"),
        ):
            assert (status, minted["region"]) == (200, region)
            assert {integer % 2 for integer in minted["integers"]} == {place % 2}


def test_the_apis_without_a_function_have_a_name_too(machine: Machine) -> None:
    for start, nearest in {"us-east-1": "us-east-1", "eu-west-2": "eu-west-1"}.items():
        moved(machine, nearest, start, "/integers", f"gateway.{DOMAIN}")


def test_what_the_function_responds_arrives_as_it_is(machine: Machine) -> None:
    assert call(machine, "/%69ntegers")[0] == 200, "an HTTP API decodes the path"
    status, problem = call(machine, "/nothing%20here?count=1")
    assert (status, problem["status"]) == (404, 404)
    assert [call(machine, method="DELETE")[0], call(machine, "/?count=0")[0]] == [405, 400]
    assert call(machine, "//mars/", host=DOMAIN)[1]["status"] == 404
    first = call(machine, Idempotency_Key="cart-99")
    assert call(machine, Idempotency_Key="cart-99") == first


def test_a_wrong_name_is_said(machine: Machine) -> None:
    status, document = call(machine, host=f"mars.{DOMAIN}")
    assert (status, f"there is no record for mars.{DOMAIN}" in document["message"]) == (404, True)


def test_a_second_up_changes_nothing_and_leaves_the_process(machine: Machine) -> None:
    pid, port = process(machine)

    again = machine.up(*REGIONS, settings=BOTH)

    assert again.returncode == 0, again.stderr
    (line,) = [line for line in again.stdout.splitlines() if line.startswith("dev: ")]
    assert line.endswith(" unchanged")
    assert "," not in line
    assert process(machine) == (pid, port)
    assert f"stands for https://{DOMAIN}/, without TLS: curl http://127.0.0.1:{port}/\n" in again.stdout


def test_a_region_that_cannot_mint_is_left_out_until_it_can(machine: Machine, aws: Aws) -> None:
    moved(machine, "us-east-1")

    aws.client("dynamodb", "us-east-1").delete_table(TableName="global-integers-dev-counters")
    assert call(machine, host=f"us-east-1.{DOMAIN}")[0] == 503, "its callers notice at once, the domain only later"
    moved(machine, "eu-west-1")
    assert call(machine, "/-/health", f"us-east-1.{DOMAIN}", "GET")[0] == 503
    assert healthy(*call(machine, "/-/health", f"eu-west-1.{DOMAIN}", "GET")) == "eu-west-1"

    up(machine, *REGIONS, settings=BOTH)
    moved(machine, "us-east-1")


def test_signed_requests_mint_by_the_name_of_a_region(machine: Machine) -> None:
    up(machine, *REGIONS, settings=(*WITH_DOMAIN, "authorization=AWS_IAM", f"callers={json.dumps(CALLERS)}"))
    for region in REGIONS:
        host = f"{region}.{DOMAIN}"
        assert [ask(machine, host, path, "POST")[0] for path in ("/", "/orders", "/-/health")] == [403, 403, 403]
        assert ask(machine, host, "/-/health")[0] != 403
    aws, allowed = Aws(machine.endpoint), allowing("execute-api:Invoke", "arn:aws:execute-api:*:*:*/v1/*")
    alice, bob = user(aws, allowed, "alice"), user(aws, allowed, "bob")
    shop = role_session(aws, allowed, "shop", "/teams/")

    def sent(keys: Credentials, region: str, host: str = "", path: str = "/integers?count=2") -> tuple[int, Any]:
        return call(machine, path, host, **signed(f"http://{host or DOMAIN}{path}", keys, "execute-api", region))

    for region in REGIONS:
        host = f"{region}.{DOMAIN}"
        assert healthy(*call(machine, "/-/health", host, "GET")) == region
        assert call(machine, host=host)[0] == 403
        status, minted = sent(alice, region, host)
        assert (status, minted.get("region")) == (200, region), minted
        assert sent(Credentials(alice.access_key, "x" * 40), region, host)[0] == 403
    assert call(machine)[0] == 403
    status, document = sent(alice, "us-east-1")
    assert (status, f"sign for us-east-1.{DOMAIN}" in document["message"]) == (501, True)

    host = f"eu-west-1.{DOMAIN}"
    assert sent(shop, "eu-west-1", host, "/orders")[0] == 200
    assert sent(shop, "eu-west-1", host, "/%6frders")[0] == 404, "a REST API hands over the path as it was sent"
    for caller, path in ((shop, "/integers"), (alice, "/orders"), (bob, "/orders"), (bob, "/integers")):
        status, problem = sent(caller, "eu-west-1", host, path)
        assert (status, problem["title"], "setting callers" in problem["detail"]) == (403, "Forbidden", True)
    assert "assumed-role/shop/session" in sent(shop, "eu-west-1", host, "/integers")[1]["detail"]

    function = Aws(machine.endpoint).client("lambda", "eu-west-1")
    function.put_function_concurrency(FunctionName=MINT, ReservedConcurrentExecutions=0)
    status, problem = sent(alice, "eu-west-1", host)
    assert (status, problem["status"], problem["title"]) == (503, 503, "Service Unavailable")
    function.delete_function_concurrency(FunctionName=MINT)


def test_without_the_domain_nothing_of_it_is_left(machine: Machine, aws: Aws) -> None:
    pid, _ = process(machine)
    up(machine, *REGIONS)

    assert "route53" not in (machine.folder / "dev.json").read_text()
    for region in REGIONS:
        assert aws.client("acm", region).list_certificates()["CertificateSummaryList"] == []
        assert aws.client("apigateway", region).get_rest_apis()["items"] == []
        assert aws.client("apigatewayv2", region).get_apis()["Items"] == []
        assert aws.client("apigatewayv2", region).get_domain_names()["Items"] == []
    assert "domainUrl" not in machine.outputs()
    assert pid not in processes_of(machine.folder)


@pytest.mark.long
def test_without_a_zone_nothing_answers_and_up_says_so(machine: Machine) -> None:
    up(machine, *REGIONS, settings=WITH_DOMAIN)
    pid, _ = process(machine)
    result = machine.up(*REGIONS, settings=(f"domain={DOMAIN}",))

    assert result.returncode == 0, result.stderr
    assert "the records are made by hand, so nothing answers at it here. To try it: " in result.stdout
    assert "localDomainUrl" not in machine.outputs()
    assert pid not in processes_of(machine.folder)

    assert machine.up(*REGIONS, settings=(f"domain={DOMAIN}", "functionUrls=false")).returncode == 0
    assert "there are no Function URLs to mint by.\ndomain: the records are made by hand" in machine.run("demo").stderr


@pytest.mark.long
def test_an_added_region_answers_by_its_name_then_by_the_domain(machine: Machine) -> None:
    up(machine, *REGIONS, "us-west-2", settings=WITH_DOMAIN)

    assert call(machine, host=f"us-west-2.{DOMAIN}")[1]["region"] == "us-west-2"
    moved(machine, "us-west-2", start="us-west-1")
