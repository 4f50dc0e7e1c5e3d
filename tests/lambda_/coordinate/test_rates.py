"""How fast regions mint and how much of their windows is left, by their items."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.metrics import rates
from coordinate.protocol.model import Absent, Item
from coordinate.protocol.reconcile import Outcome
from coordinate.protocol.scan import TablesScan

from tests.lambda_.coordinate.sample_records import NOW, WINDOW, items_of, register

REGISTER = register("a", "b")
"""Of epoch 3, from 501: a's first integer is 501, b's is 502, and both may mint 1,000."""
RECONCILED = {"c": Outcome(REGISTER, ())}
NOTHING = TablesScan(at=NOW)
"""What an earlier run saw that saw no item."""


def minted(**by_region: int) -> dict[str, dict[str, Item]]:
    """Return the items of regions that have minted so many integers."""
    first = items_of(REGISTER)
    return {
        region: {"c": replace(first[region], issued=first[region].issued + n * first[region].stride)}
        for region, n in by_region.items()
    }


def test_the_rate_is_what_was_minted_since_the_last_look() -> None:
    """At first, it is the average since the grant."""
    before = TablesScan(items=minted(a=100, b=0), at=NOW)
    scan = TablesScan({"c": REGISTER}, items=minted(a=400, b=0), at=NOW + 300)

    for earlier, rate in ((before, 1.0), (None, 400 / 300)):
        assert rates(scan, RECONCILED, earlier) == {
            "a": {"IntegersPerSecond": rate, "WindowLeft": pytest.approx(100 * (WINDOW - 400) / WINDOW)},
            "b": {"IntegersPerSecond": 0.0, "WindowLeft": 100.0},
        }


def test_a_later_grant_counts_from_its_position() -> None:
    granted = replace(REGISTER, limit=REGISTER.limit + 400 * 2, granted=NOW)  # at a position of 400 in each region
    items = minted(a=600, b=300)

    found = rates(TablesScan({"c": granted}, items=items, at=NOW + 100), {"c": Outcome(granted, ())}, None)

    assert found["a"]["IntegersPerSecond"] == 2.0
    assert found["a"]["WindowLeft"] == pytest.approx(100 * (1400 - 600) / WINDOW)
    assert found["b"]["IntegersPerSecond"] == 0, "it is behind, and nothing says by how much it was"


@pytest.mark.parametrize("seconds", [0, 1, 29])
def test_a_short_look_says_nothing(seconds: int) -> None:
    before = TablesScan(items=minted(a=0, b=0), at=NOW)

    assert rates(TablesScan({"c": REGISTER}, items=minted(a=900, b=900), at=NOW + seconds), RECONCILED, before) == {}


@pytest.mark.parametrize("items", [{}, {"a": {"c": Item(399, 2, 500, epoch=2)}}], ids=["counter", "epoch"])
def test_what_is_new_counts_from_its_beginning(items: dict[str, Any]) -> None:
    before, now = TablesScan(items=items, at=NOW), TablesScan({"c": REGISTER}, items=minted(a=30), at=NOW + 60)

    assert rates(now, RECONCILED, before)["a"]["IntegersPerSecond"] == 0.5


def test_rates_are_added_and_the_least_that_is_left_counts() -> None:
    slow, fast = replace(REGISTER, counter="slow"), replace(REGISTER, counter="fast")
    items = {"a": {"slow": minted(a=60)["a"]["c"], "fast": minted(a=600)["a"]["c"]}}
    outcomes = {"slow": Outcome(slow, ()), "fast": Outcome(fast, ())}

    found = rates(TablesScan({"slow": slow, "fast": fast}, items=items, at=NOW + 60), outcomes, NOTHING)

    assert found["a"]["IntegersPerSecond"] == 11.0
    assert found["a"]["WindowLeft"] == pytest.approx(100 * 400 / WINDOW)


RAISED = replace(REGISTER, limit=REGISTER.limit + 2 * 9000)


@pytest.mark.parametrize(
    ("outcomes", "left"),
    [
        ({"c": Outcome(RAISED, ())}, 9400),
        ({"c": Outcome(RAISED, ("a",))}, 400),
        ({"c": Outcome(register("a", epoch=4, base=5001), ())}, WINDOW),
        ({}, 400),
    ],
    ids=["raised", "not given more yet", "a change of regions", "not reached by the run"],
)
def test_the_ceiling_is_that_which_the_run_leaves(outcomes: dict[str, Outcome], left: int) -> None:
    found = rates(TablesScan({"c": REGISTER}, items=minted(a=600), at=NOW + 60), outcomes, NOTHING)

    assert found["a"]["WindowLeft"] == pytest.approx(min(100, 100 * left / WINDOW))


def test_an_unreachable_or_held_region_has_no_rate() -> None:
    held = replace(minted(b=0)["b"]["c"], held="a run's")
    items = {"a": Absent.UNREACHABLE, "b": {"c": held}}

    assert rates(TablesScan({"c": REGISTER}, items=items, at=NOW + 60), RECONCILED, NOTHING) == {}
