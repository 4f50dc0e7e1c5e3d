"""What every region gets: its tables and minting function, in waves, and its API without a function."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pulumi

from .coordinator.coordinator import Coordinator
from .function.python_function import archive
from .gateway.gateway import Gateway, GatewayArgs
from .names import ResourceNames
from .region.regional_counter import RegionalCounter, RegionalCounterArgs
from .settings.settings import Settings


@dataclass(frozen=True)
class Regions:
    """The regions of the layout, and those that leave."""

    name: str
    """The component's."""
    names: ResourceNames
    settings: Settings
    parent: pulumi.Resource

    def counters(self, coordinator: Coordinator) -> dict[str, RegionalCounter]:
        """Return what every region has. A wave's minting functions change after the checks of the wave before."""
        settings, code = self.settings, archive("mint", "aws")
        after: Sequence[pulumi.Resource] = [coordinator.function]
        found: dict[str, RegionalCounter] = {}
        for wave in settings.waves:
            found |= {region: self._counter(region, code, after) for region in wave}
            minting = [region for region in wave if region in settings.regions and region not in settings.paused]
            # One check for each region: it runs when this region's function has changed, not when another one has.
            checks = [
                coordinator.check(region, settings.counters[0], found[region].mint, found[region]) for region in minting
            ]
            after = checks or after
        return {region: found[region] for region in (*settings.regions, *settings.leaving)}

    def _counter(self, region: str, code: pulumi.AssetArchive, after: Sequence[pulumi.Resource]) -> RegionalCounter:
        settings, leaving = self.settings, region in self.settings.leaving
        return RegionalCounter(
            f"{self.name}-{region}",
            RegionalCounterArgs(
                names=self.names,
                region=region,
                home=settings.home,
                default_counter=settings.counters[0],
                authorization=settings.authorization,
                code=code,
                memory_size=settings.memory_size,
                log_retention_days=settings.log_retention_days,
                reserved_concurrency=0 if region in settings.paused else settings.reserved_concurrency,
                idempotency_hours=settings.idempotency_hours,
                lease=settings.lease,
                cors_origins=settings.cors_origins,
                open_counters=settings.open_counters,
                protect=settings.protect and not leaving,
                role_rules=settings.role_rules,
                successors=settings.regions if leaving else (),
                callers=settings.callers,
                kms_key=settings.kms_keys.get(region, ""),
                after=after,
                function_url=settings.function_urls,
            ),
            opts=child(self.parent, region),
        )

    def gateways(self, counters: Mapping[str, RegionalCounter]) -> dict[str, Gateway]:
        """Return each region's API without a function."""
        return {region: self._gateway(region, counter) for region, counter in counters.items()}

    def _gateway(self, region: str, counter: RegionalCounter) -> Gateway:
        settings = self.settings
        return Gateway(
            f"{self.name}-{region}-gateway",
            GatewayArgs(
                names=self.names,
                region=region,
                default_counter=settings.counters[0],
                signed=settings.authorization == "AWS_IAM",
                rate=settings.api_gateway_rate,
                burst=settings.api_gateway_burst,
                table=counter.table,
                role_rules=settings.role_rules,
                paused=region in settings.paused,
                kms_key=settings.kms_keys.get(region, ""),
            ),
            opts=child(self.parent, f"{region}-gateway"),
        )


def child(parent: pulumi.Resource, old_name: str) -> pulumi.ResourceOptions:
    """Return a child's options. In 1.0.0 it was the stack's own child, and called `old_name`."""
    old = pulumi.Alias(name=old_name, parent=pulumi.ROOT_STACK_RESOURCE)
    return pulumi.ResourceOptions(parent=parent, aliases=[old])
