"""docs/operations.md has every alarm, with its threshold, its paragraph, and what all of it costs."""

import re

import pytest
from coordinate.metrics import OF_A_REGION, OF_ALARMS, OF_DASHBOARD

from components.monitoring.alarms import alarms
from components.settings.rules import EVERY_REGION, THRESHOLDS
from local.paths import ROOT
from proof.bench.price_list import ALARM, COMPOSITE_ALARM, DASHBOARD, METRIC
from tests.components.running import HOME, stack_metrics

PAGE = (ROOT / "docs" / "operations.md").read_text()


def test_every_alarm_has_its_paragraph_in_order() -> None:
    parts = re.split(r"^### (\w+)\n", PAGE.partition("## What it costs")[0], flags=re.MULTILINE)

    assert parts[1::2] == [*THRESHOLDS]
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        assert re.findall(r"^\*(.*?)\* ", text, re.MULTILINE) == ["It means", "Look at", "Do"], name


def test_the_table_has_the_places_and_the_defaults() -> None:
    rows = re.findall(r"^\| \[`(\w+)`\]\(#(\w+)\) \| (.+?) \| .+ \| (.+?) \|$", PAGE, re.MULTILINE)

    assert rows == [
        (
            name,
            name.lower(),
            "every region" if name in EVERY_REGION else "home region",
            "3 × `scheduleMinutes` + 5" if name == "noRun" else str(threshold.default),
        )
        for name, threshold in THRESHOLDS.items()
    ]


@pytest.mark.parametrize("count", [1, 3, 30])
def test_the_cost_is_that_of_what_is_deployed(count: int) -> None:
    made = len(alarms(stack_metrics(HOME, *(f"region-{n}" for n in range(1, count)))))

    of_metrics, of_alarms = len(OF_ALARMS) * METRIC.dollars, made * ALARM.dollars
    month = of_metrics + of_alarms + COMPOSITE_ALARM.dollars
    shown = month + DASHBOARD.dollars + (len(OF_DASHBOARD) + len(OF_A_REGION) * count) * METRIC.dollars
    row = (
        f"| {count} | {len(OF_ALARMS)}: ${of_metrics:.2f} | {made}: ${of_alarms:.2f} | ${COMPOSITE_ALARM.dollars:.2f} |"
    )
    assert f"{row} ${month:.2f} | ${shown:.2f} |" in PAGE


@pytest.mark.parametrize(("urls", "more"), [(True, 2), (False, 0)])
def test_the_alarms_of_the_domain_cost_what_the_page_says(urls: bool, more: int) -> None:
    regions = (HOME, "eu-west-1")

    made = alarms(stack_metrics(*regions, apis=True, function_urls=urls))
    assert len(made) == len(alarms(stack_metrics(*regions))) + 2 * more
    assert "With `domain`, each region has two alarms more, for $0.20." in PAGE
