"""The domain in DNS: its hosted zone, its certificates in every region, and the records of its host names."""

from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from ..settings import SettingsError
from ..settings.rules import NAME_TAG, ZONE_ID, within
from .api import HEALTH


def zone_id(zone: str, domain: str, parent: pulumi.Resource) -> pulumi.Output[str]:
    """Return the id of a public zone, by its name or id. The output fails if there is none that holds the domain."""
    opts = pulumi.InvokeOutputOptions(parent=parent)
    if ZONE_ID.fullmatch(zone):
        found = aws.route53.get_zone_output(zone_id=zone, opts=opts)
    else:
        found = aws.route53.get_zone_output(name=zone, opts=opts)

    def check(found: aws.route53.GetZoneResult) -> str:
        name = found.name.removesuffix(".")
        if found.private_zone:
            raise SettingsError(f"hostedZone: {zone!r} is a private zone; use a public one")
        if not within(domain, name):
            raise SettingsError(f"hostedZone: {zone!r} is the zone {name}; use the zone that holds domain, {domain!r}")
        return found.zone_id

    def refuse(error: Exception) -> str:
        if isinstance(error, SettingsError):
            raise error
        raise SettingsError(f"hostedZone: {zone!r} can't be found in this account; check it, or give its id: {error}")

    return found.apply(check).recover(refuse)


def validation_record(certificate: aws.acm.Certificate) -> pulumi.Output[dict[str, str]]:
    """Return the record that proves that the domain is ours, as `name`, `type` and `value`.

    It depends only on the domain and the account. So it is the same in every region, and it also counts for the names
    below the domain (ACM guide, "AWS Certificate Manager DNS validation").
    """
    return certificate.domain_validation_options[0].apply(
        lambda option: {
            "name": str(option.resource_record_name).removesuffix("."),
            "type": str(option.resource_record_type),
            "value": str(option.resource_record_value),
        }
    )


ISSUED_WITHIN = 30
"""Minutes in which the certificates must be issued. The provider would wait for 75, but a deployer's session often ends
after 60: an `up` that outlives its credentials can neither save what it has made nor say so."""


def ask_for_record(record: pulumi.Output[dict[str, str]], certificate: aws.acm.Certificate) -> None:
    """Say which record must be made by hand, unless the certificate is known to be issued."""

    def say(both: Sequence[object]) -> None:
        wanted, status = both
        if status != "ISSUED" and isinstance(wanted, dict):
            pulumi.log.info(
                f"Make this record in DNS now, and keep it. `up` waits for it for up to {ISSUED_WITHIN} minutes, "
                "and then fails. The next `up` continues where this one stopped.\n"
                f"  {wanted['name']}  {wanted['type']}  {wanted['value']}",
                resource=certificate,
            )

    pulumi.Output.all(record, certificate.status).apply(say)


INTERVAL = 10
"""Seconds between two requests of one of Route 53's checkers: 10 or 30."""

FAILURES = 2
"""How many requests in a row must fail. A checker waits up to 6 s for a response. So within half a minute, Route 53
leaves out a region that can't mint (guide, "How Amazon Route 53 determines whether a health check is healthy")."""


def health_checks(
    name: str, domain: str, called: Mapping[str, str], parent: pulumi.Resource
) -> dict[str, aws.route53.HealthCheck]:
    """Make a health check for each region of `called`, by what it is called on AWS.

    It asks at the region's own name whether it can mint.
    """
    return {
        region: aws.route53.HealthCheck(
            f"{name}-{region}-check",
            type="HTTPS",
            fqdn=f"{region}.{domain}",
            port=443,
            resource_path=HEALTH,
            enable_sni=True,
            request_interval=INTERVAL,
            failure_threshold=FAILURES,
            tags={NAME_TAG: check},
            opts=pulumi.ResourceOptions(parent=parent),
        )
        for region, check in called.items()
    }


def alias_records(
    name: str,
    zone_id: pulumi.Input[str],
    host: str,
    domain: aws.apigatewayv2.DomainName,
    region: str,
    check: aws.route53.HealthCheck | None,
    opts: pulumi.ResourceOptions,
) -> list[pulumi.Resource]:
    """Make an A and an AAAA record for a host name at a region's API.

    With `check`, other regions have the name too, and the nearest healthy one answers. The records are aliases of API
    Gateway's own names: queries are free.
    """
    shared: dict[str, Any] = {}
    if check is not None:
        shared = {
            "set_identifier": region,
            "latency_routing_policies": [aws.route53.RecordLatencyRoutingPolicyArgs(region=region)],
            "health_check_id": check.id,
        }
    target = domain.domain_name_configuration
    alias = aws.route53.RecordAliasArgs(
        name=target.target_domain_name, zone_id=target.hosted_zone_id, evaluate_target_health=check is not None
    )
    return [
        aws.route53.Record(
            f"{name}-{type_.lower()}",
            zone_id=zone_id,
            name=host,
            type=type_,
            aliases=[alias],
            **shared,
            opts=opts,
        )
        for type_ in ("A", "AAAA")
    ]
