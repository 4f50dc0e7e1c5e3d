"""The hosted zone that holds the domain, and the certificates of its names: one in every region."""

from collections.abc import Sequence

import pulumi
import pulumi_aws as aws

from ..settings.rules import ZONE_ID, within
from ..settings.settings import SettingsError


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


def certificate(name: str, domain: str, region: str, parent: pulumi.Resource) -> aws.acm.Certificate:
    """Return a region's certificate for the domain and the names below it."""
    return aws.acm.Certificate(
        name,
        region=region,
        domain_name=domain,
        subject_alternative_names=[f"*.{domain}"],
        validation_method="DNS",
        opts=pulumi.ResourceOptions(parent=parent),
    )


def validation_record(certificate: aws.acm.Certificate) -> pulumi.Output[dict[str, str]]:
    """Return the record that proves that the domain is ours, as `name`, `type` and `value`.

    It depends only on the domain and the account. So it is the same in every region, and it also counts for the names
    below the domain (ACM guide, "AWS Certificate Manager DNS validation").
    """

    def first(options: Sequence[aws.acm.outputs.CertificateDomainValidationOption]) -> dict[str, str]:
        option = options[0]
        return {
            "name": str(option.resource_record_name).removesuffix("."),
            "type": str(option.resource_record_type),
            "value": str(option.resource_record_value),
        }

    return certificate.domain_validation_options.apply(first)


def make_validation_record(
    name: str, record: pulumi.Output[dict[str, str]], zone_id: pulumi.Input[str], parent: pulumi.Resource
) -> aws.route53.Record:
    """Make that record. It must stay: ACM needs it to renew the certificates.

    It may exist already, if another certificate for the same domain needed it. Then it is taken over as it is.
    """
    return aws.route53.Record(
        name,
        zone_id=zone_id,
        name=record["name"],
        type=record["type"],
        records=[record["value"]],
        ttl=300,
        allow_overwrite=True,
        opts=pulumi.ResourceOptions(parent=parent),
    )


def ask_for_record(record: pulumi.Output[dict[str, str]], certificate: aws.acm.Certificate) -> None:
    """Say which record must be made by hand, unless the certificate is known to be issued."""

    def say(both: Sequence[object]) -> None:
        wanted, status = both
        if status != "ISSUED" and isinstance(wanted, dict):
            pulumi.log.info(
                "Make this record in DNS now, and keep it. `up` waits for it for up to 75 minutes and then fails. "
                "If it has failed, make the record and run `up` again.\n"
                f"  {wanted['name']}  {wanted['type']}  {wanted['value']}",
                resource=certificate,
            )

    pulumi.Output.all(record, certificate.status).apply(say)
