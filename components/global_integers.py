"""The whole deployment as one component."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Optional

import pulumi

from global_integers_core.lattice import places
from global_integers_core.names import camel

from .coordinator import Coordinator, CoordinatorArgs
from .coordinator.deployment import FormerHome, former_home, item_reader
from .domain import Domain
from .domain.capacity import capacity
from .function import archive
from .gateway import Gateway
from .monitoring import Monitoring, budget
from .monitoring.stack_metrics import StackMetrics
from .provider import check_provider, tagging
from .region import RegionalAlias, RegionalCounter, RegionalCounterArgs
from .settings import SettingsError, desired_state_of, settings_of
from .settings.args import GlobalIntegersArgs, Settings, minting_environment
from .settings.values import Findings
from .table import only_writers


class GlobalIntegers(pulumi.ComponentResource):
    """Unique integers from several AWS regions, with no call between regions while one is minted."""

    regions: pulumi.Output[list[str]]
    """The regions, in order."""
    layout: pulumi.Output[dict[str, dict[str, int]]]
    """Region → its `offset` and `stride`."""
    urls: dict[str, pulumi.Output[str]]
    """Region → its Function URL, which ends with `/`. Known once the layout is reconciled, so every URL can mint."""
    gateway_urls: dict[str, pulumi.Output[str]]
    """Region → its API Gateway URL, which ends with `/`."""
    domain_url: Optional[pulumi.Output[str]] = None
    """With `domain`: the URL of all regions together, which ends with `/`."""
    domain_gateway_url: Optional[pulumi.Output[str]] = None
    """With `domain`: the URL of all API Gateways together."""
    records: Optional[pulumi.Output[list[dict[str, str]]]] = None
    """With `domain` and without a hosted zone: the records to make by hand."""
    leaving: dict[str, pulumi.Output[str]]
    """Region that is leaving → its Function URL, which says where to go."""
    counters: pulumi.Output[dict[str, Any]]
    """Counter → its `epoch`, `base` and `regions`, in the order of the settings."""
    default_counter: pulumi.Output[str]
    """The counter at `/`."""
    coordinator: pulumi.Output[str]
    """The name of the coordinator's function, in the home region."""

    def __init__(
        self,
        name: str,
        args: GlobalIntegersArgs,
        opts: pulumi.ResourceOptions | None = None,
    ) -> None:
        """Deploy. A program in another language hands over a dict as `args`.

        Raises:
            SettingsError: with every wrong setting, its value and what is allowed; or the provider that it was given is
                for another region than `home`.
        """
        prefix = f"{pulumi.get_project()}-{pulumi.get_stack()}-{name}"
        settings = _settings(args, prefix)
        tagged = pulumi.ResourceOptions(transformations=[tagging(settings.tags)])
        opts = pulumi.ResourceOptions.merge(tagged, opts)
        super().__init__("global-integers:index:GlobalIntegers", name, None, opts)
        check_provider(settings.home, self)
        child = pulumi.ResourceOptions(parent=self)
        former = former_home(settings.names, settings.home, settings.deployed, item_reader(settings.names, self))
        if former and settings.kms_keys and former.region not in settings.kms_keys:
            raise SettingsError(
                f"kmsKeys: {former.region} has no key here, which was the home region until now: keep its key until "
                "the home region has moved"
            )
        coordinator = Coordinator(f"{name}-coordinator", _coordinator_args(settings, former), opts=child)
        deployed = self._waves(name, settings, coordinator)
        minting = {region: deployed[region].counter for region in settings.regions}
        ready = [resource for counter in minting.values() for resource in counter.ready]
        if settings.budget:
            paid = dict.fromkeys((*settings.deployed, settings.home))
            budget(f"{name}-budget", settings.names.budget, settings.budget, paid, settings.alarm_emails, self)
        gateways = {
            region: Gateway(
                f"{name}-{region}-gateway",
                settings.region(region),
                names=settings.names,
                roles=settings.roles,
                signed=settings.signed,
                rate=settings.api_gateway_rate,
                burst=settings.api_gateway_burst,
                table=made.counter.table,
                default_counter=settings.default_counter,
                after=[made.release],
                opts=child,
            )
            for region, made in deployed.items()
            if settings.api_gateway
        }
        if settings.protect:
            for region, made in deployed.items():
                counter, mint = made.counter, made.counter.mint.role.arn
                writers = [coordinator.function.role.arn, mint]
                gateway = [gateways[region].role.arn] if region in gateways else []
                policies = [
                    only_writers(
                        f"{name}-{region}-table-writers", region, counter.table, [*writers, *gateway], counter
                    ),
                    only_writers(f"{name}-{region}-receipts-writers", region, counter.receipts, writers, counter),
                ]
                ready += policies if region in minting else []  # another home region has another role
        reconciled = coordinator.reconcile(
            desired_state_of(settings),
            {region: each.table for region, each in minting.items()},
            ready,
            protect=settings.protect,
        )
        aliases = {region: made.alias for region, made in deployed.items()}
        domain = None
        if settings.domain:
            domain = Domain(
                f"{name}-domain",
                settings.domain,
                hosted_zone=settings.hosted_zone,
                regions=settings.regions,
                names=settings.names,
                access=settings.access,
                capacities={region: capacity(settings, region) for region in settings.deployed},
                aliases=aliases,
                gateways=gateways,
                reconciled=reconciled,
                opts=child,
            )
        Monitoring(
            f"{name}-monitoring",
            metrics_of(settings, domain.apis if domain is not None else {}),
            dashboard=settings.dashboard,
            emails=settings.alarm_emails,
            topics=settings.alarm_topics,
            kms_keys=settings.kms_keys,
            deployed=coordinator,
            opts=child,
        )

        self.regions = pulumi.Output.from_input(list(settings.regions))
        self.layout = pulumi.Output.from_input(
            {region: place._asdict() for region, place in places(settings.regions).items()}
        )
        own_names = domain.urls if domain is not None else {}
        urls = {
            region: _once_reconciled(reconciled, alias.url if alias.url is not None else own_names[region])
            for region, alias in aliases.items()
        }
        self.urls = {region: urls[region] for region in settings.regions}
        self.leaving = {region: urls[region] for region in settings.leaving}
        self.gateway_urls = {
            region: _once_reconciled(reconciled, gateway.url)
            for region, gateway in gateways.items()
            if region in settings.regions
        }
        if domain is not None:
            self.domain_url = _once_reconciled(reconciled, domain.url)
            self.records = domain.records
            if domain.gateway_url is not None:
                self.domain_gateway_url = _once_reconciled(reconciled, domain.gateway_url)
        self.counters = reconciled["counters"]
        self.default_counter = pulumi.Output.from_input(settings.default_counter)
        self.coordinator = coordinator.function.name
        self.register_outputs({camel(output): getattr(self, output) for output in GlobalIntegers.__annotations__})

    def _waves(self, name: str, settings: Settings, coordinator: Coordinator) -> "dict[str, _Deployed]":
        """Return what every region has. A wave's functions change when callers reach those of the wave before.

        Callers of a wave reach its new versions once all of them have passed their checks. Each region has a check of
        its own: it runs when this region's function has changed, not when another one has.
        """
        args, child = _counter_args(settings), pulumi.ResourceOptions(parent=self)
        after: Sequence[pulumi.Resource] = coordinator.ready
        deployed: dict[str, _Deployed] = {}
        for wave in settings.waves:
            counters = {
                region: RegionalCounter(
                    f"{name}-{region}",
                    settings.region(region),
                    args,
                    witness=coordinator.witness,
                    after=after,
                    opts=child,
                )
                for region in wave
            }
            checks = {
                region: coordinator.check(settings.region(region), counter.mint, counter.ready)
                for region, counter in counters.items()
                if region in settings.regions
            }
            for region, counter in counters.items():
                # A region that leaves is neither checked, nor does it wait for others: it may be the last that works.
                of_wave = [*checks.values()] if region in checks else []
                own = [checks[region]] if region in checks else counter.ready
                alias = RegionalAlias(
                    f"{name}-{region}-alias",
                    region,
                    counter.mint,
                    access=settings.access,
                    function_url=settings.function_urls,
                    after=own,
                    opts=child,
                )
                release = coordinator.release(settings.region(region), counter.mint, alias.url, [*of_wave, alias])
                counter.mint.allow_no_more([release], later=region in settings.paused)
                deployed[region] = _Deployed(counter, alias, release)
            # Nobody waits for a region that leaves: it may be one that never comes back.
            after = [deployed[region].release for region in checks] or after
        return {region: deployed[region] for region in settings.deployed}


class _Deployed(NamedTuple):
    """What a region has."""

    counter: RegionalCounter
    alias: RegionalAlias
    release: pulumi.Resource
    """After it, callers reach the new version."""


def _coordinator_args(settings: Settings, former: FormerHome | None) -> CoordinatorArgs:
    return CoordinatorArgs(
        names=settings.names,
        home=settings.home,
        former=former,
        kms_keys=settings.kms_keys,
        roles=settings.roles,
        protect=settings.protect,
        default_counter=settings.default_counter,
        environment={
            **({"MAX_COUNTERS": str(settings.max_counters)} if settings.open_counters else {}),
            **({"DASHBOARD": "true"} if settings.dashboard else {}),
        },
        schedule_minutes=settings.schedule_minutes,
        log_retention_days=settings.log_retention_days,
    )


def _counter_args(settings: Settings) -> RegionalCounterArgs:
    return RegionalCounterArgs(
        names=settings.names,
        home=settings.home,
        roles=settings.roles,
        protect=settings.protect,
        code=archive("mint", "aws_client"),
        environment={"DEFAULT_COUNTER": settings.default_counter, **minting_environment(vars(settings))},
        memory_size=settings.memory_size,
        log_retention_days=settings.log_retention_days,
        reserved_concurrency=settings.reserved_concurrency,
        open_counters=settings.open_counters,
    )


def metrics_of(settings: Settings, apis: Mapping[str, pulumi.Input[str]]) -> StackMetrics:
    """Return the metrics of a deployment. `apis` are the ids of the domain's APIs, by region."""
    return StackMetrics(
        names=settings.names,
        home=settings.home,
        regions=settings.regions,
        leaving=settings.leaving,
        paused=settings.paused,
        function_urls=settings.function_urls,
        signed=settings.signed,
        schedule_minutes=settings.schedule_minutes,
        thresholds=settings.alarms,
        apis=apis,
    )


def _once_reconciled(reconciled: pulumi.Output[Any], url: pulumi.Output[str]) -> pulumi.Output[str]:
    return pulumi.Output.all(url, reconciled).apply(lambda both: str(both[0]))


def _settings(args: GlobalIntegersArgs | Mapping[str, Any], prefix: str) -> Settings:
    """Return the settings. Errors are in the words of the program, which may be in another language."""
    if isinstance(args, GlobalIntegersArgs):
        return settings_of(args, prefix)
    words = Findings(camel, lambda name, value: f"{camel(name)}: {json.dumps(value, ensure_ascii=False)}")
    return settings_of(args, prefix, words)
