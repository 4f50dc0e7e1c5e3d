"""Where a page spells a default of `Pulumi.yaml`, a limit, or what follows from one, it is the one in force.

The tables of all settings, of all alarms and of prices are generated.
"""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from coordinate.dynamodb.calls import FIRST_SECONDS, REGION_SECONDS
from coordinate.dynamodb.run_lock import SECONDS
from coordinate.metrics import OF_ALARMS
from coordinate.protocol.epochs import LASTS
from coordinate.protocol.model import MAX_PAST
from coordinate.protocol.moves import LATEST
from coordinate.protocol.plan import left_at_ask
from global_integers.minting import domain as minting_domain
from global_integers.minting import failover
from mint.api.request import DEFAULT_LIMIT, MAX_LIMIT

from components.domain.capacity import CHECKERS, HEALTH_RATES, PER_EXECUTION, capacity
from components.domain.dns import FAILURES, INTERVAL, ISSUED_WITHIN
from components.function import RUNTIME
from components.names import ResourceNames
from components.settings import PUBLIC_BLOCK, PUBLIC_CONCURRENCY
from components.settings.aws_regions import PARTITION, partitions
from components.settings.rules import MAX_TAGS, MAX_TAGS_OF_CHECK, STACK_TAG
from global_integers_core.lattice import least_distance
from global_integers_core.names import MAX_BLOCK
from local.domain.domain_server import INTERVAL as LOCAL_INTERVAL
from local.paths import ROOT
from local.server.ministack_server import PATIENCE
from proof.bench import public_stack
from tests.components.running import HOME, config, settings
from tests.docs.pages import PAGES, page
from tools.generated import spelt

DEFAULTS: dict[str, Any] = {
    key: entry.get("default") for key, entry in yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"].items()
}
ROOMS = [
    ResourceNames("").room(region, [region], gateway=True)
    for region, partition in partitions().items()
    if partition == PARTITION
]
WINDOW = DEFAULTS["window"]
DISTANCE = least_distance(WINDOW)
MINUTES = spelt(DEFAULTS["scheduleMinutes"])
SIGNED, PUBLIC, SIGNED_100, PUBLIC_100 = (
    capacity(settings(config(HOME, authorization=authorization, reservedConcurrency=reserved)), HOME)
    for reserved in (DEFAULTS["reservedConcurrency"], 100)
    for authorization in ("AWS_IAM", "NONE")
)

STATED = [
    ("api.md", f"`{DEFAULTS['authorization']}` (the default)"),
    ("permissions.md", f"has `{STACK_TAG}: <project>-<stack>`"),
    ("permissions.md", f"may have {MAX_TAGS} tags, and a health check (with `hostedZone`) {MAX_TAGS_OF_CHECK}:"),
    ("settings.md", f"{min(ROOMS)} to {max(ROOMS)} characters at most, depending on the regions"),
    ("api.md", f"{PUBLIC_BLOCK} with `authorization: NONE`, otherwise {MAX_BLOCK:,}"),
    ("api.md", f"`?limit=` at a time (1 to {MAX_LIMIT}, default {DEFAULT_LIMIT})"),
    ("client.md", f"| `lease` | {DEFAULTS['lease']} (off) |"),
    ("client.md", f"every {'minute' if failover.REFRESH == 60 else failover.REFRESH} in which it is called"),
    ("client.md", f"more than a {'fifth' if failover.CLEARLY_NEARER == 0.8 else failover.CLEARLY_NEARER} lower"),
    ("client.md", f"every {spelt(int(minting_domain.REFRESH // 60))} minutes in which it is called"),
    ("domain.md", f"requests `/-/health` every {INTERVAL} seconds"),
    ("layouts.md", f"at least `window` ([setting](settings.md#window), by default {WINDOW:,})"),
    ("../README.md", f"and `window` ({WINDOW:,})."),
    ("../README.md", f"at least {left_at_ask(WINDOW)} integers ([`window`]"),
    ("layouts.md", f"every {MINUTES} minutes (`scheduleMinutes`)"),
    ("layouts.md", f"usually within {MINUTES} minutes"),
    ("layouts.md", f"with a run every {MINUTES} minutes"),
    ("layouts.md", f"to {DISTANCE} integers above the last one issued when the write arrives"),
    ("layouts.md", f"more than {spelt(LATEST // 3600)} hours ago"),
    ("layouts.md", f"expires {spelt(SECONDS // 60)} minutes after"),
    ("layouts.md", f"For {REGION_SECONDS} seconds (at the first deployment and when a loss is answered, for up to"),
    ("layouts.md", f"for up to {FIRST_SECONDS // 60} minutes)"),
    ("layouts.md", f"the last {'forty' if MAX_PAST == 40 else MAX_PAST} past layouts"),
    ("performance.md", f"[runs every {MINUTES} minutes](layouts.md"),
    ("settings.md", f"| for each region of before {DISTANCE} integers (fewer with a"),
    ("settings.md", f"smaller `window`), or what it mints in {spelt(LASTS)} seconds |"),
    ("settings.md", f"for each region what is left of its window | {3 * WINDOW:,} |"),
    ("domain.md", f"{CHECKERS / INTERVAL * 2.592:.1f} million health checks a month, from about {CHECKERS} checkers"),
    ("domain.md", f"{INTERVAL} to {FAILURES * INTERVAL} s until the region fails {spelt(FAILURES)} checks"),
    ("domain.md", f"every {LOCAL_INTERVAL:g} seconds instead of every {INTERVAL}"),
    ("domain.md", f"waits for it for up to {ISSUED_WITHIN} minutes"),
    ("domain.md", f"{PER_EXECUTION} requests per second for each reserved execution"),
    ("domain.md", f"a fifth of that, {HEALTH_RATES[0]} to {HEALTH_RATES[1]} per second"),
    ("domain.md", f"{PUBLIC_CONCURRENCY} with `NONE`"),
    ("domain.md", f"| `NONE` | {PUBLIC.callers.rate:,} | {PUBLIC.health.rate} |"),
    ("domain.md", f"| `NONE`, `reservedConcurrency: 100` | {PUBLIC_100.callers.rate:,} | {PUBLIC_100.health.rate} |"),
    ("domain.md", f"| `AWS_IAM` | {SIGNED.callers.rate:,} for `/`, and as many for other paths |"),
    ("domain.md", f"| `AWS_IAM`, `reservedConcurrency: 100` | {SIGNED_100.callers.rate:,} for `/`, and as many"),
    ("permissions.md", f"limited to {PUBLIC_CONCURRENCY} concurrent executions"),
    ("permissions.md", f": {public_stack.RATE} requests per second, and as many again with a `domain`"),
    ("permissions.md", f"More than {SIGNED.health.rate} requests per second make"),
    ("runbook.md", f"with `{RUNTIME}` or `arm64`"),
    ("runbook.md", f"another one waits up to {PATIENCE:g} seconds, and then gets 429"),
    ("runbook.md", f"# {', '.join(sorted(OF_ALARMS))} aws cloudwatch"),
]


@pytest.mark.parametrize(("name", "text"), STATED, ids=str)
def test_a_stated_default_is_the_one_in_force(name: str, text: str) -> None:
    assert text in " ".join(page(name).split()), f"docs/{name} lacks this text: correct it, or STATED of this file"


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_no_sentence_has_another_default(path: Path) -> None:
    """Rows of tables aren't sentences."""
    text = " ".join(line for line in path.read_text().splitlines() if not line.startswith("|"))
    for name, stated in STATED:
        text = text.replace(stated, "") if path.name == Path(name).name else text

    assert (
        re.findall(r"\bdefault(?:s to|:| is| of)? `?\d[\d,.]*|\d[\d,.]*`? (?:by default|\(the default\))", text) == []
    )
