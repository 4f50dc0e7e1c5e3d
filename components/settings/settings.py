"""The settings of a deployment: checked all at once, with the defaults filled in, and the desired state."""

import json
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import accumulate
from typing import Any

import pulumi

from integers.lattice import MAX_INTEGER, places
from integers.names import CHECK_COUNTER

from ..names import ResourceNames, RoleRules
from .alarms import thresholds
from .args import GlobalIntegersArgs
from .checks import Checks
from .domain import AddressChecks
from .governance import CompanyChecks
from .values import canonical
from .waves import waves

LOG_RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)  # fmt: skip
"""CloudWatch Logs API reference, PutRetentionPolicy."""

PUBLIC_CONCURRENCY = 10
"""The limit on concurrent executions of a public function, unless another one is set. It bounds what an attack costs
(docs/permissions.md): a Function URL serves at most 10 requests per second for each."""


class SettingsError(pulumi.RunError):
    """One or more settings are wrong. The message has a line for each; no resource was registered."""


@dataclass(frozen=True)
class Settings:
    """A deployment's settings. Only `settings_of` creates them, so they are always valid."""

    home: str
    """The region of the layouts table and the coordinator."""
    regions: tuple[str, ...]
    counters: tuple[str, ...]
    floors: Mapping[str, int]
    """Counter → the integer below which it must mint nothing again; `*` stands for those without a floor."""
    leaving: tuple[str, ...]
    """Regions outside the layout that are still there."""
    window: int
    headroom: int
    watch_minutes: int
    authorization: str
    memory_size: int
    log_retention_days: int
    reserved_concurrency: int
    """-1 is no limit, as for AWS."""
    idempotency_hours: int
    lease: int
    cors_origins: tuple[str, ...]
    open_counters: bool
    api_gateway: bool
    api_gateway_rate: int
    api_gateway_burst: int
    domain: str
    """The host name that all regions share. Empty: none."""
    hosted_zone: str
    """The name or id of the zone of Route 53 that holds it. Empty: its records are made by hand."""
    function_urls: bool
    alarms: Mapping[str, int]
    """Alarm → its threshold; 0: there is no such alarm. All alarms are in it."""
    alarm_emails: tuple[str, ...]
    alarm_topics: Mapping[str, str]
    """Region → the ARN of a topic there."""
    protect: bool
    paused: tuple[str, ...]
    waves: tuple[tuple[str, ...], ...]
    """Every region of `regions` and `leaving`, in the order in which their functions are updated."""
    callers: Mapping[str, Sequence[str]]
    """Pattern of ARNs → counters; `*` is every counter. Empty: whoever IAM lets in may use all of them."""
    role_rules: RoleRules
    kms_keys: Mapping[str, str]
    """Region → the ARN of its key. Empty: none has one; otherwise all that are deployed to have one."""
    budget: int
    """US dollars a month, of which `alarm_emails` are notified; 0 is none."""
    prefix: str


def settings_of(
    args: GlobalIntegersArgs | Mapping[str, Any],
    prefix: str,
    *,
    key: Callable[[str], str] = str,
    example: Callable[[str, object], str] = lambda name, value: f"{name}={value!r}",
    errors: Sequence[str] = (),
) -> Settings:
    """Return the settings, checked and with the defaults filled in.

    Args:
        args: what is asked for, as the dataclass or as a dict of its attributes (integers may be whole floats, as
            they come from a program in another language).
        prefix: what names begin with, unless `args` says.
        key: what the reader calls an attribute.
        example: how the reader would set an attribute to a value.
        errors: what was found wrong before.

    Raises:
        SettingsError: with every wrong setting, its value and what is allowed.
    """
    values = asdict(args) if isinstance(args, GlobalIntegersArgs) else args
    checks = Checks(values, key, example, errors)
    home = checks.home()
    regions = checks.regions()
    leaving = checks.leaving(regions)
    checks.one_partition((home, *regions, *leaving))
    address = AddressChecks(checks)
    domain = address.domain()
    function_urls = address.function_urls(domain)
    checks.function_urls(regions=regions if function_urls else (), leaving=leaving if function_urls else ())
    alarm_emails = checks.alarm_emails()
    watch_minutes = checks.integer("watch_minutes", 1, 60, default=5)
    authorization = checks.one_of("authorization", ("AWS_IAM", "NONE"), default="AWS_IAM")
    api_gateway = checks.boolean("api_gateway", default=False)
    cors_origins = checks.origins()
    address.origins(cors_origins, signed=authorization == "AWS_IAM", function_urls=function_urls)
    company = CompanyChecks(checks)
    settings = Settings(
        home=home,
        regions=regions,
        counters=checks.counters(),
        floors=checks.floors(),
        leaving=leaving,
        window=checks.integer("window", 1000, 10**12, default=100_000_000),
        headroom=checks.integer("headroom", 1, 1_000_000, default=10_000),
        watch_minutes=watch_minutes,
        authorization=authorization,
        memory_size=checks.integer("memory_size", 128, 10_240, default=256),
        log_retention_days=checks.integer("log_retention_days", 1, 3653, default=14, only=LOG_RETENTION_DAYS),
        reserved_concurrency=_concurrency(
            checks.integer("reserved_concurrency", -1, 100_000, default=0), authorization
        ),
        idempotency_hours=checks.integer("idempotency_hours", 1, 8760, default=24),
        lease=checks.integer("lease", 1, 100_000, default=1),
        cors_origins=cors_origins,
        open_counters=checks.boolean("open_counters", default=False),
        api_gateway=api_gateway,
        api_gateway_rate=checks.integer("api_gateway_rate", 1, 100_000, default=1000),
        api_gateway_burst=checks.integer("api_gateway_burst", 1, 100_000, default=500),
        domain=domain,
        hosted_zone=address.hosted_zone(domain),
        function_urls=function_urls,
        alarms=thresholds(checks.alarms(), watch_minutes),
        alarm_emails=alarm_emails,
        alarm_topics=checks.alarm_topics(home, regions),
        protect=checks.boolean("protect", default=True),
        paused=company.paused((*regions, *leaving)),
        waves=waves(checks, regions, leaving),
        callers=company.callers(signed=authorization == "AWS_IAM", gateway=api_gateway),
        role_rules=RoleRules(company.iam_path(), company.permissions_boundary()),
        kms_keys=company.keys((*regions, *leaving, home)),
        budget=company.budget(alarm_emails),
        prefix=checks.text("prefix", default=prefix),
    )
    checks.prefix(ResourceNames(settings.prefix), (*regions, *leaving), gateway=settings.api_gateway)
    checks.unknown_keys()
    if not checks.errors:
        checks.counters_fit(len(settings.counters), fitting(settings), len(settings.floors))
    if checks.errors:
        raise SettingsError("\n".join(["the settings are wrong:", *(f"  {line}" for line in checks.errors)]))
    return settings


def _concurrency(given: int, authorization: str) -> int:
    """Return the limit on concurrent executions. -1, no limit, must be asked for where everyone may call."""
    if given:
        return given
    return PUBLIC_CONCURRENCY if authorization == "NONE" else -1


MAX_RECORD = 409_600
"""Bytes of an item, with the names of its attributes (DynamoDB guide, "Quotas": 400 KB). The record is one item."""

MAX_REPLY = 6_291_556
"""Bytes of a function's response (Lambda's error `Function.ResponseSizeTooLarge` names this number)."""

MAX_EPOCH = 999_999
"""No counter gets this far: a change of regions every hour for a century begins 876,600 epochs."""

LABEL = "2026-11-21T00:00:00.000"
"""As long as the label of any table's stream."""

OTHERS = 1024
"""Bytes for the other attributes of the record and of its copy, which have about 250, and a margin."""


def desired_state_of(settings: "Settings") -> dict[str, Any]:
    """Return the part of a desired state that comes from the settings."""
    return {
        "regions": list(settings.regions),
        "leaving": list(settings.leaving),
        "counters": [*settings.counters, CHECK_COUNTER],
        "floors": dict(settings.floors),
        "window": settings.window,
        "headroom": settings.headroom,
        "watchMinutes": settings.watch_minutes,
    }


def fitting(settings: "Settings") -> int:
    """Return how many of the settings' counters, the first ones, fit into the record and into the reply.

    0 or less means that none fits. The record holds the desired state, and each counter's epoch and base. The reply has
    each counter's layout. Both are taken at their largest: the largest numbers, and every region pending.
    """
    regions = [*settings.regions, *settings.leaving]
    home = f"{settings.home} {LABEL}"
    others = {"counters": [CHECK_COUNTER], "tables": dict.fromkeys(regions, LABEL), "home": home, "first": home}
    standing = {"epoch": MAX_EPOCH, "base": MAX_INTEGER}
    layout = {region: place._asdict() for region, place in places(settings.regions).items()}
    noted = json.dumps(standing)
    replied = json.dumps({**standing, "limit": MAX_INTEGER, "regions": layout, "pending": regions})
    pending = json.dumps({"counters": {}, "created": [], "pending": regions, "registered": MAX_INTEGER})
    record = len(canonical({**desired_state_of(settings), **others})) + len(pending) + OTHERS
    return min(
        _first((len(f'"{name}","{name}": {noted}, ') for name in settings.counters), record, MAX_RECORD),
        _first((len(f'"{name}": {replied}, "{name}", ') for name in settings.counters), len(pending), MAX_REPLY),
    )


def _first(sizes: Iterable[int], before: int, room: int) -> int:
    """Return how many of these sizes, the first ones, fit into `room` after `before`; -1 if not even `before` does."""
    return bisect_right(list(accumulate(sizes, initial=before)), room) - 1
