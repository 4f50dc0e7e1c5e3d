"""Checks the settings by which a company keeps to its own rules: who may call, keys, roles, the budget."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import cast

from integers.names import COUNTER_NAME

from .aws_regions import partitions
from .checks import Checks
from .values import did_you_mean

ALL = "*"
"""In `callers`: all callers, or all counters."""

CALLER = re.compile(
    r"\*|arn:[a-z*-]+:(iam::(\d{12}|\*):(role|user)/[\w+=,.@/*-]+|sts::(\d{12}|\*):(assumed-role|federated-user)/[\w+=,.@/*-]+)",
    re.ASCII,
)
"""An ARN of those that may sign a request, in which `*` stands for any text (IAM guide, "IAM ARNs")."""

MAX_CALLERS = 2500
"""Bytes of JSON. All variables of a function's environment may have 4 KB together (Lambda guide, "Quotas")."""

KEY = re.compile(r"arn:([a-z-]+):kms:([a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+")
BOUNDARY = re.compile(r"arn:[a-z-]+:iam::(\d{12}|aws):policy/[\w+=,.@/-]+", re.ASCII)
PATH = re.compile(r"/|/[!-.0-~]+(/[!-.0-~]+)*/")
"""IAM API reference, CreateRole: it begins and ends with a slash."""

MAX_PATH = 512
MAX_EMAILS, MAX_EMAIL = 10, 50
"""How many addresses a budget notifies (Budgets API reference, NotificationWithSubscribers), and the characters of each
(Subscriber)."""


class CompanyChecks:
    """Adds what is wrong to the errors of `checks`."""

    def __init__(self, checks: Checks) -> None:
        self._checks = checks

    def paused(self, regions: Sequence[str]) -> tuple[str, ...]:
        """Return the regions that are paused, each of which must be deployed to."""
        paused = self._checks.strings("paused", (), ["eu-west-1"], may_be_empty=True)
        for region in dict.fromkeys(paused):
            if region not in regions:
                self._wrong("paused", region, f"is neither in regions nor in leaving{did_you_mean(region, regions)}")
        return paused

    def callers(self, *, signed: bool, gateway: bool) -> dict[str, tuple[str, ...]]:
        """Return patterns of callers with the counters that they may use."""
        given = self._checks.mapping("callers", {"arn:aws:iam::123456789012:role/shop": ["orders"]})
        key = self._checks.key
        if given and not signed:
            self._add("callers", f"needs {key('authorization')}: AWS_IAM; with NONE nobody signs, so nobody is known")
        if given and gateway:
            self._add(
                "callers",
                f"can't be used with {key('api_gateway')}, which mints without the function that checks them; "
                "remove one, and let the callers' own policies name the paths of the API that they may call",
            )
        callers = {pattern: self._counters(pattern, counters) for pattern, counters in given.items()}
        for pattern in callers:
            self._check_caller(pattern)
        size = len(json.dumps(callers))
        if size > MAX_CALLERS:
            self._add(
                "callers", f"has {size} bytes as JSON; {MAX_CALLERS} are possible: use `*` for names that are alike"
            )
        return callers

    def _counters(self, pattern: str, given: object) -> tuple[str, ...]:
        counters = [given] if given == ALL else given
        if not isinstance(counters, list | tuple) or not counters:
            self._wrong(f"callers.{pattern}", given, "is neither a list of counters nor '*'")
            return ()
        names = tuple(map(str, cast("Sequence[object]", counters)))
        for name in names:
            if name != ALL and not COUNTER_NAME.fullmatch(name):
                self._wrong(
                    f"callers.{pattern}", name, f"is not a counter's name; it must match {COUNTER_NAME.pattern}"
                )
        return names

    def _check_caller(self, pattern: str) -> None:
        if not CALLER.fullmatch(pattern):
            example = "arn:aws:iam::123456789012:role/shop-*"
            self._wrong("callers", pattern, f"is not the ARN of a role or a user, like {example}")
        elif ":role/" in pattern and "*" in pattern.partition(":role/")[2] and pattern.count("/") > 1:
            self._wrong(
                "callers",
                pattern,
                "has a path and a `*`; a request doesn't say the path of its role, so write the role's whole name, "
                "or the pattern without the path",
            )

    def keys(self, regions: Iterable[str]) -> dict[str, str]:
        """Return region → key. If one region has a key, all that are deployed to must have one."""
        name, keys = "kms_keys", dict[str, str]()
        given = self._checks.mapping(name, {"eu-west-1": "arn:aws:kms:eu-west-1:123456789012:key/7d1e"})
        for region, arn in given.items():
            found = KEY.fullmatch(arn) if isinstance(arn, str) else None
            if region not in partitions():
                self._wrong(name, region, f"is not an AWS region{did_you_mean(region, partitions())}")
            elif found is None:
                self._wrong(f"{name}.{region}", arn, "is not the ARN of a key (an alias is not possible here)")
            elif found[1] != partitions()[region]:
                self._wrong(f"{name}.{region}", arn, f"is a key of another partition than {partitions()[region]}")
            elif found[2] != region:
                self._wrong(f"{name}.{region}", arn, f"is a key of {found[2]}; a table needs a key of its own region")
            else:
                keys[region] = arn
        missing = [region for region in dict.fromkeys(regions) if region and region not in given]
        if given and missing:
            self._add(
                name, f"{', '.join(missing)}: has no key; either no region has one or all have, the home region too"
            )
        return keys

    def iam_path(self) -> str:
        """Return the path of roles."""
        path = self._checks.text("iam_path", default="/")
        if not PATH.fullmatch(path) or len(path) > MAX_PATH:
            self._wrong("iam_path", path, f"is not a path like /teams/shop/, of up to {MAX_PATH} characters")
        return path

    def permissions_boundary(self) -> str:
        """Return the ARN of the policy that bounds every role, empty if there is none."""
        arn = self._checks.text("permissions_boundary", default="")
        if arn and not BOUNDARY.fullmatch(arn):
            self._wrong(
                "permissions_boundary", arn, "is not the ARN of a policy, like arn:aws:iam::123456789012:policy/b"
            )
        return arn

    def budget(self, emails: Sequence[str]) -> int:
        """Return the budget in US dollars a month, 0 to 1,000,000, of which these addresses are notified; 0 is none."""
        budget = self._checks.integer("budget", 0, 1_000_000, default=0)
        key = self._checks.key("alarm_emails")
        if budget and not emails:
            self._add("budget", f"nobody would be notified; set {key} too")
        long = [email for email in emails if len(email) > MAX_EMAIL]
        if budget and (long or len(emails) > MAX_EMAILS):
            what = f"{long[0]!r} has {len(long[0])} characters" if long else f"{key} has {len(emails)} addresses"
            self._add(
                "budget",
                f"{what}; AWS Budgets notifies at most {MAX_EMAILS} addresses of up to {MAX_EMAIL} characters each; "
                f"use fewer or shorter ones in {key}, or set no budget",
            )
        return budget

    def _wrong(self, name: str, value: object, allowed: str) -> None:
        setting, dot, entry = name.partition(".")
        self._checks.errors.append(f"{self._checks.key(setting)}{dot}{entry}: {value!r} {allowed}")

    def _add(self, name: str, what: str) -> None:
        self._checks.errors.append(f"{self._checks.key(name)}: {what}")
