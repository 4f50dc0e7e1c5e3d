"""The page on performance shows the figures that `make bench` kept, and they are what was to be reached."""

import pytest

from bench import callers, figures, functions, schedule
from local.paths import ROOT

PAGE = (ROOT / "docs" / "performance.md").read_text()


def test_the_page_has_the_figures_that_were_kept() -> None:
    figures_stored = figures.read()

    assert f"```text\n{functions.table(figures_stored['subjects'])}\n```" in PAGE
    secure = functions.table(figures_stored["https"]).rpartition(": ")[2]
    assert f"With https, as on AWS: {secure}." in PAGE
    assert f"```text\n{callers.table(figures_stored['callers'])}\n```" in PAGE


@pytest.mark.parametrize(
    ("part", "start", "cpu", "memory"), [("subjects", 0.15, 0.15, 0.20), ("https", 0.20, 0.15, 0.27)]
)
def test_they_are_small_beside_the_tutorials(part: str, start: float, cpu: float, memory: float) -> None:
    above = functions.above_empty(figures.read()[part])

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


def test_the_price_of_the_schedule_is_what_the_command_prints() -> None:
    assert f"```text\n{schedule.table()}\n```" in PAGE


def test_the_smallest_schedules_price_is_on_other_pages() -> None:
    _, _, dollars = schedule.month(counters=1, regions=3)
    cents = round(sum(dollars) * 100)

    assert f"from {cents} cents a month" in (ROOT / "docs" / "layouts.md").read_text()
    assert f"{cents / 100:.2f}\n" in PAGE
