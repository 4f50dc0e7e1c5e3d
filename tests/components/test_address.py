"""One address for all regions: what a stack with `domain` registers, and that one without has nothing of it."""

import json
from collections.abc import Mapping
from typing import Any

import pulumi
import pytest

from components.settings import SettingsError
from local.program import UNKNOWN
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
    INVOCATION,
    ISSUED,
    MAPPING,
    PERMISSION,
    RECORD,
    REST_API,
    ROUTE,
)
from tests.components.recording import Aws, Deployment, Registration
from tests.components.running import PREFIX, THREE, config, deploy, deploy_badly

DOMAIN = "integers.example.com"
THIRTY = (
    *("us-east-1", "us-east-2", "us-west-1", "us-west-2", "ca-central-1", "mx-central-1", "sa-east-1", "eu-west-1"),
    *("eu-west-2", "eu-west-3", "eu-central-1", "eu-central-2", "eu-north-1", "eu-south-1", "eu-south-2", "af-south-1"),
    *("ap-east-1", "ap-south-1", "ap-south-2", "ap-southeast-1", "ap-southeast-2", "ap-southeast-3"),
    *("ap-southeast-4", "ap-northeast-1", "ap-northeast-2", "ap-northeast-3", "me-south-1", "me-central-1"),
    *("il-central-1", "ca-west-1"),
)
OURS = (CERTIFICATE, DOMAIN_NAME, HEALTH_CHECK, HTTP_API, ISSUED, MAPPING, RECORD, REST_API)


@pytest.fixture(scope="module", params=[1, 3, 30])
def regions(request: pytest.FixtureRequest) -> tuple[str, ...]:
    return THIRTY[: request.param] if request.param == 30 else THREE[: request.param]


@pytest.fixture(scope="module", params=["AWS_IAM", "NONE"])
def zoned(request: pytest.FixtureRequest, regions: tuple[str, ...]) -> Deployment:
    """With a zone."""
    return address(*regions, hostedZone="example.com", authorization=request.param, functionUrls=False)


def address(*regions: str, **given: Any) -> Deployment:
    return deploy(config(*regions, domain=DOMAIN, **given))


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
        assert [resource.name for resource in deployment.resources if "Address" in resource.type] == []
        assert not {"address", "gatewayAddress", "records"} & set(deployment.outputs)


def test_every_region_has_a_certificate_and_one_record_validates_all(
    zoned: Deployment, regions: tuple[str, ...]
) -> None:
    certificates = zoned.of(CERTIFICATE)
    (validation,) = [record for record in zoned.of(RECORD) if record.inputs["type"] == "CNAME"]

    assert sorted(c.inputs["region"] for c in certificates) == sorted(regions)
    for certificate in certificates:
        assert certificate.inputs["domainName"] == DOMAIN
        assert certificate.inputs["subjectAlternativeNames"] == [f"*.{DOMAIN}"]
        assert certificate.inputs["validationMethod"] == "DNS"
    assert (validation.inputs["name"], validation.inputs["zoneId"]) == (f"_1f2e.{DOMAIN}", "Z123")
    assert validation.inputs["records"] == ["_3d4c.acm-validations.aws."]
    for region in regions:
        issued = zoned.one(ISSUED, region=region)
        assert issued.inputs["certificateArn"] == f"arn:aws:acm:{region}:{ACCOUNT}:certificate/1f2e"
        assert issued.inputs["validationRecordFqdns"] == [validation.inputs["name"]]


def test_every_region_answers_for_the_shared_name_and_for_its_own(zoned: Deployment, regions: tuple[str, ...]) -> None:
    names = [(name.inputs["region"], name.inputs["domainName"]) for name in zoned.of(DOMAIN_NAME)]
    apis = zoned.of(REST_API) or zoned.of(HTTP_API)

    assert sorted(names) == sorted((region, host) for region in regions for host in (DOMAIN, f"{region}.{DOMAIN}"))
    for name in zoned.of(DOMAIN_NAME):
        region = name.inputs["region"]
        assert name.inputs["domainNameConfiguration"] == {
            "certificateArn": f"arn:aws:acm:{region}:{ACCOUNT}:certificate/1f2e",
            "endpointType": "REGIONAL",
            "securityPolicy": "TLS_1_2",
            "ipAddressType": "dualstack",
        }
        assert zoned.one(ISSUED, region=region).urn in name.dependencies, "a name needs an issued certificate"
        mapping = zoned.one(MAPPING, region=region, domainName=name.inputs["domainName"])
        (api,) = [api for api in apis if api.inputs["region"] == region]
        assert mapping.inputs["apiId"] == f"{api.name}-id"
    assert {api.inputs["disableExecuteApiEndpoint"] for api in apis} == {True}
    assert {api.inputs["name"] for api in apis} == {f"{PREFIX}-address"}


def test_the_nearest_region_that_is_well_answers_for_the_shared_name(
    zoned: Deployment, regions: tuple[str, ...]
) -> None:
    shared = [record for record in zoned.of(RECORD) if record.inputs["name"] == DOMAIN]

    assert without_type(shared) == {(DOMAIN, region): ["A", "AAAA"] for region in regions}
    for record in shared:
        region = record.inputs["setIdentifier"]
        check = zoned.one(HEALTH_CHECK, fqdn=f"{region}.{DOMAIN}")
        assert record.inputs["latencyRoutingPolicies"] == [{"region": region}]
        assert record.inputs["healthCheckId"] == f"{check.name}-id"
        assert record.inputs["aliases"] == [
            {
                "name": f"d-integers.execute-api.{region}.amazonaws.com",
                "zoneId": f"Z-{region}",
                "evaluateTargetHealth": True,
            }
        ]
        assert zoned.one(MAPPING, region=region, domainName=DOMAIN).urn in record.dependencies
        assert zoned.one(INVOCATION).urn in record.dependencies, "a region that can't mint yet isn't in the answer"


def test_each_region_is_asked_for_its_health_under_its_own_name(zoned: Deployment, regions: tuple[str, ...]) -> None:
    checks = zoned.of(HEALTH_CHECK)
    own = [record for record in zoned.of(RECORD) if record.inputs["name"].partition(".")[0] in regions]

    assert {check.inputs["fqdn"] for check in checks} == {f"{region}.{DOMAIN}" for region in regions}
    assert len(checks) == len(regions)
    for check in checks:
        assert (check.inputs["type"], check.inputs["port"], check.inputs["resourcePath"]) == ("HTTPS", 443, "/-/health")
        assert check.inputs["enableSni"] is True
        longest = check.inputs["requestInterval"] * check.inputs["failureThreshold"] + 6  # seconds; 6 to answer in
        assert longest <= 30
    assert without_type(own) == {(f"{region}.{DOMAIN}", None): ["A", "AAAA"] for region in regions}
    assert {"healthCheckId" in record.inputs for record in own} == {False}


def test_health_checks_have_names(zoned: Deployment, regions: tuple[str, ...]) -> None:
    names = [check.inputs["tags"]["Name"] for check in zoned.of(HEALTH_CHECK)]

    assert sorted(names) == sorted(f"{PREFIX}-address-{region}" for region in regions)


def test_without_function_urls_the_names_are_the_only_way_in(zoned: Deployment, regions: tuple[str, ...]) -> None:
    assert zoned.of(FUNCTION_URL) == []
    assert [p.inputs["statementId"] for p in zoned.of(PERMISSION) if p.inputs["principal"] == "*"] == []
    assert zoned.outputs["urls"] == {region: f"https://{region}.{DOMAIN}/" for region in regions}
    assert zoned.outputs["address"] == f"https://{DOMAIN}/"
    assert "records" not in zoned.outputs


@pytest.mark.parametrize("authorization", ["AWS_IAM", "NONE"])
def test_only_the_regions_api_may_call_the_function(authorization: str) -> None:
    deployment = address(*THREE, authorization=authorization)

    for region in THREE:
        (statement,) = [
            p
            for p in deployment.of(PERMISSION)
            if "sourceArn" in p.inputs and ":execute-api:" in p.inputs["sourceArn"]
            if p.inputs["region"] == region
        ]
        assert statement.inputs["principal"] == "apigateway.amazonaws.com"
        assert statement.inputs["action"] == "lambda:InvokeFunction"
        assert statement.inputs["function"] == f"{PREFIX}-mint"
        assert statement.inputs["sourceArn"] == f"arn:aws:execute-api:{region}:{ACCOUNT}:abc{region}/*"
        public = [p.urn for p in deployment.of(PERMISSION) if p.inputs["principal"] == "*"]
        of_region = [urn for urn in public if region in urn]
        assert set(of_region) <= statement.dependencies, "Lambda may drop one of two that are added at a time"
        assert len(of_region) == (2 if authorization == "NONE" else 0)


def test_everyones_requests_go_through_an_http_api_as_they_are() -> None:
    deployment = address(*THREE, authorization="NONE", corsOrigins=["https://shop.example"], openCounters=True)

    assert deployment.of(REST_API) == []
    for region in THREE:
        api = deployment.one(HTTP_API, region=region)
        integration = deployment.one(INTEGRATION, region=region)
        route = deployment.one(ROUTE, region=region)
        url = deployment.one(FUNCTION_URL, region=region)
        assert api.inputs["protocolType"] == "HTTP"
        assert integration.inputs["integrationType"] == "AWS_PROXY"
        assert integration.inputs["payloadFormatVersion"] == "2.0"
        assert integration.inputs["integrationUri"] == f"arn:aws:lambda:{region}:{ACCOUNT}:function:{PREFIX}-mint"
        assert (route.inputs["routeKey"], route.inputs["target"]) == ("$default", f"integrations/{integration.name}-id")
        stage = deployment.one(HTTP_STAGE, region=region)
        assert (stage.inputs["name"], stage.inputs["autoDeploy"]) == ("$default", True)
        assert api.inputs["corsConfiguration"] == url.inputs["cors"]
        assert api.inputs["corsConfiguration"]["allowMethods"] == ["GET", "POST", "PUT"]


def test_signed_requests_go_through_a_rest_api_since_http_apis_take_no_signature_version_4a() -> None:
    deployment = address(*THREE)

    assert deployment.of(HTTP_API) == []
    for region in THREE:
        api = deployment.one(REST_API, region=region)
        assert api.inputs["endpointConfiguration"] == {"types": "REGIONAL"}
        document = json.loads(api.inputs["body"])
        (scheme,) = document["components"]["securitySchemes"].values()
        assert scheme["x-amazon-apigateway-authtype"] == "awsSigv4"
        for operation in _operations(document).values():
            integration = operation["x-amazon-apigateway-integration"]
            function = f"arn:aws:lambda:{region}:{ACCOUNT}:function:{PREFIX}-mint"
            assert (integration["type"], integration["httpMethod"]) == ("aws_proxy", "POST")
            assert integration["uri"] == (
                f"arn:aws:apigateway:{region}:lambda:path/2015-03-31/functions/{function}/invocations"
            )


def test_another_authorization_leads_the_names_to_other_apis_and_a_name_leads_to_one_api_at_a_time() -> None:
    """Terraform's provider replaces a mapping for another API, which AWS refuses as long as the old one is there."""
    signed, public = address(*THREE, apiGateway=True), address(*THREE, apiGateway=True, authorization="NONE")
    before = {mapping.urn: mapping.inputs["apiId"] for mapping in signed.of(MAPPING)}
    moved = [mapping for mapping in public.of(MAPPING) if before[mapping.urn] != mapping.inputs["apiId"]]

    assert len(moved) == 2 * len(THREE), "its own name and the shared one"
    assert {mapping.delete_before_replace for mapping in moved} == {True}


def test_only_asking_for_the_health_needs_no_signature() -> None:
    operations = _operations(json.loads(address(THREE[0]).one(REST_API).inputs["body"]))
    free = [place for place, operation in operations.items() if "security" not in operation]

    assert free == [("/-/health", "get")]
    assert {path for path, _ in operations} == {"/", "/{proxy+}", "/-/health"}
    assert [operations[path, "x-amazon-apigateway-any-method"]["security"] for path in ("/", "/{proxy+}")] == [
        [{"sigv4": []}],
        [{"sigv4": []}],
    ]


def _operations(document: Mapping[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (path, method): operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
    }


def test_the_api_gateways_have_a_shared_name_of_their_own_with_the_same_health_checks() -> None:
    deployment = address(*THREE, hostedZone="example.com", apiGateway=True)
    host = f"gateway.{DOMAIN}"
    records = [record for record in deployment.of(RECORD) if record.inputs["name"] == host]

    assert without_type(records) == {(host, region): ["A", "AAAA"] for region in THREE}
    assert len(deployment.of(HEALTH_CHECK)) == len(THREE)
    for record in records:
        check = deployment.one(HEALTH_CHECK, fqdn=f"{record.inputs['setIdentifier']}.{DOMAIN}")
        assert record.inputs["healthCheckId"] == f"{check.name}-id"
    for region in THREE:
        mapping = deployment.one(MAPPING, region=region, domainName=host)
        assert mapping.inputs["apiId"] == f"integers-{region}-gateway-api-id"
    assert deployment.outputs["gatewayAddress"] == f"https://{host}/"
    assert deployment.outputs["gatewayUrls"].keys() == set(THREE)


def test_without_a_zone_nothing_is_made_in_route_53_and_the_records_are_an_output() -> None:
    deployment = address(*THREE, apiGateway=True, leaving=["us-west-2"])

    assert [r.name for r in deployment.resources if r.type.startswith("aws:route53/")] == []
    assert {"validationRecordFqdns" in issued.inputs for issued in deployment.of(ISSUED)} == {False}
    targets = {
        (name.inputs["domainName"], name.inputs["region"]): (
            f"d-{name.inputs['domainName'].partition('.')[0]}.execute-api.{name.inputs['region']}.amazonaws.com"
        )
        for name in deployment.of(DOMAIN_NAME)
    }
    validation = {"name": f"_1f2e.{DOMAIN}", "type": "CNAME", "value": "_3d4c.acm-validations.aws."}
    own = [
        {"name": f"{region}.{DOMAIN}", "type": "CNAME", "value": targets[f"{region}.{DOMAIN}", region]}
        for region in (*THREE, "us-west-2")
    ]
    shared = [
        {"name": host, "type": "CNAME", "value": targets[host, region], "region": region}
        for host in (DOMAIN, f"gateway.{DOMAIN}")
        for region in THREE
    ]
    found = deployment.outputs["records"]
    assert found[0] == validation
    assert sorted(map(str, found)) == sorted(map(str, [validation, *own, *shared]))
    assert deployment.outputs["address"] == f"https://{DOMAIN}/"


def test_without_a_zone_up_says_which_record_it_waits_for(monkeypatch: pytest.MonkeyPatch) -> None:
    said: list[str] = []

    def info(text: str, **_: object) -> None:
        said.append(text)

    monkeypatch.setattr(pulumi.log, "info", info)

    address(*THREE)
    address(*THREE, hostedZone="example.com")

    (text,) = said
    assert f"_1f2e.{DOMAIN}  CNAME  _3d4c.acm-validations.aws." in text


@pytest.mark.parametrize("function_urls", [True, False])
def test_a_region_that_leaves_keeps_its_own_name_and_is_no_longer_in_the_shared_ones(function_urls: bool) -> None:
    deployment = address(
        *THREE, hostedZone="example.com", leaving=["us-west-2"], functionUrls=function_urls, apiGateway=True
    )
    records = [r.inputs for r in deployment.of(RECORD) if "us-west-2" in json.dumps(r.inputs)]

    assert {(record["name"], record.get("setIdentifier")) for record in records} == {(f"us-west-2.{DOMAIN}", None)}
    assert [check for check in deployment.of(HEALTH_CHECK) if "us-west-2" in check.inputs["fqdn"]] == []
    names = {n.inputs["domainName"] for n in deployment.of(DOMAIN_NAME) if n.inputs["region"] == "us-west-2"}
    assert names == {DOMAIN, f"us-west-2.{DOMAIN}", f"gateway.{DOMAIN}"}, "for those who remember DNS's last answer"
    if not function_urls:
        assert deployment.outputs["leaving"] == {"us-west-2": f"https://us-west-2.{DOMAIN}/"}
    leaving = deployment.one(FUNCTION, name=f"{PREFIX}-mint", region="us-west-2")
    assert leaving.inputs["environment"]["variables"]["LEAVING"] == ",".join(THREE)


@pytest.mark.parametrize(
    ("zone", "zones", "expected"),
    [
        ("example.com", {}, "hostedZone: 'example.com' can't be found in this account; check it"),
        ("Z9", {"Z123": "example.com"}, "hostedZone: 'Z9' can't be found in this account; check it"),
        ("Z9", {"Z9": "example.org"}, f"'Z9' is the zone example.org; use the zone that holds domain, {DOMAIN!r}"),
        ("Z9", {"Z9": "example.com."}, "hostedZone: 'Z9' is a private zone; use a public one"),
    ],
)
def test_a_zone_that_cannot_hold_the_address_is_refused(zone: str, zones: dict[str, str], expected: str) -> None:
    error, _ = deploy_badly(config(*THREE, domain=DOMAIN, hostedZone=zone), aws=Aws(zones={**zones, "Z0": "x.org"}))

    assert isinstance(error, SettingsError)
    assert expected in str(error)


@pytest.mark.parametrize("zone", ["Z123", "example.com", "example.com."])
def test_a_zone_is_named_by_its_name_or_id(zone: str) -> None:
    assert {record.inputs["zoneId"] for record in address(*THREE, hostedZone=zone).of(RECORD)} == {"Z123"}


def test_a_preview_shows_every_resource_and_asks_for_the_zone() -> None:
    given = config(*THREE, domain=DOMAIN, hostedZone="example.com", apiGateway=True)
    preview, made = deploy(given, preview=True), deploy(given)

    assert sorted((r.type, r.name) for r in preview.resources) == sorted((r.type, r.name) for r in made.resources)
    assert (preview.outputs["address"], preview.outputs["gatewayAddress"]) == (UNKNOWN, UNKNOWN)
