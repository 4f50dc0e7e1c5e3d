"""What the local server's Route 53 keeps of a domain: which record answers a caller, and which API it leads to."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import asin, cos, radians, sin, sqrt
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
    "How Amazon Route 53 chooses records when health checking is configured").
    """
    found = [record for record in records if record.host == host]
    healthy = [record for record in found if not record.check or is_healthy(record.check)]
    return min(healthy or found, key=lambda record: (latency(start, record.region), record.region), default=None)


LOCATIONS = {
    "af-south-1": (-33.9, 18.4),
    "ap-east-1": (22.3, 114.2),
    "ap-east-2": (25.0, 121.5),
    "ap-northeast-1": (35.7, 139.7),
    "ap-northeast-2": (37.6, 127.0),
    "ap-northeast-3": (34.7, 135.5),
    "ap-south-1": (19.1, 72.9),
    "ap-south-2": (17.4, 78.5),
    "ap-southeast-1": (1.3, 103.8),
    "ap-southeast-2": (-33.9, 151.2),
    "ap-southeast-3": (-6.2, 106.8),
    "ap-southeast-4": (-37.8, 145.0),
    "ap-southeast-5": (3.1, 101.7),
    "ap-southeast-6": (-36.8, 174.8),
    "ap-southeast-7": (13.8, 100.5),
    "ca-central-1": (45.5, -73.6),
    "ca-west-1": (51.0, -114.1),
    "eu-central-1": (50.1, 8.7),
    "eu-central-2": (47.4, 8.5),
    "eu-north-1": (59.3, 18.1),
    "eu-south-1": (45.5, 9.2),
    "eu-south-2": (41.6, -0.9),
    "eu-west-1": (53.3, -6.3),
    "eu-west-2": (51.5, -0.1),
    "eu-west-3": (48.9, 2.4),
    "il-central-1": (32.1, 34.8),
    "me-central-1": (25.2, 55.3),
    "me-south-1": (26.1, 50.6),
    "mx-central-1": (20.6, -100.4),
    "sa-east-1": (-23.6, -46.6),
    "us-east-1": (38.9, -77.4),
    "us-east-2": (40.0, -83.0),
    "us-west-1": (37.4, -122.0),
    "us-west-2": (45.8, -119.7),
}
"""Region → latitude and longitude in degrees: of the city, or the middle of the state, after which AWS calls it."""

FARTHEST = 200
"""The latency of a region that isn't in the table, in milliseconds."""


def latency(start: str, region: str) -> float:
    """Return the milliseconds of a round trip between two regions. Only their order matters here.

    They are an earth's radius of 6371 km times the angle between them, with 100 km per millisecond: light in fibre
    travels 200 km in one, and a round trip is twice the distance.
    """
    if start not in LOCATIONS or region not in LOCATIONS:
        return 0 if start == region else FARTHEST
    (south, west), (north, east) = (tuple(map(radians, LOCATIONS[place])) for place in (start, region))
    chord = sin((north - south) / 2) ** 2 + cos(south) * cos(north) * sin((east - west) / 2) ** 2
    return 2 * 63.71 * asin(sqrt(chord))


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
