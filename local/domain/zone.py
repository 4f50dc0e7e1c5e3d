"""What the local server's Route 53 keeps of a domain: which record answers a caller, and which API it leads to."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..apigateway import on_server, url_of
from ..apigateway.rest_api import gateway_response
from ..aws_clients import ANYWHERE, Aws
from ..server.process import ServedResponse
from ..stack import State, stacks

FROM = "x-from-region"
"""The request header that says in which region the caller is."""


@dataclass(frozen=True)
class DnsRecord:
    """An alias of one of API Gateway's names."""

    host: str
    target: str
    """API Gateway's own name, which leads to the API of one region."""
    region: str = ""
    """Of a latency record. Empty: a simple record, the only one of its name."""
    check: str = ""
    """The id of its health check, if it has one."""


@dataclass(frozen=True)
class HealthCheck:
    """A health check: who is asked for what, and how many results in a row change its status."""

    id: str
    host: str
    path: str
    threshold: int


def answer(records: Sequence[DnsRecord], host: str, start: str, is_healthy: Callable[[str], bool]) -> DnsRecord | None:
    """Return the record that a resolver in the region `start` gets for a host name, or None if there is none.

    It is the healthy record with the least latency. If none is healthy, all count as healthy (Route 53 guide,
    "How Amazon Route 53 chooses records when health checking is configured"). Here, a region of the same continent
    counts as near: `eu-west-1` for `eu-central-1`.
    """
    found = [record for record in records if record.host == host]
    healthy = [record for record in found if not record.check or is_healthy(record.check)]
    return max(healthy or found, key=lambda one: (one.region == start, one.region[:2] == start[:2]), default=None)


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
    failed: ServedResponse
    """Its response where the function can't be called."""


HTTP_API_FAILED = ServedResponse(500, {"Content-Type": "application/json"}, b'{"message":"Internal Server Error"}')
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
    found = [(one["Id"], one["HealthCheckConfig"]) for one in pages.search("HealthChecks[]")]
    return [
        HealthCheck(id_, config["FullyQualifiedDomainName"], config["ResourcePath"], config["FailureThreshold"])
        for id_, config in found
        if config["Type"] in ("HTTP", "HTTPS")
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
                url = url_of(api, mapping["stage"], endpoint)
                found[target] = RegionalApi(url, api in signed, signed.get(api, HTTP_API_FAILED))
    return found


def domain() -> str:
    """Return the host name that all regions share, of the first stack that has one, or an empty string."""
    found = [State(stack).outputs.get("domainUrl", "") for stack in stacks()]
    return next((host_of(url) for url in found if url), "")


def host_of(url: str) -> str:
    """Return the host name in a URL."""
    return url.removeprefix("https://").strip("/")


def _place(inputs: Mapping[str, Any]) -> tuple[str, str]:
    return inputs["region"], inputs["domainName"]
