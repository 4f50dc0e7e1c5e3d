"""The table of all settings: the type, the default, the allowed values and the text of each.

From it follow the checks of single values (`values.py`), how a stack's configuration is read (`__init__.py`), the
inputs of the Pulumi package (`components/plugin/`), `config` in `Pulumi.yaml`, and the table in `docs/settings.md`
(`make fix` writes the last two).
"""

# Pulumi's analyzer reads the types and docstrings of the fields for programs in other languages: no string
# annotations, no unions but Optional. In the docstrings, settings have the names that stacks and those programs use.
# ruff: noqa: RUF009 (`setting` returns a field)
import json
import re
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar

import pulumi

from ..names import ResourceNames
from .subjects import Access, Region, Roles

T = TypeVar("T")

# To type checkers, None is accepted where a setting is given, and is never read, since `__post_init__` fills in the
# defaults. At runtime it is what Pulumi's analyzer knows.
if TYPE_CHECKING:

    class Setting(Generic[T]):
        """A field that may be given as None, which stands for the default."""

        def __get__(self, instance: object, owner: object) -> T: ...

        def __set__(self, instance: object, value: T | None) -> None: ...
else:
    Setting = Optional

LOG_RETENTION_DAYS = (
    1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827, 2192, 2557, 2922, 3288, 3653,
)  # fmt: skip
"""CloudWatch Logs API reference, PutRetentionPolicy."""

ORIGIN = re.compile(
    r"\*|(?=.{1,253}\Z)(https?://([a-z0-9._-]+|\[[0-9a-f:]+\])|(?!https?:)[a-z][a-z0-9+.-]*://[A-Za-z0-9._-]*)"
    r"(:([0-9]{1,4}|[1-5][0-9]{4}|6[0-4][0-9]{3}|65[0-4][0-9]{2}|655[0-2][0-9]|6553[0-5]))?"
)
"""An origin as a browser or an app sends it (Fetch standard, "Origin header"), or every one. Apps and extensions have
schemes of their own, like `capacitor://localhost`; their hosts may have capitals, or be empty (`file://`). Lambda API
reference, Cors: up to 253 characters. A port is up to 65535."""

EMAIL = re.compile(r"[^@\s]+@[^@\s]+\.[^@\s.]+")

LABEL = r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?"
HOST = re.compile(rf"({LABEL}\.)+[a-z]([a-z0-9-]{{0,61}}[a-z0-9])?")
"""RFC 1123, section 2.1, in lower case. The last label isn't a number."""

BOUNDARY = re.compile(r"arn:[a-z-]+:iam::(\d{12}|aws):policy/[\w+=,.@/-]+", re.ASCII)
PATH = re.compile(r"(?=.{1,512}\Z)(/|/[!-.0-~]+(/[!-.0-~]+)*/)")
"""IAM API reference, CreateRole: it begins and ends with a slash."""

ONE = "at least one is needed"


@dataclass(frozen=True)
class Range:
    """The default of a setting, and what is allowed of its type."""

    default: Any
    least: int = 0
    most: int = 0
    choices: tuple[int | str, ...] = ()
    """The only values; instead of a range."""
    pattern: re.Pattern[str] | None = None
    """Of a text that isn't empty, or of each text in a list."""
    wanted: str = ""
    """What a text is that matches, or what an object has as keys and values."""
    needed: str = ""
    """Why it can't be empty."""
    example: Any = None
    later: bool = False
    """Whether it, or each of an object's values, may be an output, which is known once other resources are made."""
    minting: bool = False
    """Whether the minting function gets it, as an environment variable with its name."""


def setting(default: object, **more: Any) -> Any:
    """Return a field that may be left out, with what `Range` takes."""
    return field(default=None, metadata={"allowed": Range(default, **more)})


def required(**more: Any) -> Any:
    """Return a field that must be given."""
    return field(metadata={"allowed": Range(**more)})


@dataclass
class GlobalIntegersArgs:
    """The settings of a deployment, as arguments of the component. None means the default.

    Most are plain values and no outputs, because they decide which resources exist.
    """

    home: str = required(
        default="", needed="it is the home region, with the layouts table and the coordinator", example="us-east-1"
    )
    """The home region, with the layouts table and the coordinator. With another one, they move there."""
    regions: Sequence[str] = required(default=[], needed=ONE, example=["us-east-1", "eu-west-1"])
    """The AWS regions that mint, in order. Region i of N mints i, i+N, i+2N, …."""
    counters: Setting[Sequence[str]] = setting(["integers"], needed=ONE, example=["integers"])
    """The counters, each an independent sequence of integers."""
    default_counter: Setting[str] = setting("integers")
    """The [counter at `/`](api.md#the-default-counter), one of `counters`."""
    floors: Setting[Mapping[str, int]] = setting({}, wanted="counters and integers", example={"integers": 5_000_000})
    """Counter → integer, up to 2^52, at which a new counter begins. One that is below jumps up to it, and doesn't go
    back; [what was leased before](layouts.md#what-was-leased-before) is still handed out. `*` stands for all counters
    without one."""
    recovery: Setting[Mapping[str, Any]] = setting(
        {}, wanted="loss and above", example={"loss": "loss-8f14e45fceea167a-7", "above": 120_000}
    )
    """The answer to a [loss of two tables](runbook.md#two-losses-at-once). `loss` is its id in the refusal; `above` an
    integer up to 2^53 − 1 above which nothing was ever minted."""
    leaving: Setting[Sequence[str]] = setting([], example=["us-west-2"])
    """Regions [being removed](runbook.md#remove-a-region). Their URLs return 410; their tables are no longer protected.
    A region neither here nor in `regions` is deleted."""
    window: Setting[int] = setting(1000, least=1, most=10**12)
    """How many integers a region may mint without the home region, at least, 1 to 10^12. What a counter uses in a day
    makes it larger. See [window](settings.md#window)."""
    schedule_minutes: Setting[int] = setting(5, least=1, most=60)
    """Minutes between scheduled runs of the coordinator, 1 to 60."""
    allow_url_regions: Setting[Sequence[str]] = setting([], example=["ca-west-1"])
    """Regions where AWS offers Function URLs only since this version was released."""
    authorization: Setting[str] = setting("AWS_IAM", choices=("AWS_IAM", "NONE"))
    """Who may call: `AWS_IAM` (signed requests of allowed callers) or `NONE` (everyone)."""
    memory_size: Setting[int] = setting(256, least=128, most=10_240)
    """Memory of the minting function in MB, 128 to 10240. Its share of a processor grows with it."""
    log_retention_days: Setting[int] = setting(14, choices=LOG_RETENTION_DAYS)
    """Days to keep the functions' logs (the coordinator's at least 365); a value that CloudWatch Logs allows."""
    reserved_concurrency: Setting[int] = setting(0, least=-1, most=100_000)
    """Limit on concurrent executions of each region's minting function. Each serves up to 10 requests per second. 0 is
    no limit with `AWS_IAM` and 10 with `NONE`; -1 is no limit."""
    idempotency_hours: Setting[int] = setting(24, least=1, most=8760, minting=True)
    """Hours in which a repeated Idempotency-Key returns the same integers in the same region, 1 to 8760."""
    lease: Setting[int] = setting(1, least=1, most=100_000, minting=True)
    """The most integers that a busy function takes with one write and serves from memory for up to ten seconds, 1 (off)
    to 100000."""
    cors_origins: Setting[Sequence[str]] = setting([], example=["https://shop.example"])
    """Origins whose pages may mint in a browser or an app, like `https://shop.example` or `capacitor://localhost`; `*`
    allows every origin."""
    max_block: Setting[int] = setting(0, least=0, most=100_000, minting=True)
    """The most integers of one request, up to 100000. 0 is 100 with `NONE`, since blocks make numbers long, and 100000
    with `AWS_IAM`."""
    open_counters: Setting[bool] = setting(False, minting=True)
    """Whether every caller may create counters (`PUT /{counter}`) and list them (`GET /-/counters`)."""
    max_counters: Setting[int] = setting(1000, least=1, most=10_000)
    """Callers may create counters while there are fewer than this, 1 to 10000. Deployments and operators always may."""
    api_gateway: Setting[bool] = setting(False)
    """Whether every region also gets an [API Gateway](gateway.md) that mints without a function."""
    api_gateway_rate: Setting[int] = setting(1000, least=1, most=100_000)
    """Requests per second that each region's API Gateway allows, 1 to 100000. Also a domain's, unless
    `reservedConcurrency` limits it."""
    api_gateway_burst: Setting[int] = setting(500, least=1, most=100_000)
    """Requests that each region's API Gateway allows in one burst, above its rate, 1 to 100000."""
    domain: Setting[str] = setting(
        "", pattern=HOST, wanted="a host name in lower case, like integers.example.com", minting=True
    )
    """A [host name for all regions](domain.md), like `integers.example.com`, up to 64 characters."""
    hosted_zone: Setting[str] = setting("")
    """Name or id of the public Route 53 zone that holds `domain`. Without it, you create the `records` yourself."""
    function_urls: Setting[bool] = setting(True)
    """Whether every region has a Function URL. `false` needs `domain`."""
    alarms: Setting[Mapping[str, int]] = setting({}, wanted="alarms and integers", example={"latency": 500})
    """Alarm → threshold, if not the [default](operations.md#thresholds). 0 switches an alarm off; `*`, for all others,
    may only be 0."""
    dashboard: Setting[bool] = setting(False)
    """Whether there is a CloudWatch dashboard. [It costs](operations.md#what-it-costs) more than the rest of a small
    stack."""
    alarm_emails: Setting[Sequence[str]] = setting(
        [], example=["operator@shop.example"], pattern=EMAIL, wanted="an e-mail address like operator@shop.example"
    )
    """Addresses that alarms are sent to. Each must confirm a mail from every region within 48 hours."""
    alarm_topics: Setting[Mapping[str, pulumi.Input[str]]] = setting(
        {}, wanted="regions and ARNs", later=True, example={"us-east-1": "arn:aws:sns:us-east-1:123456789012:operators"}
    )
    """Region → ARN of an SNS topic in it, to which the region's alarms are sent."""
    protect: Setting[bool] = setting(True)
    """Deletion protection on the tables, Pulumi's `protect`, and a [policy](permissions.md#who-may-write) that lets
    only the stack's own roles write."""
    paused: Setting[Sequence[str]] = setting([], example=["eu-west-1"])
    """Regions that [mint nothing](permissions.md#pause-a-region) while they are listed."""
    waves: Setting[Sequence[Sequence[str]]] = setting([["first"], ["rest"]], example=[["eu-west-1"], ["rest"]])
    """Lists of regions that get [new versions](operations.md#a-build-that-fails) together, one list after the other.
    `first` is the first of `regions`, `rest` those that no wave names; without it, they join the last wave. `[]` is one
    wave for all."""
    callers: Setting[Mapping[str, Sequence[str]]] = setting(
        {}, wanted="callers and counters", example={"arn:aws:iam::123456789012:role/shop": ["orders"]}, minting=True
    )
    """ARN of a role or user, in which `*` stands for any text → the counters that it may use, or `*` for all. If empty,
    whoever IAM allows in this account may [use all](permissions.md#who-may-use-which-counter)."""
    iam_path: Setting[str] = setting("/", pattern=PATH, wanted="a path like /teams/shop/, of up to 512 characters")
    """Path of every role, like `/teams/shop/`. A role keeps the path that it was created with."""
    permissions_boundary: Setting[pulumi.Input[str]] = setting(
        "", later=True, pattern=BOUNDARY, wanted="the ARN of a policy, like arn:aws:iam::123456789012:policy/b"
    )
    """ARN of the permissions boundary of every role."""
    kms_keys: Setting[Mapping[str, pulumi.Input[str]]] = setting(
        {}, wanted="regions and keys", later=True, example={"eu-west-1": "arn:aws:kms:eu-west-1:123456789012:key/7d1e"}
    )
    """Region → ARN of the [KMS key](permissions.md#keys) that encrypts what is stored there. All regions have one, the
    home region included, or none."""
    tags: Setting[Mapping[str, pulumi.Input[str]]] = setting(
        {}, wanted="keys and values", later=True, example={"team": "shop"}
    )
    """Key → value: [tags](permissions.md#tags) of all resources. `global-integers` is the prefix, unless it is one of
    them."""
    budget: Setting[int] = setting(0, least=0, most=1_000_000)
    """US dollars a month for the services used here, in these regions, up to 1000000; 0 is none. `alarmEmails` (up to
    10 of 50 characters) are notified at 80 and 100 percent."""
    prefix: Setting[str] = setting(None, needed="names on AWS begin with it", example="shop")
    """What the names of all resources on AWS begin with. By default `<project>-<stack>-<name of the component>`."""

    def __post_init__(self) -> None:
        for each in fields(self):
            if getattr(self, each.name) is None and each.default is None:
                setattr(self, each.name, deepcopy(each.metadata["allowed"].default))


SETTINGS = {each.name: each for each in fields(GlobalIntegersArgs)}
"""Name → its field."""


def minting_environment(values: Mapping[str, Any] | None = None) -> dict[str, str]:
    """Return the settings that the minting function gets, as its environment variables. By default, their defaults.

    Of what is off or empty, there is none.
    """
    found: dict[str, str] = {}
    for name, each in SETTINGS.items():
        allowed: Range = each.metadata["allowed"]
        if allowed.minting and (value := allowed.default if values is None else values[name]):
            text = value if isinstance(value, str) else json.dumps(int(value) if isinstance(value, bool) else value)
            found[name.upper()] = text
    return found


class Settings(GlobalIntegersArgs):
    """A deployment's settings. Only `settings_of` creates them, so they are always valid.

    Lists are tuples. What depends on several settings is resolved: `alarms` has the threshold of every alarm, `waves`
    has every region, `tags` has that of the stack, `max_block` is that of every request, and `reserved_concurrency` is
    as Lambda takes it.
    """

    @property
    def names(self) -> ResourceNames:
        """The names on AWS."""
        return ResourceNames(self.prefix)

    @property
    def deployed(self) -> Sequence[str]:
        """The regions with tables and functions: those of the layout, and those that leave."""
        return (*self.regions, *self.leaving)

    @property
    def access(self) -> Access:
        """Who may call."""
        return Access(self.authorization, self.callers, self.cors_origins, self.open_counters)

    @property
    def signed(self) -> bool:
        """Whether callers sign."""
        return self.access.signed

    @property
    def roles(self) -> Roles:
        """How every role is made."""
        return Roles(self.iam_path, None if self.permissions_boundary == "" else self.permissions_boundary)

    def region(self, name: str) -> Region:
        """Return what the settings say about a region."""
        successors = self.regions if name in self.leaving else ()
        return Region(name, self.kms_keys.get(name), name in self.paused, successors)
