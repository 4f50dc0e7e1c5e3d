"""The hosted zone of Route 53 that holds the stack's address. The stack doesn't make it: others use it too."""

import pulumi
import pulumi_aws as aws

from .address_checks import ZONE_ID, within
from .settings import SettingsError


def zone_id(zone: str, domain: str, parent: pulumi.Resource) -> pulumi.Output[str]:
    """Return the id of a public zone, by its name or id.

    Raises:
        SettingsError: when the output is known. There is no such zone, it is private, or it doesn't hold the domain.
    """
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
