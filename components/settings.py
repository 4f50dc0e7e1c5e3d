"""A stack's settings: read once from `pulumi.Config`, checked all at once, typed."""

from collections.abc import Mapping
from dataclasses import dataclass

import pulumi

from .configuration import Reader

LOG_RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)  # fmt: skip
"""CloudWatch Logs API reference, PutRetentionPolicy."""


@dataclass(frozen=True)
class Settings:
    """What a stack is configured to be. Only `Settings.load` makes it, so it is always valid."""

    home: str
    """The region of the layouts table and the coordinator (`aws:region`)."""
    regions: tuple[str, ...]
    counters: tuple[str, ...]
    authorization: str
    memory_size: int
    log_retention_days: int
    reserved_concurrency: int
    protect: bool
    idempotency_hours: int
    lease: int
    cors_origins: tuple[str, ...]
    open_counters: bool
    api_gateway: bool
    gateway_rate: int
    gateway_burst: int
    floors: Mapping[str, int]
    """Counter → the integer below which it must mint nothing again."""

    @staticmethod
    def load() -> "Settings":
        """Read the present stack's configuration.

        Raises:
            SettingsError: with every wrong setting, its value and what is allowed.
        """
        reader = Reader(pulumi.get_project())
        home = reader.home()
        settings = Settings(
            home=home,
            regions=reader.regions(home),
            counters=reader.counters(),
            authorization=reader.one_of("authorization", ("AWS_IAM", "NONE"), default="AWS_IAM"),
            memory_size=reader.integer("memorySize", 128, 10_240, default=256),
            log_retention_days=reader.integer("logRetentionDays", 1, 3653, default=14, only=LOG_RETENTION_DAYS),
            reserved_concurrency=reader.integer("reservedConcurrency", 0, 100_000, default=0),
            protect=reader.boolean("protect", default=True),
            idempotency_hours=reader.integer("idempotencyHours", 1, 8760, default=24),
            lease=reader.integer("lease", 1, 1000, default=1),
            cors_origins=reader.origins(),
            open_counters=reader.boolean("openCounters", default=False),
            api_gateway=reader.boolean("apiGateway", default=False),
            gateway_rate=reader.integer("apiGatewayRate", 1, 100_000, default=1000),
            gateway_burst=reader.integer("apiGatewayBurst", 1, 100_000, default=500),
            floors=reader.floors(),
        )
        roles = ("mint", "gateway") if settings.api_gateway else ("mint",)
        reader.check_names(pulumi.get_stack(), (*settings.regions, settings.home), roles)
        reader.finish()
        return settings
