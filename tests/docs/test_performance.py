"""The page on performance shows the figures that `make bench` kept, and they are what was to be reached."""

import pytest

from components.monitoring.alarms import ALARMS
from local.paths import ROOT
from proof.bench import callers, figures, functions, price, schedule
from tests.components.aws_answers import TABLE
from tests.components.running import HOME, THREE, config, deploy
from tests.docs.test_defaults import DEFAULTS

PAGE = (ROOT / "docs" / "performance.md").read_text()


def test_the_page_has_the_figures_that_were_kept() -> None:
    figures_stored = figures.read()

    assert f"```text\n{functions.table(figures_stored['subjects'])}\n```" in PAGE
    *_, tutorial, by_hand = functions.table(figures_stored["https"]).splitlines()
    both = f"{tutorial.partition(', ')[2]}; {by_hand.partition(', ')[2]}"
    assert f"With https, as on AWS, {both}." in PAGE
    assert f"```text\n{callers.table(figures_stored['callers'])}\n```" in PAGE


@pytest.mark.parametrize(
    ("part", "start", "cpu", "memory"), [("subjects", 0.15, 0.15, 0.20), ("https", 0.20, 0.15, 0.27)]
)
def test_they_are_small_beside_the_tutorials(part: str, start: float, cpu: float, memory: float) -> None:
    above = functions.above_empty(figures.read()[part], "tutorial")

    assert above["start_ms"] <= start
    assert above["cpu_ms"] <= cpu
    assert above["peak_mb"] <= memory


def test_a_lease_saves_the_writes() -> None:
    figures_stored = figures.read()["subjects"]

    assert figures_stored["one"]["units"] == 1
    assert figures_stored["lease"]["units"] <= 0.02


def test_a_leased_integer_costs_hardly_a_request() -> None:
    figures_stored = figures.read()["callers"]

    assert figures_stored["memory"]["per_s"] >= 3_000_000
    assert figures_stored["one"]["per_s"] >= 1_000_000
    assert figures_stored["eight"]["p99_us"] <= 50
    assert figures_stored["one"]["requests"] <= 0.0001
    assert figures_stored["paced"]["p9999_us"] <= 1000


@pytest.mark.long
def test_daily_use_costs_what_the_command_prints() -> None:
    table = schedule.grants()

    assert f"```text\n{table}\n```" in PAGE
    assert float(table.split()[-1]) <= 30


@pytest.mark.long
def test_the_price_of_the_schedule_is_what_the_command_prints() -> None:
    table = schedule.table()
    one, _, _, deleted, *_, most = (float(line.split()[-1]) for line in table.splitlines()[1:])

    assert f"```text\n{table}\n```" in PAGE
    assert f"10,000 deleted counters add ${deleted - one:.2f}:" in PAGE
    assert f"a month costs [${most:.0f} with a run every five minutes]" in (ROOT / "docs" / "layouts.md").read_text()


def test_the_smallest_schedules_price_is_on_other_pages() -> None:
    _, _, dollars = schedule.month(counters=1, regions=3)
    cents = round(sum(dollars) * 100)

    assert f"from {cents} cents a month" in (ROOT / "docs" / "layouts.md").read_text()
    assert f"{cents / 100:.2f}\n" in PAGE


@pytest.mark.slow
def test_an_idle_stack_costs_at_most_five_dollars_a_month() -> None:
    assert price.total(price.cases()["default"]) <= 5


def test_a_million_integers_cost_what_their_parts_cost() -> None:
    memory = DEFAULTS["memorySize"] / 1024
    duration = 1_000_000 * 0.005 * memory * 0.0000133334

    assert {way: sum(parts) for way, parts in price.million().items()} == {
        price.ONE: pytest.approx(0.20 + duration + 0.625),
        price.LEASED: pytest.approx(0.20 + duration * 0.4 + 0.00625),
        price.BLOCK: pytest.approx(0.002 + duration / 100 + 0.00625),
        price.GATEWAY: pytest.approx(3.50 + 0.625),
    }


@pytest.mark.parametrize(
    ("dollars", "shown"),
    [(0.625, "$0.63"), (0.005, "$0.01"), (0.002, "$0.002"), (0.0001, "less than $0.001"), (0, "")],
)
def test_an_amount_is_rounded_for_people(dollars: float, shown: str) -> None:
    assert price.rounded(dollars) == shown


@pytest.mark.slow
def test_what_makes_cost_is_counted() -> None:
    """Each setting that costs shows in its item, and nothing is registered of which no price is known."""
    found = {title: {item.name: item.number for item in items} for title, items in price.cases().items()}
    default, signed, public = found.values()
    of_regions = len(THREE) * sum(alarm.every_region for alarm in ALARMS.values())
    of_the_whole = sum(not alarm.every_region for alarm in ALARMS.values())
    of_apis = len(THREE) * sum(bool(alarm.domain_metric) for alarm in ALARMS.values())

    assert default["alarms"] == of_regions + of_the_whole
    assert (default["custom metrics"], default["dashboards"], default["health checks"]) == (4, 0, 0)
    for everything in (signed, public):
        assert everything["alarms"] == of_regions + of_apis + of_the_whole
        assert (everything["custom metrics"], everything["dashboards"]) == (12, 1)
        assert (everything["KMS keys"], everything["health checks"], everything["hosted zones"]) == (3, 3, 1)
    assert [each["their requests to REST APIs, million"] > 0 for each in found.values()] == [False, True, False]
    assert [each["their requests to HTTP APIs, million"] > 0 for each in found.values()] == [False, False, True]


def test_what_has_no_known_price_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(price, "FREE", price.FREE - {TABLE})

    with pytest.raises(ValueError, match="no price is known of aws:dynamodb/table:Table"):
        price.month(deploy(config(HOME)))
