"""The records of a domain: which of them answers a caller, and which API it leads to."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..apigateway import on_server, url_of
from ..apigateway.rest_api import gateway_response
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


def answer(records: Sequence[DnsRecord], host: str, start: str, is_healthy: Callable[[str], bool]) -> DnsRecord | None:
    """Return the record that a resolver in the region `start` gets for a host name, or None if there is none.

    It is the healthy record with the least latency. If none is healthy, all count as healthy (Route 53 guide,
    "How Amazon Route 53 chooses records when health checking is configured"). Here, a region of the same name but
    its number is nearest, then one of the same continent: `eu-west-1` for `eu-central-1`.
    """
    found = [record for record in records if record.host == host]
    healthy = [record for record in found if not record.check or is_healthy(record.check)]
    return max(healthy or found, key=lambda record: _nearness(start, record.region), default=None)


def _nearness(start: str, region: str) -> tuple[bool, ...]:
    return start == region, start[:-1] == region[:-1], start[:2] == region[:2]


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


@dataclass(frozen=True)
class Zone:
    """What the stacks on this machine have made of a domain."""

    domain: str
    """The host name that all regions share, of the first stack that has one, or an empty string."""
    records: list[DnsRecord]
    """The aliases. A and AAAA records of a name say the same, so these are the A records."""
    checks: list[dict[str, Any]]
    """The health checks as they were registered, each with its `id`."""
    apis: dict[str, RegionalApi]
    """API Gateway's own name → the API that it leads to."""


def read(endpoint: str) -> Zone:
    """Return the zone as it is now."""
    states = [State(stack) for stack in stacks()]
    made = [made for state in states for made in state.resources.values() if not made.replaced]

    def inputs_of(kind: str) -> list[dict[str, Any]]:
        return [{**one.inputs, "id": one.id} for one in made if one.type == kind]

    signed = {
        rest["id"]: gateway_response(json.loads(rest["body"]), "INTEGRATION_FAILURE")
        for rest in inputs_of("aws:apigateway/restApi:RestApi")
        if on_server(rest["id"])
    }
    mappings = {_place(one): one for one in inputs_of("aws:apigatewayv2/apiMapping:ApiMapping")}
    apis: dict[str, RegionalApi] = {}
    for name in made:
        if name.type == "aws:apigatewayv2/domainName:DomainName" and (mapping := mappings.get(_place(name.inputs))):
            api = mapping["apiId"]
            url = url_of(api, mapping["stage"], endpoint)
            target = name.outputs["domainNameConfiguration"]["targetDomainName"]
            apis[target] = RegionalApi(url, api in signed, signed.get(api, HTTP_API_FAILED))
    return Zone(
        next((host_of(url) for state in states if (url := state.outputs.get("domainUrl", ""))), ""),
        [
            DnsRecord(
                host=record["name"],
                target=alias["name"],
                region="".join(policy["region"] for policy in record.get("latencyRoutingPolicies", [])),
                check=record.get("healthCheckId", ""),
            )
            for record in inputs_of("aws:route53/record:Record")
            for alias in record.get("aliases", [])
            if record["type"] == "A"
        ],
        inputs_of("aws:route53/healthCheck:HealthCheck"),
        apis,
    )


def host_of(url: str) -> str:
    """Return the host name in a URL."""
    return url.removeprefix("https://").strip("/")


def _place(inputs: Mapping[str, Any]) -> tuple[str, str]:
    return inputs["region"], inputs["domainName"]
