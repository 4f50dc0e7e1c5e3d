"""Checks what the table of the settings can't say: entries, and settings that depend on each other."""

import json
import re
from collections.abc import Iterable, Sequence
from typing import Any, cast
from unicodedata import category

import pulumi

from global_integers_core.lattice import MAX_FLOOR, MAX_INTEGER
from global_integers_core.names import COUNTER_NAME, LOSS_ID, RESERVED, reserved

from ..monitoring.alarms import ALARMS
from ..names import MAX_ROLE_NAME, PREFIX
from .args import HOST, ORIGIN, SETTINGS, Settings
from .aws_regions import check_regions, partitions
from .values import Findings, did_you_mean, is_later, whole

ALL = "*"
"""In `callers`: all callers, or all counters. In `floors` and `alarms`: all that aren't named."""

SHOWN = 10
"""How many counters are named where one is missing."""

RECOVERY = SETTINGS["recovery"].metadata["allowed"].example
"""All that it may have."""

MAX_DOMAIN = 64
"""ACM API reference, RequestCertificate: the longest `DomainName`. So a name with a region in front always fits into
the 253 characters of DNS."""

ZONE_ID = re.compile(r"Z[A-Z0-9]{1,31}")
"""Route 53 API reference, HostedZone: the id, without `/hostedzone/`."""

CALLER = re.compile(
    r"\*|arn:[a-z*-]+:(iam::(\d{12}|\*):(role|user)/[\w+=,.@/*-]+|sts::(\d{12}|\*):(assumed-role|federated-user)/[\w+=,.@/*-]+)",
    re.ASCII,
)
"""An ARN of those that may sign a request, in which `*` stands for any text (IAM guide, "IAM ARNs")."""

MAX_CALLERS = 2500
"""Bytes of JSON. All variables of a function's environment may have 4 KB together (Lambda guide, "Quotas")."""

MAX_ACCOUNTS = 20
"""Accounts in `callers`. Each has two statements in the alias's policy, which may have 20 KB (Lambda guide, "Lambda
quotas")."""

KEY = re.compile(r"arn:([a-z-]+):kms:([a-z0-9-]+):\d{12}:key/[A-Za-z0-9-]+")

MAX_EMAILS, MAX_EMAIL = 10, 50
"""How many addresses a budget notifies (Budgets API reference, NotificationWithSubscribers), and the characters of each
(Subscriber)."""


def check_counters(settings: Settings, findings: Findings) -> None:
    """Check the counters and their floors."""
    for counter in dict.fromkeys(settings.counters):
        _check_counter("counters", counter, findings)
        if counter in RESERVED:
            findings.add(
                "counters",
                f"{reserved(counter)}; take it out of the list. If it exists already, it goes on minting at its own "
                "path of a Function URL.",
            )
    default = settings.default_counter
    if settings.counters and default not in settings.counters:
        first, key = settings.counters[:SHOWN], findings.key("default_counter")
        listed = ", ".join(first) + ", …" * (len(settings.counters) > SHOWN)
        hint = did_you_mean(default, settings.counters) or f"; set {key} to one of them"
        findings.wrong("default_counter", default, f"is not in {findings.key('counters')} ({listed}){hint}")
    for counter, floor in settings.floors.items():
        if counter != ALL:
            _check_counter("floors", counter, findings)
        findings.integer(f"floors.{counter}", floor, 1, MAX_FLOOR, f"1 to {MAX_FLOOR} (2^52)")


def check_recovery(settings: Settings, findings: Findings) -> None:
    """Check the answer to a loss."""
    printed = "the refusal of the last deployment printed it"
    unknown = settings.recovery.keys() - {*RECOVERY}
    for key in sorted(unknown):
        findings.add(
            f"recovery.{key}", f"there is no such key{did_you_mean(key, RECOVERY) or '; there are loss, above'}"
        )
    if "loss" in settings.recovery:
        loss = settings.recovery["loss"]
        if not isinstance(loss, str) or not LOSS_ID.fullmatch(loss):
            findings.wrong("recovery.loss", loss, f"is not the id of a loss, like {RECOVERY['loss']}; {printed}")
    elif settings.recovery and not unknown:
        findings.add("recovery", f"has no loss; {printed}: {findings.example('recovery', RECOVERY)}")
    if "above" in settings.recovery:
        above = f"0 to {MAX_INTEGER} (2^53 − 1)"  # any that was minted, so that no loss is a dead end
        findings.integer("recovery.above", settings.recovery["above"], 0, MAX_INTEGER, above)
    elif "loss" in settings.recovery and not unknown:
        data = "add the largest integer that was ever minted, from your own data"
        findings.add("recovery", f"has no above; {data}: {findings.example('recovery', RECOVERY)}")


def _check_counter(name: str, counter: str, findings: Findings) -> None:
    if not COUNTER_NAME.fullmatch(counter):
        findings.wrong(name, counter, f"is not a counter's name; it must match {COUNTER_NAME.pattern}")


def check_prefix(settings: Settings, findings: Findings) -> None:
    """Check that the prefix makes names that AWS takes."""
    prefix = settings.prefix
    if not prefix:  # it was given, and has been reported
        return
    # A stack can't set it: it is made of the names of the project and the stack.
    how = (
        "the argument `prefix`"
        if findings.key("prefix") == "prefix"
        else "`pulumi stack init`, or `name` in Pulumi.yaml"
    )
    instead = (
        f"; choose another name before the first deployment, with {how}: "
        "a deployed stack can't be renamed, because that would replace its tables"
    )
    if not PREFIX.fullmatch(prefix):
        allowed = "may hold letters, digits, - and _ only, as a Lambda function's name"
        findings.wrong("prefix", prefix, allowed + instead)
    room = settings.names.room(settings.home, settings.deployed, gateway=settings.api_gateway)
    if len(prefix) > room:
        findings.wrong(
            "prefix",
            prefix,
            f"has {len(prefix)} characters; with these regions at most {room} are possible, since IAM limits "
            f"a role's name to {MAX_ROLE_NAME}{instead}",
        )


def check_domain(settings: Settings, findings: Findings) -> None:
    """Check the domain, its zone, and that everybody has a way to mint."""
    domain, zone, key = settings.domain, settings.hosted_zone, findings.key("domain")
    if HOST.fullmatch(domain) and len(domain) > MAX_DOMAIN:
        findings.wrong(
            "domain",
            domain,
            f"has {len(domain)} characters; at most {MAX_DOMAIN} are possible: ACM's limit for a certificate",
        )
    if zone and not domain:
        findings.add("hosted_zone", f"{zone!r} is for {key}, which is not set; set both, or neither")
    if zone and not ZONE_ID.fullmatch(zone):  # the name of an id is only known to Route 53 (domain/dns.py)
        if not HOST.fullmatch(zone):
            findings.wrong("hosted_zone", zone, "is neither a zone's name, like example.com, nor its id, like Z123")
        elif domain and not within(domain, zone):
            findings.wrong(
                "hosted_zone", zone, f"is neither {key}, {domain!r}, nor a parent of it; use the zone that holds it"
            )
    if not settings.function_urls and not domain:
        findings.add("function_urls", f"may be false only if {key} is set; otherwise nobody could mint")
    if settings.cors_origins and settings.signed and not settings.function_urls:
        findings.add(
            "cors_origins",
            f"needs {findings.key('function_urls')}: true or {findings.key('authorization')}: NONE; "
            "the domain doesn't let pages sign requests",
        )


MAX_ORIGINS = 100
"""Lambda API reference, Cors: `AllowOrigins`."""

DEFAULT_PORTS = {"http": ":80", "https": ":443"}


def check_origins(settings: Settings, findings: Findings) -> None:
    """Check that origins are as browsers send them. Another spelling would allow nobody, and nobody would say so."""
    if (count := len(settings.cors_origins)) > MAX_ORIGINS:
        findings.add("cors_origins", f"has {count} origins; at most {MAX_ORIGINS} are possible for a Function URL")
    for origin in settings.cors_origins:
        scheme, colon, host = origin.partition("://")
        if port := DEFAULT_PORTS.get(scheme.lower()):
            host = host.lower().rstrip("/").removesuffix(port)
        sent = scheme.lower() + colon + host.rstrip("/")
        if origin not in (sent, ALL) and ORIGIN.fullmatch(sent):
            slash = ", without the slash" if origin.endswith("/") else ""
            findings.wrong("cors_origins", origin, f"is not what a browser sends; write {sent!r}{slash}")
        elif not ORIGIN.fullmatch(origin):
            how = "" if origin.isascii() else "; a browser sends the host in ASCII, like https://xn--bcher-kva.example"
            findings.wrong("cors_origins", origin, f"is not an origin like https://shop.example, nor *{how}")


def within(domain: str, zone: str) -> bool:
    """Return whether a zone has the domain's name, or that of a parent."""
    return domain == zone or domain.endswith(f".{zone}")


def callers(settings: Settings, findings: Findings) -> dict[str, Sequence[str]]:
    """Return patterns of callers with the counters that they may use."""
    if settings.callers and not settings.signed:
        findings.add(
            "callers", f"needs {findings.key('authorization')}: AWS_IAM; with NONE nobody signs, so nobody is known"
        )
    if settings.callers and settings.api_gateway:
        findings.add(
            "callers",
            f"can't be used with {findings.key('api_gateway')}, which mints without the function that checks them; "
            "remove one, and let the callers' own policies name the paths of the API that they may call",
        )
    found = {pattern: _counters(pattern, counters, findings) for pattern, counters in settings.callers.items()}
    for pattern in found:
        if not CALLER.fullmatch(pattern):
            example = "arn:aws:iam::123456789012:role/shop-*"
            findings.wrong("callers", pattern, f"is not the ARN of a role or a user, like {example}")
        elif ":role/" in pattern and "*" in pattern.partition(":role/")[2] and pattern.count("/") > 1:
            findings.wrong(
                "callers",
                pattern,
                "has a path and a `*`; a request doesn't say the path of its role, so write the role's whole name, "
                "or the pattern without the path",
            )
    named = accounts(found)
    if len(named) > MAX_ACCOUNTS:
        findings.add(
            "callers",
            f"names {len(named)} accounts; {MAX_ACCOUNTS} are possible: let callers of further accounts assume a role "
            "of one of these",
        )
    size = len(json.dumps(found))
    if size > MAX_CALLERS:
        findings.add(
            "callers", f"has {size} bytes as JSON; {MAX_CALLERS} are possible: use `*` for names that are alike"
        )
    return found


def accounts(patterns: Iterable[str]) -> list[str]:
    """Return the accounts that patterns of callers name, in order. A `*` names none."""
    return sorted({found for pattern in patterns for found in re.findall(r":(\d{12}):", pattern)})


def _counters(pattern: str, names: object, findings: Findings) -> Sequence[str]:
    counters = [names] if names == ALL else names
    if counters in ([], ()):
        findings.add(f"callers.{pattern}", "names no counter; name some, or remove the entry")
        return ()
    if not isinstance(counters, list | tuple):
        findings.wrong(f"callers.{pattern}", names, "is neither a list of counters nor '*'")
        return ()
    names = tuple(map(str, cast("Sequence[object]", counters)))
    for name in names:
        if name != ALL:
            _check_counter(f"callers.{pattern}", name, findings)
    return names


def check_keys(settings: Settings, findings: Findings) -> None:
    """Check region → key. If one region has a key, all that are deployed to must have one."""
    for region, arn in settings.kms_keys.items():
        entry, partition = f"kms_keys.{region}", partitions().get(region)
        if partition is None:
            findings.wrong("kms_keys", region, f"is not an AWS region{did_you_mean(region, partitions())}")
        elif is_later(arn):
            continue
        elif (found := KEY.fullmatch(str(arn))) is None:
            findings.wrong(entry, arn, "is not the ARN of a key (an alias is not possible here)")
        elif found[1] != partition:
            findings.wrong(entry, arn, f"is a key of another partition than {partition}")
        elif found[2] != region:
            findings.wrong(entry, arn, f"is a key of {found[2]}; a table needs a key of its own region")
    deployed = dict.fromkeys((*settings.deployed, settings.home))
    missing = [region for region in deployed if region and region not in settings.kms_keys]
    if settings.kms_keys and missing:
        findings.add(
            "kms_keys", f"{', '.join(missing)}: has no key; either no region has one or all have, the home region too"
        )


STACK_TAG = "global-integers"
"""The key of the tag whose value is the prefix of the stack, unless the settings have another one."""

MAX_TAG_KEY, MAX_TAG_VALUE = 128, 256

MAX_TAGS = 50
"""For any resource ("Tag naming limits and requirements" in the guide on tagging)."""

MAX_TAGS_OF_CHECK = 10
"""For a health check (Route 53 API reference, ChangeTagsForResource)."""

NAME_TAG = "Name"
"""The key of a tag that each health check has of its own."""

SYMBOLS = "+-=._:/@"
"""What tags may hold beside letters, digits and spaces of all languages (IAM API reference, Tag)."""


def tags(settings: Settings, findings: Findings) -> dict[str, pulumi.Input[str]]:
    """Return the tags of every resource: those that are given, and the stack's own."""
    found: dict[str, pulumi.Input[str]] = {STACK_TAG: settings.prefix}
    for key, entry in settings.tags.items():
        number = whole(entry)  # `pulumi config set --path tags.cost-center 4711` stores a number
        value: Any = entry if number is None else str(number)
        found[key] = value
        _check_tag("tags", "a key", key, 1, MAX_TAG_KEY, findings)
        if value is None:
            findings.add(f"tags.{key}", 'has no value; write "" for an empty one')
        elif isinstance(value, str):
            _check_tag(f"tags.{key}", "a value", value, 0, MAX_TAG_VALUE, findings)
        elif not is_later(value):
            quotes = "; put it in quotes" if isinstance(value, bool | float) else ""
            findings.wrong(f"tags.{key}", value, f"is not a string{quotes}")
    alike: dict[str, list[str]] = {}
    for key in found:
        alike.setdefault(key.lower(), []).append(key)
    for keys in alike.values():
        if len(keys) > 1:
            same = " and ".join(map(repr, keys))
            findings.add("tags", f"{same} differ only in case, so a role can't have both; write {keys[0]!r} only")
    what, most = ("a health check", MAX_TAGS_OF_CHECK) if settings.hosted_zone else ("a resource", MAX_TAGS)
    if (count := len({NAME_TAG, *found})) > most:
        findings.add("tags", f"{count} with {STACK_TAG!r} and {NAME_TAG!r}; {what} may have at most {most}")
    return found


def _check_tag(name: str, what: str, text: str, least: int, most: int, findings: Findings) -> None:
    if not least <= len(text) <= most:
        findings.wrong(name, text, f"has {len(text)} characters; {what} has {least} to {most}")
    if text.lower().startswith("aws:"):
        findings.wrong(name, text, "begins with aws:, which is for AWS only")
    others = [each for each in dict.fromkeys(text) if each not in SYMBOLS and category(each)[0] not in "LNZ"]
    if others:
        listed, allowed = " ".join(map(repr, others)), " ".join(SYMBOLS)
        findings.wrong(name, text, f"has {listed}; letters, digits, spaces and {allowed} are allowed")


def check_budget(settings: Settings, findings: Findings) -> None:
    """Check that a budget has somebody to notify, whom AWS Budgets notifies."""
    emails, key = settings.alarm_emails, findings.key("alarm_emails")
    if settings.budget and not emails:
        findings.add("budget", f"nobody would be notified; set {key} too")
    long = [email for email in emails if len(email) > MAX_EMAIL]
    if settings.budget and (long or len(emails) > MAX_EMAILS):
        what = f"{long[0]!r} has {len(long[0])} characters" if long else f"{key} has {len(emails)} addresses"
        findings.add(
            "budget",
            f"{what}; AWS Budgets notifies at most {MAX_EMAILS} addresses of up to {MAX_EMAIL} characters each; "
            f"use fewer or shorter ones in {key}, or set no budget",
        )


def thresholds(settings: Settings) -> dict[str, int]:
    """Return the threshold of every alarm: what is given, or its default."""
    defaults = {name: alarm.threshold(settings.schedule_minutes) for name, alarm in ALARMS.items()}
    if ALL in settings.alarms:  # it can only be 0
        defaults = dict.fromkeys(defaults, 0)
    return {name: whole(settings.alarms.get(name, default)) or 0 for name, default in defaults.items()}


TOPIC = re.compile(r"arn:[a-z-]+:sns:([a-z0-9-]+):[0-9]{12}:[A-Za-z0-9_-]{1,256}")
"""Service authorization reference, "Amazon SNS": the ARN of a standard topic, with its region."""


def check_alarms(settings: Settings, findings: Findings) -> None:
    """Check the thresholds that are set, by alarm. 0 switches it off; `*` stands for those that are not named."""
    for name, value in settings.alarms.items():
        entry, known = f"alarms.{name}", ALARMS.get(name)
        if name == ALL:
            if whole(value) != 0:
                findings.wrong(entry, value, "is not 0; for all alarms, only 0 (off) is allowed")
        elif known is None:
            hint = did_you_mean(name, ALARMS) or f"; there are {', '.join(ALARMS)}"
            findings.add(entry, f"there is no such alarm{hint}")
        else:
            findings.integer(entry, value, 0, known.most, f"0 (off) to {known.most} {known.unit}")


def check_alarm_topics(settings: Settings, findings: Findings) -> None:
    """Check the topics that alarms are sent to, by the region of both."""
    topic = f"arn:aws:sns:{settings.home or 'us-east-1'}:123456789012:operators"
    with_alarms = list(dict.fromkeys([settings.home, *settings.regions]))
    for region, arn in settings.alarm_topics.items():
        entry = f"alarm_topics.{region}"
        if region not in with_alarms:
            findings.add(entry, f"the stack has no alarms there; it has some in {', '.join(with_alarms)}")
        elif is_later(arn):
            continue
        elif (match := TOPIC.fullmatch(str(arn))) is None:
            findings.wrong(entry, arn, f"is not the ARN of an SNS topic like {topic}")
        elif match[1] != region:
            findings.wrong(entry, arn, f"is in {match[1]}; an alarm can only notify a topic of its own region")


CHECKS = (
    *(check_regions, check_domain, check_origins, check_counters, check_recovery, check_alarms, check_alarm_topics),
    *(check_keys, check_budget, check_prefix),
)
"""In the order of what they report."""
