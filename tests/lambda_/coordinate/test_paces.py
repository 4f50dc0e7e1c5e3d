"""How fast regions mint and how long their ceilings last, by the positions of their items."""

from dataclasses import replace

import pytest
from coordinate.log import MOST_HOURS, Pace, Positions, paces, positions
from coordinate.protocol.model import Absent, Item
from coordinate.protocol.reconcile import Outcome

from tests.lambda_.coordinate.made_up import NOW, WINDOW, items_of, register

REGISTER = register("a", "b")
"""Of epoch 3, from 501: a's first integer is 501, b's is 502, and both may mint 1,000."""
SETTLED = {"c": Outcome(REGISTER, ())}


def minted(**by_region: int) -> dict[str, dict[str, Item]]:
    """Return the items of regions that have minted so many integers."""
    first = items_of(REGISTER)
    return {
        region: {"c": replace(first[region], issued=first[region].issued + n * first[region].stride)}
        for region, n in by_region.items()
    }


def test_the_rate_is_what_was_minted_since_the_last_look() -> None:
    before = positions(minted(a=100, b=0), NOW)

    found = paces({"c": REGISTER}, minted(a=400, b=0), SETTLED, before, NOW + 300)

    assert found["a"].per_second == 1.0
    assert found["b"] == Pace(0.0, MOST_HOURS)
    assert found["a"].hours == pytest.approx((WINDOW - 400) / 3600)


def test_at_first_the_rate_is_the_average_since_the_grant() -> None:
    found = paces({"c": REGISTER}, minted(a=400, b=200), SETTLED, None, NOW + 100)

    assert (found["a"].per_second, found["b"].per_second) == (4.0, 2.0)


def test_a_later_grant_counts_from_its_position() -> None:
    granted = replace(REGISTER, limit=REGISTER.limit + 400 * 2, granted=NOW)  # at a position of 400 in each region
    items = minted(a=600, b=300)

    found = paces({"c": granted}, items, {"c": Outcome(granted, ())}, None, NOW + 100)

    assert found["a"].per_second == 2.0
    assert found["a"].hours == pytest.approx((1400 - 600) / 2 / 3600)
    assert found["b"].per_second == 0, "it is behind, and nothing says by how much it was"


@pytest.mark.parametrize("seconds", [0, 1, 29])
def test_a_short_look_says_nothing(seconds: int) -> None:
    before = positions(minted(a=0, b=0), NOW)

    assert paces({"c": REGISTER}, minted(a=900, b=900), SETTLED, before, NOW + seconds) == {}


def test_a_new_counter_counts_from_its_beginning() -> None:
    found = paces({"c": REGISTER}, minted(a=30, b=0), SETTLED, Positions(NOW, {}), NOW + 60)

    assert found["a"].per_second == 0.5


def test_a_new_epoch_counts_from_its_beginning() -> None:
    before = Positions(NOW, {("a", "c"): (2, 499)})

    assert paces({"c": REGISTER}, minted(a=30), SETTLED, before, NOW + 60)["a"].per_second == 0.5


def test_rates_are_added_and_the_nearest_ceiling_counts() -> None:
    slow, fast = replace(REGISTER, counter="slow"), replace(REGISTER, counter="fast")
    items = {"a": {"slow": minted(a=60)["a"]["c"], "fast": minted(a=600)["a"]["c"]}}
    outcomes = {"slow": Outcome(slow, ()), "fast": Outcome(fast, ())}

    found = paces({"slow": slow, "fast": fast}, items, outcomes, Positions(NOW, {}), NOW + 60)

    assert found["a"].per_second == 11.0
    assert found["a"].hours == pytest.approx(400 / 10 / 3600)


def test_the_ceiling_is_that_of_the_raised_limit() -> None:
    raised = replace(REGISTER, limit=REGISTER.limit + 2 * 9000)
    before = Positions(NOW, {})

    reached = paces({"c": REGISTER}, minted(a=600), {"c": Outcome(raised, ())}, before, NOW + 60)
    pending = paces({"c": REGISTER}, minted(a=600), {"c": Outcome(raised, ("a",))}, before, NOW + 60)

    assert reached["a"].hours == pytest.approx(9400 / 10 / 3600)
    assert pending["a"].hours == pytest.approx(400 / 10 / 3600), "it hasn't been given more yet"


def test_after_a_change_of_regions_the_whole_new_window_is_left() -> None:
    following = register("a", epoch=4, base=5001)

    found = paces({"c": REGISTER}, minted(a=600), {"c": Outcome(following, ())}, Positions(NOW, {}), NOW + 60)

    assert found["a"].hours == pytest.approx(WINDOW / 10 / 3600)


def test_a_counter_that_the_run_did_not_reach_keeps_its_ceiling() -> None:
    found = paces({"c": REGISTER}, minted(a=600), {}, Positions(NOW, {}), NOW + 60)

    assert found["a"].hours == pytest.approx(400 / 10 / 3600)


def test_a_region_that_is_away_or_not_opened_has_no_pace() -> None:
    placed = replace(minted(b=0)["b"]["c"], opening="a run's")
    items = {"a": Absent.UNREACHABLE, "b": {"c": placed}}

    assert paces({"c": REGISTER}, items, SETTLED, Positions(NOW, {}), NOW + 60) == {}
