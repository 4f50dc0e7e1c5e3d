"""One domain for all regions, `https://<domain>/`: the nearest healthy region answers."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

import pulumi
import pulumi_aws as aws

from ..gateway import Gateway
from ..names import ResourceNames
from ..region import RegionalAlias
from ..settings.subjects import Access
from .api import DomainApi
from .capacity import Capacity
from .dns import ISSUED_WITHIN, alias_records, ask_for_record, health_checks, validation_record, zone_id

GATEWAY = "gateway"
"""The label in front of the domain that leads to the API Gateways without a function. No region has this name."""


class Domain(pulumi.ComponentResource):
    """In every region an API, its certificate and its host names; in Route 53 a health check and records for each.

    Leaving regions are in `aliases` too: no shared host name leads to them, but they keep their own.
    """

    url: pulumi.Output[str]
    gateway_url: pulumi.Output[str] | None
    urls: dict[str, pulumi.Output[str]]
    """Each region's own."""
    records: pulumi.Output[list[dict[str, str]]] | None
    """None unless they are made by hand."""
    apis: dict[str, pulumi.Output[str]]
    """Region → the id of its API."""

    def __init__(
        self,
        name: str,
        domain: str,
        *,
        hosted_zone: str,
        regions: Sequence[str],
        names: ResourceNames,
        access: Access,
        capacities: Mapping[str, Capacity],
        aliases: Mapping[str, RegionalAlias],
        gateways: Mapping[str, Gateway],
        reconciled: pulumi.Output[Any],
        opts: pulumi.ResourceOptions,
    ) -> None:
        super().__init__("global-integers:index:Domain", name, None, opts)
        self._live, self._gateways, self._reconciled = aliases, gateways, reconciled
        self._domain, self._regions = domain, regions
        self._api_name, self._access, self._capacities = names.domain_api, access, capacities
        child = pulumi.ResourceOptions(parent=self)
        certificates = {
            region: aws.acm.Certificate(
                f"{name}-{region}-certificate",
                region=region,
                domain_name=domain,
                subject_alternative_names=[f"*.{domain}"],
                validation_method="DNS",
                opts=child,
            )
            for region in aliases
        }
        first = certificates[regions[0]]
        record = validation_record(first)
        zone = zone_id(hosted_zone, domain, self) if hosted_zone else None
        validation = None
        if zone is not None:
            validation = aws.route53.Record(  # it must stay: ACM needs it to renew the certificates
                f"{name}-validation",
                zone_id=zone,
                name=record["name"],
                type=record["type"],
                records=[record["value"]],
                ttl=300,
                allow_overwrite=True,  # another certificate for the same domain may have needed it
                opts=child,
            )
        else:
            ask_for_record(record, first)
        self.apis = {}
        called = {region: names.health_check(region) for region in regions}
        self._zone, self._checks = zone, health_checks(name, domain, called, self) if zone is not None else {}
        self._by_hand, ready = [record], list[pulumi.Resource]()
        for region, certificate in certificates.items():
            issued = aws.acm.CertificateValidation(
                f"{name}-{region}-issued",
                region=region,
                certificate_arn=certificate.arn,
                validation_record_fqdns=[validation.fqdn] if validation is not None else None,
                opts=pulumi.ResourceOptions(
                    parent=self, custom_timeouts=pulumi.CustomTimeouts(create=f"{ISSUED_WITHIN}m")
                ),
            )
            ready += self._names(name, region, issued.certificate_arn)
        self.records = None if zone is not None else pulumi.Output.all(*self._by_hand)
        self.url = _once(ready, domain)
        self.gateway_url = _once(ready, f"{GATEWAY}.{domain}") if gateways else None
        self.urls = {region: _once(ready, f"{region}.{domain}") for region in aliases}
        self.register_outputs({"url": self.url, "gatewayUrl": self.gateway_url, "records": self.records})

    def _names(self, name: str, region: str, certificate_arn: pulumi.Output[str]) -> list[pulumi.Resource]:
        """Add a region's API, its names and their records. Return what must exist before anybody is sent there.

        A leaving region's API still takes requests for the shared names, since callers may use an old answer of DNS.
        """
        gateway = self._gateways.get(region)
        api = DomainApi(
            f"{name}-{region}",
            region,
            self._live[region],
            api_name=self._api_name,
            access=self._access,
            capacity=self._capacities[region],
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.apis[region] = api.api_id
        targets: dict[str, tuple[str, DomainApi | Gateway]] = {
            "own": (f"{region}.{self._domain}", api),
            "shared": (self._domain, api),
        }
        if gateway is not None:
            targets[GATEWAY] = (f"{GATEWAY}.{self._domain}", gateway)
        made: list[pulumi.Resource] = []
        for label, (host, served) in targets.items():
            domain = aws.apigatewayv2.DomainName(
                f"{name}-{region}-{label}",
                region=region,
                domain_name=host,
                domain_name_configuration=aws.apigatewayv2.DomainNameDomainNameConfigurationArgs(
                    certificate_arn=certificate_arn,
                    endpoint_type="REGIONAL",
                    security_policy="TLS_1_2",
                    ip_address_type="dualstack",
                ),
                opts=pulumi.ResourceOptions(parent=self),
            )
            mapping = aws.apigatewayv2.ApiMapping(
                f"{name}-{region}-{label}-mapping",
                region=region,
                domain_name=domain.domain_name,
                api_id=served.api_id,
                stage=served.stage,
                # It can't be changed to lead to another API, and a name has only one: `authorization` replaces both.
                opts=pulumi.ResourceOptions(
                    parent=self, depends_on=[domain, api.permission], delete_before_replace=True
                ),
            )
            shared = label != "own"
            if shared and region not in self._regions:
                continue
            if self._zone is not None:
                check = self._checks[region] if shared else None
                # It waits for the first integers, but must not go with the coordinator if the home region is lost.
                ready = asyncio.ensure_future(self._once_reconciled(mapping)) if shared else [mapping]
                opts = pulumi.ResourceOptions(parent=self, depends_on=ready)
                made += alias_records(f"{name}-{region}-{label}", self._zone, host, domain, region, check, opts)
            else:
                target = domain.domain_name_configuration.target_domain_name
                where = {"region": region} if shared else {}
                self._by_hand.append(pulumi.Output.all(name=host, type="CNAME", value=target, **where))
                made.append(mapping)
        return made

    async def _once_reconciled(self, mapping: pulumi.Resource) -> list[pulumi.Resource]:
        await self._reconciled.future()
        return [mapping]


def _once(ready: Sequence[pulumi.Resource], host: str) -> pulumi.Output[str]:
    return pulumi.Output.all(*(resource.urn for resource in ready)).apply(lambda _: f"https://{host}/")
