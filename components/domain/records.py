"""The names of the domain in DNS: made in Route 53, or listed for whoever makes them by hand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pulumi
import pulumi_aws as aws

from ..settings.args import Settings
from .api import HEALTH

INTERVAL = 10
"""Seconds between two requests of one of Route 53's checkers: 10 or 30."""

FAILURES = 2
"""How many requests in a row must fail. A checker waits up to 6 s for a response. So within half a minute, Route 53
leaves out a region that can't mint (Route 53 guide,
"How Amazon Route 53 determines whether a health check is healthy")."""


@dataclass(frozen=True)
class Name:
    """A host name at one region's API."""

    name: str
    """The resource's name in the program."""
    host: str
    region: str
    shared: bool
    """Whether other regions have it too. Then the nearest healthy one answers."""
    domain: aws.apigatewayv2.DomainName
    ready: Sequence[pulumi.Resource]
    """What must exist before anybody is sent there."""


def health_checks(name: str, settings: Settings, parent: pulumi.Resource) -> dict[str, aws.route53.HealthCheck]:
    """Make a health check for each region, which asks at the region's own name whether it can mint.

    Route 53 asks from many places all over the world.
    """
    return {
        region: aws.route53.HealthCheck(
            f"{name}-{region}-check",
            type="HTTPS",
            fqdn=f"{region}.{settings.domain}",
            port=443,
            resource_path=HEALTH,
            enable_sni=True,
            request_interval=INTERVAL,
            failure_threshold=FAILURES,
            tags={"Name": settings.names.health_check(region)},
            opts=pulumi.ResourceOptions(parent=parent),
        )
        for region in settings.regions
    }


def make(
    hosts: Sequence[Name],
    zone_id: pulumi.Input[str],
    checks: Mapping[str, aws.route53.HealthCheck],
    parent: pulumi.Resource,
) -> list[aws.route53.Record]:
    """Make an A and an AAAA record for each name. They are aliases of API Gateway's own names: queries are free."""
    return [_make(host, type_, zone_id, checks, parent) for host in hosts for type_ in ("A", "AAAA")]


def _make(
    host: Name,
    type_: str,
    zone_id: pulumi.Input[str],
    checks: Mapping[str, aws.route53.HealthCheck],
    parent: pulumi.Resource,
) -> aws.route53.Record:
    shared: dict[str, Any] = {}
    if host.shared:
        shared = {
            "set_identifier": host.region,
            "latency_routing_policies": [aws.route53.RecordLatencyRoutingPolicyArgs(region=host.region)],
            "health_check_id": checks[host.region].id,
        }
    target = host.domain.domain_name_configuration
    return aws.route53.Record(
        f"{host.name}-{type_.lower()}",
        zone_id=zone_id,
        name=host.host,
        type=type_,
        aliases=[
            aws.route53.RecordAliasArgs(
                name=target.target_domain_name, zone_id=target.hosted_zone_id, evaluate_target_health=host.shared
            )
        ],
        **shared,
        opts=pulumi.ResourceOptions(parent=parent, depends_on=list(host.ready)),
    )


def listed(hosts: Sequence[Name], validation: pulumi.Output[dict[str, str]]) -> pulumi.Output[list[dict[str, str]]]:
    """Return the records to make by hand: `name`, `type`, `value`, and with a shared name the `region`.

    A shared name has a record for each region. DNS must answer with one of them: that of the nearest healthy region.
    """
    return pulumi.Output.all(validation, *(_by_hand(host) for host in hosts)).apply(list)


def _by_hand(host: Name) -> pulumi.Output[dict[str, str]]:
    def record(value: str) -> dict[str, str]:
        region = {"region": host.region} if host.shared else {}
        return {"name": host.host, "type": "CNAME", "value": value, **region}

    return host.domain.domain_name_configuration.target_domain_name.apply(record)
