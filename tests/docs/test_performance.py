"""The page on performance shows the figures that `make bench` kept, and they are what was to be reached."""

import pytest
from coordinate.metrics import OF_A_REGION, OF_ALARMS, OF_DASHBOARD

from components.monitoring.alarms import ALARMS
from proof.bench import callers, figures, functions, price, schedule
from tests.components.aws_answers import TABLE
from tests.components.running import HOME, THREE, config, deploy
from tests.docs.pages import page

PAGE = page("performance.md")


def test_the_page_has_the_figures_that_were_kept() -> None:
    stored = figures.read()

    assert f"```text\n{functions.table(stored['subjects'])}\n```" in PAGE
    *_, tutorial, by_hand = functions.table(stored["https"]).splitlines()
    both = f"{tutorial.partition(', ')[2]}; {by_hand.partition(', ')[2]}"
    assert f"With https, as on AWS, {both}." in PAGE
    assert f"```text\n{callers.table(stored['callers'])}\n```" in PAGE


@pytest.mark.parametrize(
    ("part", "start", "cpu", "memory"), [("subjects", 0.15, 0.15, 0.20), ("https", 0.20, 0.15, 0.27)]
)
def test_they_are_small_beside_the_tutorials(part: str, start: float, cpu: float, memory: float) -> None:
    above = functions.above_empty(figures.read()[part], "tutorial")

    assert above["start_ms"] <= start
    assert above["cpu_ms"] <= cpu
    assert above["peak_mb"] <= memory


def test_a_leased_integer_costs_hardly_a_request() -> None:
    stored, subjects = figures.read()["callers"], figures.read()["subjects"]

    assert subjects["one"]["units"] == 1
    assert subjects["lease"]["units"] <= 0.02
    assert stored["memory"]["per_s"] >= 3_000_000
    assert stored["one"]["per_s"] >= 1_000_000
    assert stored["eight"]["p99_us"] <= 50
    assert stored["one"]["requests"] <= 0.0001
    assert stored["paced"]["p9999_us"] <= 1000


@pytest.mark.long
def test_the_prices_of_runs_are_what_the_command_prints() -> None:
    grants, scheduled = schedule.grants(), schedule.table()

    assert f"```text\n{grants}\n```" in PAGE
    assert f"```text\n{scheduled}\n```" in PAGE
    assert float(grants.split()[-1]) <= 30


@pytest.mark.slow
def test_what_makes_cost_is_counted() -> None:
    """Each setting that costs shows in its item, and nothing is registered of which no price is known."""
    found = {title: {item.name: item.number for item in items} for title, items in price.cases().items()}
    default, signed, public = found.values()
    alarms = sum(len(THREE) if alarm.every_region else 1 for alarm in ALARMS.values())
    of_apis = len(THREE) * sum(bool(alarm.domain_metric) for alarm in ALARMS.values())
    counted = ("alarms", "custom metrics", "dashboards", "health checks", "KMS keys", "hosted zones")

    shown = len(OF_ALARMS) + len(OF_DASHBOARD) + len(THREE) * len(OF_A_REGION)
    assert price.total(price.cases()["default"]) <= 5
    assert [default[name] for name in counted] == [alarms, len(OF_ALARMS), 0, 0, 0, 0]
    for everything in (signed, public):
        assert [everything[name] for name in counted] == [alarms + of_apis, shown, 1, 3, 3, 1]
    assert [each["their requests to REST APIs, million"] > 0 for each in found.values()] == [False, True, False]
    assert [each["their requests to HTTP APIs, million"] > 0 for each in found.values()] == [False, False, True]


def test_what_has_no_known_price_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "FREE", price.FREE - {TABLE})

    with pytest.raises(ValueError, match="no price is known of aws:dynamodb/table:Table"):
        price.month(deploy(config(HOME)))
