"""Global integers: every region mints its own share of the integers, and no two the same."""

import pulumi

from components.coordinator import Coordinator, CoordinatorArgs
from components.gateway import Gateway, GatewayArgs
from components.layout import places
from components.regional_counter import RegionalCounter, RegionalCounterArgs
from components.settings import Settings

settings = Settings.load()
prefix = f"{pulumi.get_project()}-{pulumi.get_stack()}"

counters = {
    region: RegionalCounter(region, RegionalCounterArgs(region=region, prefix=prefix, settings=settings))
    for region in settings.regions
}
coordinator = Coordinator(
    "coordinator",
    CoordinatorArgs(prefix=prefix, settings=settings, tables=[counter.table for counter in counters.values()]),
)
gateways = {
    region: Gateway(
        f"{region}-gateway",
        GatewayArgs(region=region, prefix=prefix, settings=settings, table=counter.table),
    )
    for region, counter in counters.items()
    if settings.api_gateway
}

pulumi.export("regions", list(settings.regions))
pulumi.export(
    "layout",
    {region: {"offset": p.offset, "stride": p.stride} for region, p in places(settings.regions).items()},
)
# A URL is given out once the layout stands, so that whoever has one can mint.
pulumi.export(
    "urls",
    {region: pulumi.Output.all(counter.url, coordinator.settled)[0] for region, counter in counters.items()},
)
pulumi.export(
    "gatewayUrls",
    {region: pulumi.Output.all(gateway.url, coordinator.settled)[0] for region, gateway in gateways.items()},
)
pulumi.export("counters", coordinator.settled["counters"])
pulumi.export("coordinator", coordinator.function_name)
