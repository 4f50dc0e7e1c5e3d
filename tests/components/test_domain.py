"""One domain for all regions: what a stack with `domain` registers, and that one without has nothing of it."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from components.domain.dns import zone_id
from components.gateway.openapi import GATEWAY_RESPONSES
from components.settings import SettingsError
from tests.components.aws_answers import (
    ACCOUNT,
    CERTIFICATE,
    DOMAIN_NAME,
    FUNCTION,
    FUNCTION_URL,
    HEALTH_CHECK,
    HTTP_API,
    HTTP_STAGE,
    INTEGRATION,
    ISSUED,
    MAPPING,
    PERMISSION,
    RECORD,
    REST_API,
    ROUTE,
    STAGE,
)
from tests.components.conftest import DOMAIN
from tests.components.recording import Aws, Deployment, Registration
from tests.components.running import HOME, PREFIX, THREE, config, deploy, deploy_badly, settings

GATEWAY = f"gateway.{DOMAIN}"
GONE = "us-west-2"
OURS = (CERTIFICATE, DOMAIN_NAME, HEALTH_CHECK, HTTP_API, ISSUED, MAPPING, RECORD, REST_API)


@pytest.fixture(scope="module", params=["signed_domain", "public_domain"])
def with_domain(request: pytest.FixtureRequest) -> Deployment:
    """Both."""
    return request.getfixturevalue(request.param)


def of_the_domain(deployment: Deployment, kind: str) -> list[Registration]:
    """The APIs of this kind, without those to DynamoDB."""
    return [api for api in deployment.of(kind) if api.inputs["name"] == f"{PREFIX}-domain"]


def without_type(records: list[Registration]) -> dict[tuple[str, str | None], list[str]]:
    """The types of the alias records, by name and set identifier."""
    found: dict[tuple[str, str | None], list[str]] = {}
    for record in records:
        if "aliases" in record.inputs:
            place = (record.inputs["name"], record.inputs.get("setIdentifier"))
            found.setdefault(place, []).append(record.inputs["type"])
    return {place: sorted(types) for place, types in found.items()}


def test_without_a_domain_there_is_nothing_of_it(signed: Deployment, public: Deployment) -> None:
    for deployment in (signed, public):
        assert [resource.name for kind in OURS for resource in deployment.of(kind)] == []
        assert [resource.name for resource in deployment.resources if "Domain" in resource.type] == []
        assert not {"domainUrl", "domainGatewayUrl", "records"} & set(deployment.outputs)


def test_every_region_has_a_certificate_for_all_names(with_domain: Deployment) -> None:
    certificates = with_domain.of(CERTIFICATE)

    assert sorted(c.inputs["region"] for c in certificates) == sorted((*THREE, GONE))
    for certificate in certificates:
        assert certificate.inputs["domainName"] == DOMAIN
        assert certificate.inputs["subjectAlternativeNames"] == [f"*.{DOMAIN}"]
        assert certificate.inputs["validationMethod"] == "DNS"
        region = certificate.inputs["region"]
        issued = with_domain.one(ISSUED, region=region)
        assert issued.inputs["certificateArn"] == f"arn:aws:acm:{region}:{ACCOUNT}:certificate/1f2e"


def test_one_record_validates_all_certificates(signed_domain: Deployment) -> None:
    (record,) = [record.inputs for record in signed_domain.of(RECORD) if record.inputs["type"] == "CNAME"]

    assert (record["name"], record["zoneId"]) == (f"_1f2e.{DOMAIN}", "Z123")
    assert record["records"] == ["_3d4c.acm-validations.aws."]
    for issued in signed_domain.of(ISSUED):
        assert issued.inputs["validationRecordFqdns"] == [record["name"]]


def test_every_region_answers_for_its_name_and_the_shared(with_domain: Deployment) -> None:
    names = [(name.inputs["region"], name.inputs["domainName"]) for name in with_domain.of(DOMAIN_NAME)]
    apis = {kind: of_the_domain(with_domain, kind) for kind in (REST_API, HTTP_API)}

    assert sorted(names) == sorted(
        (region, host) for region in (*THREE, GONE) for host in (DOMAIN, f"{region}.{DOMAIN}", GATEWAY)
    ), "one that leaves too, for those who remember DNS's last answer"
    (made,) = [found for found in apis.values() if found]
    for name in with_domain.of(DOMAIN_NAME):
        region = name.inputs["region"]
        assert name.inputs["domainNameConfiguration"] == {
            "certificateArn": f"arn:aws:acm:{region}:{ACCOUNT}:certificate/1f2e",
            "endpointType": "REGIONAL",
            "securityPolicy": "TLS_1_2",
            "ipAddressType": "dualstack",
        }
        assert with_domain.one(ISSUED, region=region).urn in name.dependencies, "a name needs an issued certificate"
        mapping = with_domain.one(MAPPING, region=region, domainName=name.inputs["domainName"])
        (api,) = [api for api in made if api.inputs["region"] == region]
        gateway = f"integers-{region}-gateway-api"
        assert mapping.inputs["apiId"] == f"{gateway if name.inputs['domainName'] == GATEWAY else api.name}-id"
    assert {api.inputs["disableExecuteApiEndpoint"] for api in made} == {True}


@pytest.mark.parametrize("host", [DOMAIN, GATEWAY])
def test_the_nearest_healthy_region_answers(signed_domain: Deployment, host: str) -> None:
    shared = [record for record in signed_domain.of(RECORD) if record.inputs["name"] == host]

    assert without_type(shared) == {(host, region): ["A", "AAAA"] for region in THREE}
    for record in shared:
        region = record.inputs["setIdentifier"]
        check = signed_domain.one(HEALTH_CHECK, fqdn=f"{region}.{DOMAIN}")
        assert record.inputs["latencyRoutingPolicies"] == [{"region": region}]
        assert record.inputs["healthCheckId"] == f"{check.name}-id"
        assert record.inputs["aliases"] == [
            {
                "name": f"d-{host.partition('.')[0]}.execute-api.{region}.amazonaws.com",
                "zoneId": f"Z-{region}",
                "evaluateTargetHealth": True,
            }
        ]
        assert signed_domain.one(MAPPING, region=region, domainName=host).urn in record.dependencies
        order = signed_domain.resources
        reconciled = signed_domain.reconcile()
        assert order.index(reconciled) < order.index(record), "a region that can't mint yet isn't in the answer"
        assert reconciled.urn not in record.dependencies, "it stays where the home region is lost"


def test_no_shared_name_leads_to_a_region_before_all_is_reconciled() -> None:
    failing = f"integers-coordinator-{HOME}-reconcile"
    _, deployment = deploy_badly(config(*THREE, domain=DOMAIN, hostedZone="example.com"), failing=failing)

    assert {record.inputs["name"] for record in deployment.of(RECORD)} & {DOMAIN} == set()


def test_a_regions_health_is_asked_under_its_own_name(signed_domain: Deployment) -> None:
    checks = signed_domain.of(HEALTH_CHECK)
    regions = (*THREE, GONE)
    own = [record for record in signed_domain.of(RECORD) if record.inputs["name"].partition(".")[0] in regions]

    assert sorted(check.inputs["fqdn"] for check in checks) == sorted(f"{region}.{DOMAIN}" for region in THREE)
    names = [check.inputs["tags"]["Name"] for check in checks]
    assert sorted(names) == sorted(f"{PREFIX}-domain-{region}" for region in THREE)
    for check in checks:
        assert (check.inputs["type"], check.inputs["port"], check.inputs["resourcePath"]) == ("HTTPS", 443, "/-/health")
        assert check.inputs["enableSni"] is True
        longest = check.inputs["requestInterval"] * check.inputs["failureThreshold"] + 6  # seconds; 6 to answer in
        assert longest <= 30
    assert without_type(own) == {(f"{region}.{DOMAIN}", None): ["A", "AAAA"] for region in regions}
    assert {"healthCheckId" in record.inputs for record in own} == {False}


def test_a_region_that_leaves_is_in_no_shared_record(signed_domain: Deployment) -> None:
    records = [r.inputs for r in signed_domain.of(RECORD) if GONE in json.dumps(r.inputs)]

    assert {(record["name"], record.get("setIdentifier")) for record in records} == {(f"{GONE}.{DOMAIN}", None)}
    assert signed_domain.outputs["leaving"] == {GONE: f"https://{GONE}.{DOMAIN}/"}
    mint = signed_domain.one(FUNCTION, name=f"{PREFIX}-mint", region=GONE)
    assert mint.inputs["environment"]["variables"]["LEAVING"] == ",".join(THREE)


def test_a_page_learns_the_domain_where_there_is_one(signed_domain: Deployment, signed: Deployment) -> None:
    found = {
        mint.inputs["environment"]["variables"].get("DOMAIN", "")
        for deployment in (signed_domain, signed)
        for mint in deployment.of(FUNCTION)
        if mint.inputs["name"] == f"{PREFIX}-mint"
    }

    assert found == {DOMAIN, ""}


def test_without_function_urls_the_names_are_the_only_way(signed_domain: Deployment) -> None:
    outputs = signed_domain.outputs

    assert signed_domain.of(FUNCTION_URL) == []
    assert [p.inputs["statementId"] for p in signed_domain.of(PERMISSION) if p.inputs["principal"] == "*"] == []
    assert outputs["urls"] == {region: f"https://{region}.{DOMAIN}/" for region in THREE}
    assert (outputs["domainUrl"], outputs["domainGatewayUrl"]) == (f"https://{DOMAIN}/", f"https://{GATEWAY}/")
    assert outputs["gatewayUrls"].keys() == set(THREE)
    assert "records" not in outputs


def test_only_the_regions_api_may_call_the_function(with_domain: Deployment) -> None:
    for region in THREE:
        (statement,) = [
            p
            for p in with_domain.of(PERMISSION)
            if ":execute-api:" in p.inputs.get("sourceArn", "") and p.inputs["region"] == region
        ]
        assert statement.inputs["principal"] == "apigateway.amazonaws.com"
        assert statement.inputs["action"] == "lambda:InvokeFunction"
        assert statement.inputs["function"] == f"{PREFIX}-mint"
        assert statement.inputs["sourceArn"] == f"arn:aws:execute-api:{region}:{ACCOUNT}:abc{region}/*"
        public = {p.urn for p in with_domain.of(PERMISSION) if p.inputs["principal"] == "*" and region in p.urn}
        assert public <= statement.dependencies, "Lambda may drop one of two that are added at a time"
        assert len(public) == 2 * bool(with_domain.of(FUNCTION_URL))


def test_everyones_requests_go_through_an_http_api(public_domain: Deployment) -> None:
    assert of_the_domain(public_domain, REST_API) == []
    for region in THREE:
        api = public_domain.one(HTTP_API, region=region)
        integration = public_domain.one(INTEGRATION, region=region)
        routes = [route for route in public_domain.of(ROUTE) if route.inputs["region"] == region]
        url = public_domain.one(FUNCTION_URL, region=region)
        assert api.inputs["protocolType"] == "HTTP"
        assert integration.inputs["integrationType"] == "AWS_PROXY"
        assert integration.inputs["payloadFormatVersion"] == "2.0"
        assert integration.inputs["integrationUri"] == f"arn:aws:lambda:{region}:{ACCOUNT}:function:{PREFIX}-mint:live"
        assert {route.inputs["target"] for route in routes} == {f"integrations/{integration.name}-id"}
        stage = public_domain.one(HTTP_STAGE, region=region)
        assert (stage.inputs["name"], stage.inputs["autoDeploy"]) == ("$default", True)
        assert api.inputs["corsConfiguration"] == url.inputs["cors"]
        assert api.inputs["corsConfiguration"]["allowMethods"] == ["GET", "POST", "PUT"]


def test_signed_requests_go_through_a_rest_api(signed_domain: Deployment) -> None:
    """HTTP APIs take no Signature Version 4A."""
    assert signed_domain.of(HTTP_API) == []
    apis = of_the_domain(signed_domain, REST_API)
    assert len(apis) == 4
    for api in apis:
        region = api.inputs["region"]
        assert api.inputs["endpointConfiguration"] == {"types": "REGIONAL"}
        document = json.loads(api.inputs["body"])
        (scheme,) = document["components"]["securitySchemes"].values()
        assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"
        for operation in _operations(document).values():
            integration = operation["x-amazon-apigateway-integration"]
            function = f"arn:aws:lambda:{region}:{ACCOUNT}:function:{PREFIX}-mint:live"
            assert (integration["type"], integration["httpMethod"]) == ("aws_proxy", "POST")
            assert integration["uri"] == (
                f"arn:aws:apigateway:{region}:lambda:path/2015-03-31/functions/{function}/invocations"
            )


def test_only_asking_for_the_health_needs_no_signature(signed_domain: Deployment) -> None:
    operations = _operations(json.loads(of_the_domain(signed_domain, REST_API)[0].inputs["body"]))

    assert {path for path, _ in operations} == {"/", "/{proxy+}", "/-/health"}
    assert [place for place, operation in operations.items() if "security" not in operation] == [("/-/health", "get")]
    for path in ("/", "/{proxy+}"):
        assert operations[path, "x-amazon-apigateway-any-method"]["security"] == [{"sigv4": []}]


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
        for api in of_the_domain(deployment, REST_API):
            policy = json.loads(api.inputs["body"])["x-amazon-apigateway-policy"]
            assert policy == {"Version": "2012-10-17", "Statement": statements}
    assert [p.inputs for p in named.of(PERMISSION) if "account" in p.inputs["statementId"]] == [], (
        "no URL, no statement"
    )


def _operations(document: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (path, method): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_a_function_that_cannot_be_called_is_a_transient_error(signed_domain: Deployment) -> None:
    """By default it is 500 or 504, without a word about a retry."""
    responses = json.loads(of_the_domain(signed_domain, REST_API)[0].inputs["body"])[GATEWAY_RESPONSES]

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
        assert [stage.name for stage in stages if "accessLogSettings" in stage.inputs] == []


def test_a_name_leads_to_one_api_at_a_time(signed_domain: Deployment, public_domain: Deployment) -> None:
    """Terraform's provider replaces a mapping for another API, which AWS refuses as long as the old one is there."""
    before = {mapping.urn: mapping.inputs["apiId"] for mapping in signed_domain.of(MAPPING)}
    moved = [mapping for mapping in public_domain.of(MAPPING) if before[mapping.urn] != mapping.inputs["apiId"]]

    assert len(moved) == 2 * 4, "its own name and the shared one"
    assert {mapping.delete_before_replace for mapping in moved} == {True}


def test_without_a_zone_the_records_are_an_output(public_domain: Deployment) -> None:
    assert [r.name for r in public_domain.resources if r.type.startswith("aws:route53/")] == []
    assert {"validationRecordFqdns" in issued.inputs for issued in public_domain.of(ISSUED)} == {False}
    targets = {
        (name.inputs["domainName"], name.inputs["region"]): (
            f"d-{name.inputs['domainName'].partition('.')[0]}.execute-api.{name.inputs['region']}.amazonaws.com"
        )
        for name in public_domain.of(DOMAIN_NAME)
    }
    validation = {"name": f"_1f2e.{DOMAIN}", "type": "CNAME", "value": "_3d4c.acm-validations.aws."}
    own = [
        {"name": f"{region}.{DOMAIN}", "type": "CNAME", "value": targets[f"{region}.{DOMAIN}", region]}
        for region in (*THREE, GONE)
    ]
    shared = [
        {"name": host, "type": "CNAME", "value": targets[host, region], "region": region}
        for host in (DOMAIN, GATEWAY)
        for region in THREE
    ]
    found = public_domain.outputs["records"]
    assert found[0] == validation
    assert sorted(map(str, found)) == sorted(map(str, [validation, *own, *shared]))
    assert public_domain.outputs["domainUrl"] == f"https://{DOMAIN}/"


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


def test_up_waits_half_an_hour_for_certificates(with_domain: Deployment) -> None:
    """The provider would wait for 75 minutes. A deployer's session often ends after 60."""
    assert {issued.create_timeout for issued in with_domain.of(ISSUED)} == {"30m"}


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
