"""Where the documentation spells a default of `Pulumi.yaml`, or what follows from one, it is the default in force.

The tables of all settings and of all alarms are generated.
"""

import re
from collections.abc import Iterable
from typing import Any

import pytest
import yaml
from coordinate.protocol.epochs import LASTS
from coordinate.protocol.plan import left_at_ask

from components.settings import PUBLIC_BLOCK
from global_integers_core.lattice import least_distance
from global_integers_core.names import MAX_BLOCK
from local.paths import ROOT
from tools.generated import SETTINGS_TABLE, THRESHOLDS_TABLE, spelt

DEFAULTS: dict[str, Any] = {
    key: entry["default"]
    for key, entry in yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"].items()
    if "default" in entry
}

DISTANCE = least_distance(DEFAULTS["window"])

PAGES = [*sorted((ROOT / "docs").glob("*.md")), ROOT / "docs" / "openapi.yaml"]

STATED = [
    ("api.md", f"within {DEFAULTS['idempotencyHours']} hours (`idempotencyHours`)"),
    ("api.md", f"`{DEFAULTS['authorization']}` (the default)"),
    ("openapi.yaml", f"within {DEFAULTS['idempotencyHours']} hours (setting `idempotencyHours`)"),
    ("client.md", f"| `lease` | {DEFAULTS['lease']} (off) |"),
    ("layouts.md", f"at least `window` ([setting](settings.md#window), by default {DEFAULTS['window']:,})"),
    ("../README.md", f"and `window` ({DEFAULTS['window']:,})."),
    ("../README.md", f"at least {left_at_ask(DEFAULTS['window'])} integers ([`window`]"),
    ("layouts.md", f"every {spelt(DEFAULTS['scheduleMinutes'])} minutes (`scheduleMinutes`)"),
    ("layouts.md", f"usually within {spelt(DEFAULTS['scheduleMinutes'])} minutes"),
    ("layouts.md", f"with a run every {spelt(DEFAULTS['scheduleMinutes'])} minutes"),
    ("performance.md", f"[runs every {spelt(DEFAULTS['scheduleMinutes'])} minutes](layouts.md"),
    ("performance.md", f"| duration, {DEFAULTS['memorySize']} MB arm64 |"),
    ("settings.md", f"| for each region of before {DISTANCE} integers (fewer with a"),
    ("settings.md", f"smaller `window`), or what it mints in {spelt(LASTS)} seconds |"),
    ("settings.md", f"for each region what is left of its window | {3 * DEFAULTS['window']:,} |"),
    ("layouts.md", f"to {DISTANCE} integers above the last one issued when the write arrives"),
    ("api.md", f"{PUBLIC_BLOCK} with `authorization: NONE`, otherwise {MAX_BLOCK:,}"),
]


@pytest.mark.parametrize(("page", "text"), STATED, ids=str)
def test_a_stated_default_is_the_one_in_force(page: str, text: str) -> None:
    assert text in " ".join((ROOT / "docs" / page).read_text().split())


def sentences(text: str) -> Iterable[str]:
    """Return the sentences of a page, and the rows of its tables, without those of all settings and alarms."""
    return re.split(r"\n(?=[|\-#\n])|(?<=[.:;]) ", THRESHOLDS_TABLE.sub("", SETTINGS_TABLE.sub("", text)))


def spellings(default: int) -> list[str]:
    """Return how a number may be written."""
    million = [f"{default // 1_000_000:,} million"] if default >= 1_000_000 else []
    return [str(default), f"{default:,}", spelt(default), *million]


def test_no_default_is_stated_that_is_not_compared() -> None:
    """A sentence with a setting's name and the number that is its default is in the list above."""
    found: list[str] = []
    for page in PAGES:
        stated = [text for name, text in STATED if name == page.name]
        for sentence in sentences(page.read_text()):
            plain = " ".join(sentence.split())
            for key, default in DEFAULTS.items():
                if f"`{key}`" not in plain or type(default) is not int or default < 2:
                    continue
                beside = re.search(rf"(?<![\w,./])(?:{'|'.join(spellings(default))})(?![\w/]|[,.]\d)", plain)
                if beside and not any(text in plain for text in stated):
                    found.append(f"{page.name}, {key}: {plain}")
    assert found == [], "write a default once; if it is needed here too, add it to STATED"
