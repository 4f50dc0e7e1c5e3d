"""One address for all regions, deployed to a local server: its names answer, a second `up` changes nothing."""

import http.client
import json
from collections.abc import Callable, Generator
from typing import Any

import pytest

from local.resources import Aws
from local.resources.route53 import zone
from tests.local.machine import Machine

REGIONS = ("us-east-1", "eu-west-1")
DOMAIN = "integers.example.com"
ADDRESS = (f"domain={DOMAIN}", "hostedZone=example.com")


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Generator[Machine]:
    """A stack with an address and API Gateways, without Function URLs."""
    machine = machines()
    result = machine.up(*REGIONS, settings=(*ADDRESS, "functionUrls=false", "apiGateway=true"))
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


@pytest.fixture
def aws(machine: Machine) -> Aws:
    return Aws(f"http://127.0.0.1:{machine.port}")


def ask(machine: Machine, host: str, path: str, method: str = "GET") -> tuple[int, dict[str, Any]]:
    """Return status and document of a request with this `Host`."""
    connection = http.client.HTTPConnection("127.0.0.1", machine.port, timeout=30)
    try:
        connection.request(method, path, headers={"Host": host})
        response = connection.getresponse()
        return response.status, json.load(response)
    finally:
        connection.close()


def names(aws: Aws) -> dict[str, list[dict[str, Any]]]:
    """The records of the zone by name, but those of the zone itself."""
    zone_id = zone(aws, {"name": "example.com"})["zoneId"]
    found: dict[str, list[dict[str, Any]]] = {}
    pages = aws.client("route53", REGIONS[0]).get_paginator("list_resource_record_sets")
    for page in pages.paginate(HostedZoneId=zone_id):
        for record in page["ResourceRecordSets"]:
            if record["Type"] not in ("NS", "SOA"):
                found.setdefault(record["Name"].removesuffix("."), []).append(record)
    return found


def test_each_region_answers_under_its_own_name(machine: Machine) -> None:
    for region in REGIONS:
        assert ask(machine, f"{region}.{DOMAIN}", "/-/health") == (200, {"status": "ok", "region": region})
        status, minted = ask(machine, f"{region}.{DOMAIN}", "/", "POST")
        assert (status, minted["region"]) == (200, region)
        assert minted["integer"] % len(REGIONS) == (REGIONS.index(region) + 1) % len(REGIONS)


def test_the_shared_name_is_answered_by_a_region(machine: Machine) -> None:
    status, minted = ask(machine, DOMAIN, "/", "POST")

    assert status == 200
    assert minted["region"] in REGIONS


def test_the_outputs_name_the_address(machine: Machine) -> None:
    outputs = machine.outputs()

    assert outputs["address"] == f"https://{DOMAIN}/"
    assert outputs["gatewayAddress"] == f"https://gateway.{DOMAIN}/"
    assert outputs["urls"] == {region: f"https://{region}.{DOMAIN}/" for region in REGIONS}


def test_the_server_has_the_records_and_the_health_checks_that_they_name(aws: Aws) -> None:
    records = names(aws)
    checks = aws.client("route53", REGIONS[0]).list_health_checks()["HealthChecks"]
    asked = {check["Id"]: check["HealthCheckConfig"]["FullyQualifiedDomainName"] for check in checks}

    assert set(records) - {DOMAIN, f"gateway.{DOMAIN}"} == {
        *(f"{region}.{DOMAIN}" for region in REGIONS),
        f"_acme-challenge.{DOMAIN}",
    }
    for name in (DOMAIN, f"gateway.{DOMAIN}"):
        found = {(record["Region"], record["Type"]): asked[record["HealthCheckId"]] for record in records[name]}
        assert found == {(region, kind): f"{region}.{DOMAIN}" for region in REGIONS for kind in ("A", "AAAA")}


def test_a_second_up_changes_nothing(machine: Machine) -> None:
    result = machine.up(*REGIONS, settings=(*ADDRESS, "functionUrls=false", "apiGateway=true"))

    assert result.returncode == 0, result.stderr
    (line,) = [line for line in result.stdout.splitlines() if line.startswith("dev: ")]
    assert line.endswith(" unchanged")
    assert "," not in line


def test_names_that_a_killed_up_made_are_taken_over_unless_they_are_another_stacks(machine: Machine) -> None:
    """It was killed before it could record them."""
    state, other = machine.folder / "dev.json", machine.folder / "local.json"
    settings = (*ADDRESS, "functionUrls=false", "apiGateway=true")
    written = json.loads(state.read_text())
    names = [made for made in written["resources"] if made["type"].startswith("aws:apigatewayv2/domainName")]
    mappings = [made for made in written["resources"] if made["type"].startswith("aws:apigatewayv2/apiMapping")]
    rest = [made for made in written["resources"] if made not in names + mappings]
    assert len(names) == len(mappings) == 3 * len(REGIONS)
    state.write_text(json.dumps({**written, "resources": rest}))

    other.write_text(json.dumps({**written, "stack": "local", "outputs": {}, "resources": names}))
    refused = machine.up(*REGIONS, settings=settings)
    other.unlink()
    assert refused.returncode == 1
    assert "ConflictException" in refused.stderr

    again = machine.up(*REGIONS, settings=settings)
    assert again.returncode == 0, again.stderr
    assert [ask(machine, f"{region}.{DOMAIN}", "/", "POST")[0] for region in REGIONS] == [200, 200]


def test_who_must_sign_is_refused_and_who_asks_for_the_health_is_not(machine: Machine) -> None:
    result = machine.up(*REGIONS, settings=(*ADDRESS, "authorization=AWS_IAM"))
    assert result.returncode == 0, result.stderr

    for region in REGIONS:
        host = f"{region}.{DOMAIN}"
        assert [ask(machine, host, path, "POST")[0] for path in ("/", "/orders", "/-/health")] == [403, 403, 403]
        assert ask(machine, host, "/-/health")[0] != 403


def test_without_the_domain_nothing_of_it_is_left(machine: Machine, aws: Aws) -> None:
    result = machine.up(*REGIONS)
    assert result.returncode == 0, result.stderr

    assert names(aws) == {}
    assert aws.client("route53", REGIONS[0]).list_health_checks()["HealthChecks"] == []
    for region in REGIONS:
        assert aws.client("acm", region).list_certificates()["CertificateSummaryList"] == []
        assert aws.client("apigateway", region).get_rest_apis()["items"] == []
        assert aws.client("apigatewayv2", region).get_apis()["Items"] == []
        assert aws.client("apigatewayv2", region).get_domain_names()["Items"] == []
    assert "address" not in machine.outputs()
