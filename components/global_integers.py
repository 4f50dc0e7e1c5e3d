"""The whole deployment as one component."""

import json
from collections.abc import Mapping
from typing import Any, Optional

import pulumi

from integers.lattice import places

from .coordinator.coordinator import Coordinator, CoordinatorArgs
from .domain.domain import AddressArgs, Domain
from .gateway.gateway import Gateway
from .monitoring.budget import BudgetArgs, budget
from .monitoring.metrics import Watched
from .monitoring.observability import Observability, ObservabilityArgs
from .names import ResourceNames
from .region.regional_counter import RegionalCounter
from .rollout import Regions, child
from .settings.args import GlobalIntegersArgs
from .settings.settings import Settings, desired_state_of, settings_of
from .settings.values import camel


class GlobalIntegers(pulumi.ComponentResource):
    """Unique integers from several AWS regions, with no call between regions while one is minted."""

    regions: pulumi.Output[list[str]]
    """The regions, in order."""
    layout: pulumi.Output[dict[str, dict[str, int]]]
    """Region → its `offset` and `stride`."""
    urls: dict[str, pulumi.Output[str]]
    """Region → its Function URL, which ends with `/`. Known once the layout is opened, so every URL can mint."""
    gateway_urls: dict[str, pulumi.Output[str]]
    """Region → its API Gateway URL, which ends with `/`."""
    address: Optional[pulumi.Output[str]] = None
    """With `domain`: the URL of all regions together, which ends with `/`."""
    gateway_address: Optional[pulumi.Output[str]] = None
    """With `domain`: the URL of all API Gateways together."""
    records: Optional[pulumi.Output[list[dict[str, str]]]] = None
    """With `domain` and without a hosted zone: the records to make by hand."""
    leaving: dict[str, pulumi.Output[str]]
    """Region that is leaving → its Function URL, which says where to go."""
    counters: pulumi.Output[dict[str, Any]]
    """Counter → its `epoch`, `base` and `regions`, in the order of the settings."""
    coordinator: pulumi.Output[str]
    """The name of the coordinator's function, in the home region."""

    def __init__(
        self,
        name: str,
        args: GlobalIntegersArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Deploy.

        Args:
            name: the component's name, different for each in a program.
            args: what is asked for. A program in another language hands over a dict of it.
            opts: Pulumi's options.

        Raises:
            SettingsError: with every wrong setting, its value and what is allowed.
        """
        prefix = f"{pulumi.get_project()}-{pulumi.get_stack()}-{name}"
        settings = _settings(args, prefix)
        super().__init__("global-integers:index:GlobalIntegers", name, None, opts)
        names = ResourceNames(settings.prefix)

        coordinator = Coordinator(
            f"{name}-coordinator",
            CoordinatorArgs(
                names=names,
                home=settings.home,
                desired=desired_state_of(settings),
                watch_minutes=settings.watch_minutes,
                log_retention_days=settings.log_retention_days,
                protect=settings.protect,
                role_rules=settings.role_rules,
                kms_keys=settings.kms_keys,
            ),
            opts=child(self, "coordinator"),
        )
        deployed = Regions(name, names, settings, self)
        regional = deployed.counters(coordinator)
        minting = {region: regional[region] for region in settings.regions}
        coordinator.reconcile({region: each.table for region, each in minting.items()}, [*minting.values()])
        if settings.budget:
            regions = dict.fromkeys((*settings.regions, *settings.leaving, settings.home))
            budget(
                f"{name}-budget",
                BudgetArgs(names.budget, settings.budget, settings.alarm_emails, tuple(regions)),
                self,
            )
        gateways = deployed.gateways(regional) if settings.api_gateway else {}
        address = self._address(name, names, settings, regional, gateways, coordinator) if settings.domain else None
        Observability(
            f"{name}-alarms",
            ObservabilityArgs(
                watched=Watched(
                    names=names,
                    home=settings.home,
                    regions=settings.regions,
                    leaving=settings.leaving,
                    paused=settings.paused,
                    watch_minutes=settings.watch_minutes,
                    thresholds=settings.alarms,
                    function_urls=settings.function_urls,
                    apis=address.apis if address is not None else {},
                    signed=settings.authorization == "AWS_IAM",
                ),
                emails=settings.alarm_emails,
                topics=settings.alarm_topics,
                coordinator=coordinator,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )

        self.regions = pulumi.Output.from_input(list(settings.regions))
        self.layout = pulumi.Output.from_input(
            {region: place._asdict() for region, place in places(settings.regions).items()}
        )
        own_names = address.urls if address is not None else {}
        urls = {
            region: _after_settling(coordinator, counter.url if counter.url is not None else own_names[region])
            for region, counter in regional.items()
        }
        self.urls = {region: urls[region] for region in settings.regions}
        self.leaving = {region: urls[region] for region in settings.leaving}
        self.gateway_urls = {
            region: _after_settling(coordinator, gateway.url)
            for region, gateway in gateways.items()
            if region in settings.regions
        }
        if address is not None:
            self.address = _after_settling(coordinator, address.url)
            self.records = address.records
            if address.gateway_url is not None:
                self.gateway_address = _after_settling(coordinator, address.gateway_url)
        self.counters = coordinator.reconciled["counters"]
        self.coordinator = coordinator.function_name
        self.register_outputs(
            {
                "regions": self.regions,
                "layout": self.layout,
                "urls": self.urls,
                "gatewayUrls": self.gateway_urls,
                "leaving": self.leaving,
                "counters": self.counters,
                "coordinator": self.coordinator,
                "address": self.address,
                "gatewayAddress": self.gateway_address,
                "records": self.records,
            }
        )

    def _address(
        self,
        name: str,
        names: ResourceNames,
        settings: Settings,
        counters: Mapping[str, RegionalCounter],
        gateways: Mapping[str, Gateway],
        coordinator: Coordinator,
    ) -> Domain:
        return Domain(
            f"{name}-address",
            AddressArgs(
                names=names,
                domain=settings.domain,
                hosted_zone=settings.hosted_zone,
                regions=settings.regions,
                counters=counters,
                gateways=gateways,
                signed=settings.authorization == "AWS_IAM",
                cors_origins=settings.cors_origins,
                open_counters=settings.open_counters,
                reserved_concurrency=settings.reserved_concurrency,
                reconciled=coordinator,
            ),
            opts=pulumi.ResourceOptions(parent=self),
        )


def _after_settling(coordinator: Coordinator, url: pulumi.Output[str]) -> pulumi.Output[str]:
    """Return the URL once the layout stands."""
    return pulumi.Output.all(url, coordinator.reconciled).apply(lambda both: str(both[0]))


def _settings(args: GlobalIntegersArgs | Mapping[str, Any], prefix: str) -> Settings:
    """Return the settings. Errors are in the words of the program, which may be in another language."""
    if isinstance(args, GlobalIntegersArgs):
        return settings_of(args, prefix)
    return settings_of(
        args, prefix, key=camel, example=lambda name, value: f"{camel(name)}: {json.dumps(value, ensure_ascii=False)}"
    )
