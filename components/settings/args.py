"""The settings of a deployment, as arguments of the component."""

# Pulumi's analyzer reads these types for programs in other languages: no string annotations, no unions but Optional.
from dataclasses import dataclass


@dataclass
class GlobalIntegersArgs:
    """The settings of a deployment. `docs/settings.md` has the ranges and the defaults; None means the default.

    They are plain values and no outputs, because they decide which resources exist.
    """

    home: str
    """The home region, with the layouts table and the coordinator. It can't be moved."""
    regions: list[str]
    """The AWS regions that mint, in order. Region i of N mints i, i+N, i+2N, …."""
    counters: list[str] | None = None
    """The counters, each an independent sequence of integers. The first one is the default, at `/`."""
    floors: dict[str, int] | None = None
    """Counter → integer below which it mints nothing again; `*` stands for the counters without a floor."""
    leaving: list[str] | None = None
    """Regions that mint no longer, and are still there to say so. Their tables may be deleted next."""
    window: int | None = None
    """How many integers a region may mint before the coordinator must grant more."""
    headroom: int | None = None
    """How many integers a region may still mint after a change of regions has begun."""
    watch_minutes: int | None = None
    """Minutes between two runs of the coordinator by schedule."""
    allow_url_regions: list[str] | None = None
    """Regions that got Function URLs after this version was published."""
    authorization: str | None = None
    """Who may call the Function URLs: `AWS_IAM` or `NONE`."""
    memory_size: int | None = None
    """Memory of the minting function, in MB."""
    log_retention_days: int | None = None
    """How long the functions' logs are kept, in days."""
    reserved_concurrency: int | None = None
    """Limit on concurrent executions of each region's minting function. 0 is no limit, but 10 with
    `authorization: NONE`; -1 is no limit there either."""
    idempotency_hours: int | None = None
    """How long a request repeated with the same Idempotency-Key returns the same integers, in hours."""
    lease: int | None = None
    """Most integers that a busy function takes with one write and serves from memory; 1 is off."""
    cors_origins: list[str] | None = None
    """Origins whose pages may mint in a browser; `*` is every one."""
    open_counters: bool | None = None
    """Whether every caller may create and list counters."""
    api_gateway: bool | None = None
    """Whether API Gateway mints too, without a function."""
    api_gateway_rate: int | None = None
    """Requests per second that each region's API Gateway allows."""
    api_gateway_burst: int | None = None
    """Requests that each region's API Gateway allows in one burst, above its rate."""
    domain: str | None = None
    """A host name for the whole stack, like `integers.example.com`: the nearest healthy region answers there."""
    hosted_zone: str | None = None
    """The name or id of the public zone of Route 53 that holds `domain`. By default, its records are made by hand."""
    function_urls: bool | None = None
    """Whether the regions have Function URLs, too; false is possible with `domain` only."""
    alarms: dict[str, int] | None = None
    """Alarm → its threshold. What isn't named has its default; 0 switches an alarm off, `*: 0` all others."""
    alarm_emails: list[str] | None = None
    """Addresses that alarms are sent to."""
    alarm_topics: dict[str, str] | None = None
    """Region → the ARN of an SNS topic there, to which its alarms are sent."""
    protect: bool | None = None
    """Whether the tables have deletion protection, and Pulumi's `protect`."""
    paused: list[str] | None = None
    """Regions that mint nothing until they are taken from this list. Their tables and URLs stay as they are."""
    waves: list[list[str]] | None = None
    """Waves: regions whose minting functions are updated at the same time. Each wave is checked before the next."""
    callers: dict[str, list[str]] | None = None
    """ARN of a role or user, in which `*` stands for any text → the counters that it may use; `*` is every one."""
    iam_path: str | None = None
    """The path of every role, like `/teams/shop/`. A role keeps the one that it was created with."""
    permissions_boundary: str | None = None
    """The ARN of the policy that bounds every role."""
    kms_keys: dict[str, str] | None = None
    """Region → the ARN of the key that encrypts its tables and log groups."""
    budget: int | None = None
    """US dollars a month, 0 to 1,000,000. The addresses for alarms are notified at 80 and 100 percent. 0: none."""
    prefix: str | None = None
    """What the names of all resources on AWS begin with. By default `<project>-<stack>-<name of the component>`."""
