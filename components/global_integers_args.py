"""What a deployment of global integers may be asked for."""

# Pulumi's analyzer reads these types for programs in other languages: no string annotations, no unions but Optional.
from dataclasses import dataclass


@dataclass
class GlobalIntegersArgs:
    """What a deployment is asked for. `docs/settings.md` has the ranges and the defaults; None is the default.

    All of it decides which resources there are, so it is plain values, known when the program runs.
    """

    home: str
    """The home region, with the layouts table and the coordinator. It can't be moved."""
    regions: list[str]
    """The AWS regions that mint, in order. Region i of N hands out i, i+N, i+2N, …."""
    counters: list[str] | None = None
    """The counters, each an independent sequence of integers. The first answers at `/`."""
    floors: dict[str, int] | None = None
    """Counter → integer below which it mints nothing again."""
    authorization: str | None = None
    """Who may call the Function URLs: `AWS_IAM` or `NONE`."""
    memory_size: int | None = None
    """Memory of the minting function, in MB."""
    log_retention_days: int | None = None
    """How long the functions' logs are kept, in days."""
    reserved_concurrency: int | None = None
    """Cap on concurrent executions of each region's minting function; 0 is no cap."""
    idempotency_hours: int | None = None
    """How long a request repeated with the same Idempotency-Key returns the same integers, in hours."""
    lease: int | None = None
    """Most integers that a busy function takes by one write and serves from memory; 1 is off."""
    cors_origins: list[str] | None = None
    """Origins whose pages may mint in a browser; `*` is every one."""
    open_counters: bool | None = None
    """Whether every caller may create and list counters."""
    api_gateway: bool | None = None
    """Whether API Gateway mints too, without a function."""
    api_gateway_rate: int | None = None
    """Requests per second that each region's API Gateway lets through."""
    api_gateway_burst: int | None = None
    """Requests at once above that rate."""
    protect: bool | None = None
    """Whether the tables have deletion protection, and Pulumi's `protect`."""
    prefix: str | None = None
    """What the names of all resources on AWS begin with. By default `<project>-<stack>-<name of the component>`."""
