"""Print what a deployment costs a month if nobody calls it: `python -m proof.bench.price`.

The program itself is run, for three regions: with its defaults, and with everything on, for callers who sign and for
everybody. What it registers is counted and priced by `price_list.py`. A month has thirty days.

Not counted: what AWS charges by use or by size, of which there is next to nothing (logs, storage, backups of tables,
mails), and queries of the domain, which are free for aliases of API Gateway.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from proof.bench import price_list, schedule  # puts `lambda` on the import path, for the import below

# isort: split
from coordinate.metrics import OF_A_REGION, OF_ALARMS, OF_DASHBOARD

from components.domain.capacity import CHECKERS
from components.names import ResourceNames
from components.settings.args import SETTINGS
from local.environment import isolate
from proof.bench.figures import aligned
from tests.components import aws_answers as aws  # what stands for AWS where the program is run without it
from tests.components.recording import Deployment
from tests.components.running import PREFIX, THREE, config, deploy

MONTH = schedule.DAYS * 86_400
"""Seconds."""

MILLION = 1_000_000

HEALTH_SECONDS = 0.005
"""What the function takes for a health check, and a read unit."""

HEALTH_BYTES = 600
"""Of the response to one, at most (`public_stack.py` measures it)."""

RECEIPT_BYTES = 220
"""Of the receipt of an `Idempotency-Key` of 36 characters, with the 100 that DynamoDB adds to an item."""

MEMORY: int = SETTINGS["memory_size"].metadata["allowed"].default
"""Of the minting function, in MB."""

MINT_SECONDS, LEASED_SECONDS = 0.005, 0.002
"""What the function takes to mint, and to mint from a lease."""

ONE, LEASED, BLOCK, GATEWAY = (
    "function, one integer per request",
    "function, `lease: 100` under load",
    "function, `?count=100`",
    "[API Gateway](gateway.md)",
)
"""Ways to mint a million integers."""

EVERYTHING: Mapping[str, Any] = {
    "apiGateway": True,
    "domain": "integers.example.com",
    "hostedZone": "example.com",
    "openCounters": True,
    "kmsKeys": {region: f"arn:aws:kms:{region}:123456789012:key/7d1e" for region in THREE},
    "dashboard": True,
    "alarmEmails": ["operator@shop.example"],
    "budget": 100,
}
"""All settings that make something else, for callers who sign."""

PUBLIC: Mapping[str, Any] = {**EVERYTHING, "authorization": "NONE", "corsOrigins": ["https://shop.example"]}

CASES: Mapping[str, Mapping[str, Any]] = {"default": {}, "all, signed": EVERYTHING, "all, public": PUBLIC}

FREE = {
    *(aws.ROLE, aws.POLICY, aws.PERMISSION, aws.ALIAS, aws.RETRIES, aws.INVOCATION, aws.STASH),
    *(aws.CERTIFICATE, aws.ISSUED, aws.SUBSCRIPTION, aws.TARGET, aws.RECORD, aws.BUDGET),
    *(aws.TABLE, aws.TABLE_POLICY, aws.FUNCTION, aws.FUNCTION_URL, aws.LOG_GROUP, aws.TOPIC),
    *(aws.REST_API, aws.API_DEPLOYMENT, aws.STAGE, aws.METHOD_SETTINGS, aws.DOMAIN_NAME, aws.MAPPING),
    *(aws.HTTP_API, aws.INTEGRATION, aws.ROUTE, aws.HTTP_STAGE),
}
"""What costs nothing, or only its use."""

PRICED = {aws.ALARM, aws.COMPOSITE, aws.DASHBOARD, aws.RULE, aws.HEALTH_CHECK}


class Item(NamedTuple):
    """A row of the table: so many of a thing, each at so many dollars a month."""

    name: str
    each: float
    number: float

    @property
    def dollars(self) -> float:
        """What they cost a month."""
        return self.each * self.number


def month(deployment: Deployment) -> list[Item]:
    """Return what a deployment costs a month, item by item.

    Raises:
        ValueError: something was registered of which no price is known.
    """
    unknown = {made.type for made in deployment.resources if made.custom} - FREE - PRICED
    if unknown:
        raise ValueError(f"no price is known of {', '.join(sorted(unknown))}: add it to proof/bench/price.py")
    _, _, runs = schedule.month(counters=1, regions=len(THREE))
    each_run = sum(runs) / (MONTH / 60 / schedule.MINUTES)
    zones = {made.inputs["zoneId"] for made in deployment.of(aws.RECORD)}
    (minutes,) = re.findall(r"rate\((\d+) minutes?\)", deployment.one(aws.RULE).inputs["scheduleExpression"])
    thousand = MONTH / 60 / int(minutes) / 1000
    dashboards = len(deployment.of(aws.DASHBOARD))
    of_dashboards = dashboards * (len(OF_DASHBOARD) + len(OF_A_REGION) * len(deployment.outputs["regions"]))
    return [
        Item("custom metrics", price_list.METRIC, len(OF_ALARMS) + of_dashboards),
        Item("alarms", price_list.ALARM, len(deployment.of(aws.ALARM))),
        Item("composite alarms", price_list.COMPOSITE_ALARM, len(deployment.of(aws.COMPOSITE))),
        Item("dashboards", price_list.DASHBOARD, dashboards),
        Item("scheduled runs, thousand", each_run * 1000, thousand),
        *_keys(deployment, thousand),
        *_health_checks(deployment),
        Item("hosted zones", price_list.HOSTED_ZONE, len(zones)),
    ]


def _keys(deployment: Deployment, runs: float) -> Iterator[Item]:
    """Yield what customers' keys cost, and what asks for them: each run (thousands), for each table that it reads.

    DynamoDB keeps the key of a table for five minutes after its last use (KMS guide, "How DynamoDB uses AWS KMS").
    """
    names = ResourceNames(PREFIX)
    read = (names.layouts_table, names.mirror_table, names.counters_table)
    tables = [made.inputs for made in deployment.of(aws.TABLE) if "serverSideEncryption" in made.inputs]
    keys = {table["serverSideEncryption"]["kmsKeyArn"] for table in tables}
    requests = runs * sum(table["name"] in read for table in tables)
    yield Item("KMS keys", price_list.KEY, len(keys))
    yield Item("their requests, thousand", price_list.KEY_REQUEST * 1000, requests)


def _health_checks(deployment: Deployment) -> Iterator[Item]:
    """Yield what the health checks cost, and their requests: to the domain's APIs, its function and its table."""
    checks = [made.inputs for made in deployment.of(aws.HEALTH_CHECK)]
    requests = sum(CHECKERS * MONTH / check["requestInterval"] for check in checks) / MILLION
    charged = [each for check in checks for each in (check["requestInterval"] == 10, check.get("measureLatency"))]
    charged += [feature in check["type"] for check in checks for feature in ("HTTPS", "STR_MATCH")]
    http = bool(deployment.of(aws.HTTP_API))
    function = price_list.REQUEST + price_list.execution(HEALTH_SECONDS, MEMORY)
    yield Item("health checks", price_list.HEALTH_CHECK, len(checks))
    yield Item("their features", price_list.HEALTH_CHECK_FEATURE, sum(map(bool, charged)))
    yield Item("their requests to REST APIs, million", price_list.REST_API_REQUEST * MILLION, requests * (not http))
    yield Item("their requests to HTTP APIs, million", price_list.HTTP_API_REQUEST * MILLION, requests * http)
    yield Item("of these, to functions, million", function * MILLION, requests)
    yield Item("their read units, million", price_list.READ_UNIT * MILLION, requests)
    yield Item("their data, GB", price_list.DATA_OUT * 1e9, requests * MILLION * HEALTH_BYTES / 1e9)


@cache
def cases() -> Mapping[str, Sequence[Item]]:
    """Return the items of each case, under its title. The program is run for each once."""
    return {title: month(deploy(config(*THREE, **more))) for title, more in CASES.items()}


def total(items: Sequence[Item]) -> float:
    """Return what all of them cost a month, in dollars: the sum of what the table shows."""
    return sum(round(item.dollars, 2) for item in items)


def of_health_checks(items: Sequence[Item]) -> float:
    """Return what a domain's health checks cost a month with all that they ask, in dollars."""
    parts = ("health checks", "their features", "their requests to", "of these", "their read", "their data")
    return sum(item.dollars for item in items if item.name.startswith(parts))


def table() -> str:
    """Return the table of all cases."""
    found = cases()
    rows = [["a month, three regions", "$ each", *(cell for title in found for cell in (title, "$"))]]
    for same in zip(*found.values(), strict=True):
        if any(item.number for item in same):
            shown = ((f"{item.number:.3g}", f"{item.dollars:.2f}") if item.number else ("", "") for item in same)
            rows.append([same[0].name, f"{same[0].each:.3g}", *(cell for pair in shown for cell in pair)])
    rows.append(["total", "", *(cell for items in found.values() for cell in ("", f"{total(items):.2f}"))])
    return aligned(rows, names=True)


def million() -> Mapping[str, tuple[float, float, float]]:
    """Return what a million integers cost, by the way in which they are minted, with the default of `memorySize`.

    It is dollars for requests, duration and writes.
    """
    writes = MILLION * price_list.WRITE_UNIT
    one, leased = (MILLION * price_list.execution(seconds, MEMORY) for seconds in (MINT_SECONDS, LEASED_SECONDS))
    requests = MILLION * price_list.REQUEST
    return {
        ONE: (requests, one, writes),
        LEASED: (requests, leased, writes / 100),
        BLOCK: (requests / 100, one / 100, writes / 100),
        GATEWAY: (MILLION * price_list.REST_API_REQUEST, 0, writes),
    }


def stored(receipts: float, hours: float, size: int = RECEIPT_BYTES) -> float:
    """Return what it costs to store receipts, each for so many hours, in dollars."""
    return receipts * size * price_list.STORED * hours * 3600 / MONTH


def rounded(dollars: float) -> str:
    """Return an amount in cents, half a cent up; below, in tenths of a cent."""
    digits = 2 if dollars >= 0.005 else 3
    return f"${dollars + 1e-9:.{digits}f}" if dollars >= 0.0005 else "less than $0.001" if dollars else ""


def table_of_a_million() -> str:
    """Return what a million integers cost as docs/performance.md has it."""
    lines = [f"| | request | duration, {MEMORY} MB arm64 | DynamoDB write | total |", "|---" * 5 + "|"]
    for way, parts in million().items():
        lines.append(f"| {way} | " + " | ".join(map(rounded, (*parts, sum(parts)))) + " |")
    return "".join(f"{line}\n" for line in lines)


if __name__ == "__main__":
    isolate()
    print(table())
