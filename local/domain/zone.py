"""What the local server's Route 53 keeps of a domain, and which API each of its names leads to."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..apigateway.resources import GATEWAY, on_server
from ..apigateway.rest_api import GatewayResponse, gateway_response
from ..engine.stack import State, stacks
from ..resources.kind import ANYWHERE, Aws
from .records import DnsRecord, HealthCheck

DOMAIN_NAME = "aws:apigatewayv2/domainName:DomainName"
MAPPING = "aws:apigatewayv2/apiMapping:ApiMapping"
REST_API = "aws:apigateway/restApi:RestApi"


@dataclass(frozen=True)
class RegionalApi:
    """Where an API is served on this machine."""

    url: str
    """With its stage, without a final `/`."""
    signed: bool
    """Whether the local server checks signatures for it."""
    failed: GatewayResponse
    """Its response where the function can't be called."""


HTTP_API_FAILED = GatewayResponse(500, {"Content-Type": "application/json"}, '{"message":"Internal Server Error"}')
"""What an HTTP API answers then (API Gateway guide, "Troubleshooting issues with HTTP API Lambda integrations")."""


def records(aws: Aws) -> list[DnsRecord]:
    """Return the aliases of all zones. A and AAAA records of a name say the same, so the A records are enough."""
    found: list[DnsRecord] = []
    client = aws.client("route53", ANYWHERE)
    for zone in client.get_paginator("list_hosted_zones").paginate().search("HostedZones[].Id"):
        pages = client.get_paginator("list_resource_record_sets").paginate(HostedZoneId=zone)
        found += [
            DnsRecord(
                host=record["Name"].removesuffix("."),
                target=record["AliasTarget"]["DNSName"].removesuffix("."),
                region=record.get("Region", ""),
                check=record.get("HealthCheckId", ""),
            )
            for record in pages.search("ResourceRecordSets[?Type=='A' && AliasTarget]")
        ]
    return found


def checks(aws: Aws) -> list[HealthCheck]:
    """Return the health checks that ask for a path."""
    pages = aws.client("route53", ANYWHERE).get_paginator("list_health_checks").paginate()
    return [
        HealthCheck(
            found["Id"],
            found["HealthCheckConfig"]["FullyQualifiedDomainName"],
            found["HealthCheckConfig"]["ResourcePath"],
            found["HealthCheckConfig"]["FailureThreshold"],
        )
        for found in pages.search("HealthChecks[]")
        if found["HealthCheckConfig"]["Type"] in ("HTTP", "HTTPS")
    ]


def apis(endpoint: str) -> dict[str, RegionalApi]:
    """Return API Gateway's own name → the API that it leads to, for all stacks on this machine."""
    found: dict[str, RegionalApi] = {}
    for stack in stacks():
        made = [made for made in State(stack).resources.values() if not made.replaced]
        signed = {
            rest.id: gateway_response(json.loads(rest.inputs["body"]), "INTEGRATION_FAILURE")
            for rest in made
            if rest.type == REST_API and on_server(rest.id)
        }
        mappings = {_place(one.inputs): one.inputs for one in made if one.type == MAPPING}
        for name in made:
            if name.type == DOMAIN_NAME and (mapping := mappings.get(_place(name.inputs))):
                target = name.outputs["domainNameConfiguration"]["targetDomainName"]
                api = mapping["apiId"]
                found[target] = RegionalApi(_url(mapping, endpoint), api in signed, signed.get(api, HTTP_API_FAILED))
    return found


def domain() -> str:
    """Return the host name that all regions share, of the first stack that has one, or an empty string."""
    found = [State(stack).outputs.get("address", "") for stack in stacks()]
    return next((host_of(url) for url in found if url), "")


def host_of(url: str) -> str:
    """Return the host name in a URL."""
    return url.removeprefix("https://").strip("/")


def _place(inputs: Mapping[str, Any]) -> tuple[str, str]:
    return inputs["region"], inputs["domainName"]


def _url(mapping: Mapping[str, Any], endpoint: str) -> str:
    api, stage = mapping["apiId"], mapping["stage"]
    if on_server(api):
        return f"{endpoint}/_aws/execute-api/{api}/{stage}"
    recorded = GATEWAY.recorded()
    return f"http://127.0.0.1:{recorded[1] if recorded else 0}/{api}/{stage}"
