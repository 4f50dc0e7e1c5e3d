"""One domain for all regions. What a stack with `domain` registers is in `registered`."""

import json
from typing import Any

import pulumi
import pytest

from components.domain.dns import zone_id
from components.gateway.openapi import GATEWAY_RESPONSES
from components.settings import SettingsError
from tests.components.aws_answers import (
    ACCOUNT,
    DOMAIN_NAME,
    HEALTH_CHECK,
    HTTP_STAGE,
    ISSUED,
    MAPPING,
    PERMISSION,
    RECORD,
    REST_API,
    STAGE,
)
from tests.components.recording import Aws, Deployment, Registration
from tests.components.registrations import DOMAIN
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly, settings

GATEWAY = f"gateway.{DOMAIN}"


def of_the_domain(deployment: Deployment) -> list[Registration]:
    """Its REST APIs, without those to DynamoDB."""
    return [api for api in deployment.of(REST_API) if api.inputs["name"] == f"{PREFIX}-domain"]


@pytest.mark.parametrize("name", ["signed_domain", "public_domain"])
def test_a_name_comes_after_its_certificate_and_rights(name: str, request: pytest.FixtureRequest) -> None:
    deployment: Deployment = request.getfixturevalue(name)
    for made in deployment.of(DOMAIN_NAME):
        region = made.inputs["region"]
        assert deployment.one(ISSUED, region=region).urn in made.dependencies
        mapping = deployment.one(MAPPING, region=region, domainName=made.inputs["domainName"])
        served = deployment.one(PERMISSION, region=region, principal="apigateway.amazonaws.com")
        assert {made.urn, served.urn} <= mapping.dependencies
        assert mapping.delete_before_replace, "AWS refuses a second one while it is there"
        assert served.delete_before_replace, "a policy can't have two statements of one id"


def test_nobody_is_led_to_a_region_that_cant_mint_yet(signed_domain: Deployment) -> None:
    order, reconciled = signed_domain.resources, signed_domain.reconcile()
    for record in signed_domain.of(RECORD):
        if record.inputs["name"] in (DOMAIN, GATEWAY):
            region, host = record.inputs["setIdentifier"], record.inputs["name"]
            assert signed_domain.one(MAPPING, region=region, domainName=host).urn in record.dependencies
            assert order.index(reconciled) < order.index(record)
            assert reconciled.urn not in record.dependencies, "it stays where the home region is lost"
    failing = f"integers-coordinator-{HOME}-reconcile"
    _, failed = deploy_badly(config(*THREE, domain=DOMAIN, hostedZone="example.com"), failing=failing)

    assert {record.inputs["name"] for record in failed.of(RECORD)} & {DOMAIN, GATEWAY} == set()


def test_a_sick_region_is_left_out_within_half_a_minute(signed_domain: Deployment) -> None:
    for check in signed_domain.of(HEALTH_CHECK):
        assert check.inputs["requestInterval"] * check.inputs["failureThreshold"] + 6 <= 30, "it may take 6 to answer"


def test_signed_requests_reach_the_function(signed_domain: Deployment) -> None:
    """And only asking for the health needs no signature."""
    for api in of_the_domain(signed_domain):
        document = json.loads(api.inputs["body"])
        (scheme,) = document["components"]["securitySchemes"].values()
        assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"
        function = f"arn:aws:lambda:{api.inputs['region']}:{ACCOUNT}:function:{PREFIX}-mint:live"
        path = f"lambda:path/2015-03-31/functions/{function}/invocations"
        signatures: dict[tuple[str, str], Any] = {}
        for place, methods in document["paths"].items():
            for method, operation in methods.items():
                integration = operation["x-amazon-apigateway-integration"]
                assert (integration["type"], integration["httpMethod"]) == ("aws_proxy", "POST")
                assert integration["uri"] == f"arn:aws:apigateway:{api.inputs['region']}:{path}"
                signatures[place, method] = operation.get("security")
        every = "x-amazon-apigateway-any-method"
        assert signatures.pop(("/-/health", "get")) is None
        assert {*signatures} == {(place, every) for place in ("/", "/{proxy+}", "/-/health")}
        assert [*signatures.values()] == [[{"sigv4": []}]] * 3


def test_its_policy_allows_health_to_all_and_the_rest_to_accounts(signed_domain: Deployment) -> None:
    other = "111122223333"
    callers = {f"arn:aws:iam::{other}:role/shop": "*", f"arn:aws:iam::{ACCOUNT}:role/shop": "*"}
    named = deploy(config(HOME, domain=DOMAIN, functionUrls=False, callers=callers))
    health = {
        "Effect": "Allow",
        "Principal": "*",
        "Action": "execute-api:Invoke",
        "Resource": "execute-api:/*/GET/-/health",
    }
    root = {"AWS": [f"arn:aws:iam::{other}:root"]}  # without its own account: to name that may be enough to let it in
    everything = {"Effect": "Allow", "Principal": root, "Action": "execute-api:Invoke", "Resource": "execute-api:/*"}

    for deployment, statements in ((signed_domain, [health]), (named, [health, everything])):
        for api in of_the_domain(deployment):
            policy = json.loads(api.inputs["body"])["x-amazon-apigateway-policy"]
            assert policy == {"Version": "2012-10-17", "Statement": statements}
    assert [p.inputs for p in named.of(PERMISSION) if "account" in p.inputs["statementId"]] == [], (
        "no URL, no statement"
    )


def test_a_function_that_cannot_be_called_is_a_transient_error(signed_domain: Deployment) -> None:
    """By default it is 500 or 504, without a word about a retry."""
    responses = json.loads(of_the_domain(signed_domain)[0].inputs["body"])[GATEWAY_RESPONSES]

    statuses = {kind: response["statusCode"] for kind, response in responses.items()}
    unavailable = dict.fromkeys(("API_CONFIGURATION_ERROR", "INTEGRATION_FAILURE", "INTEGRATION_TIMEOUT"), "503")
    assert statuses == {**unavailable, "THROTTLED": "429"}
    for status, response in zip(statuses.values(), responses.values(), strict=True):
        assert response["responseParameters"]["gatewayresponse.header.Retry-After"] == "'1'"
        assert json.loads(response["responseTemplates"]["application/json"])["status"] == int(status)


def test_deployments_leave_access_logs_as_they_are(signed_domain: Deployment, public_domain: Deployment) -> None:
    """Operators may turn them on (docs/audit.md)."""
    for deployment, kind in ((signed_domain, STAGE), (public_domain, HTTP_STAGE)):
        stages = deployment.of(kind)
        assert stages
        assert {stage.ignore_changes for stage in stages} == {("accessLogSettings",)}


@pytest.mark.slow
def test_without_a_zone_up_says_which_record_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def info(text: str, **_: object) -> None:
        said.append(text)

    monkeypatch.setattr(pulumi.log, "info", info)

    for zone in ("", "example.com"):
        deploy(config(HOME, domain=DOMAIN, hostedZone=zone), aws=Aws())

    (text,) = said
    assert f"_1f2e.{DOMAIN}  CNAME  _3d4c.acm-validations.aws." in text
    assert "for up to 30 minutes" in text
    assert "The next `up` continues where this one stopped." in text


def looks_up(zone: str) -> None:
    """A program that looks for a zone as the domain does."""
    found = settings(config(HOME, domain=DOMAIN, hostedZone=zone)).hosted_zone
    pulumi.export("zone", zone_id(found, DOMAIN, pulumi.ComponentResource("x:index:X", "x")))


@pytest.mark.parametrize("zone", ["Z123", "example.com", "example.com."])
def test_a_zone_is_named_by_its_name_or_id(zone: str) -> None:
    assert deploy({}, program=lambda: looks_up(zone)).outputs["zone"] == "Z123"


@pytest.mark.parametrize(
    ("zone", "zones", "expected"),
    [
        ("example.com", {}, "hostedZone: 'example.com' can't be found in this account; check it"),
        ("Z9", {"Z123": "example.com"}, "hostedZone: 'Z9' can't be found in this account; check it"),
        ("Z9", {"Z9": "example.org"}, f"'Z9' is the zone example.org; use the zone that holds domain, {DOMAIN!r}"),
        ("Z9", {"Z9": "example.com."}, "hostedZone: 'Z9' is a private zone; use a public one"),
    ],
)
def test_a_zone_that_cannot_hold_the_domain_is_refused(zone: str, zones: dict[str, str], expected: str) -> None:
    error, _ = deploy_badly({}, program=lambda: looks_up(zone), aws=Aws(zones={**zones, "Z0": "x.org"}))

    assert isinstance(error, SettingsError)
    assert expected in str(error)
