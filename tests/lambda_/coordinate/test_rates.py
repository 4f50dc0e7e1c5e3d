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
FIRST = items_of(REGISTER)
GRANTED = replace(REGISTER, limit=REGISTER.limit + 400 * 2, granted=NOW)  # at a position of 400 in each region
RAISED = Outcome(replace(REGISTER, limit=REGISTER.limit + 2 * 9000), ())


def minted(**by_region: int) -> dict[str, dict[str, Item]]:
    """Return the items of regions that have minted so many integers."""
    return {
        region: {"c": replace(FIRST[region], issued=FIRST[region].issued + n * FIRST[region].stride)}
        for region, n in by_region.items()
    }


def seen(**by_region: int) -> TablesScan:
    """Return what an earlier run saw."""
    return TablesScan(items=minted(**by_region), at=NOW)


@pytest.mark.parametrize(
    ("items", "seconds", "before", "outcome", "expected"),
    [
        (minted(a=400, b=0), 300, seen(a=100, b=0), Outcome(REGISTER, ()), {"a": (1.0, 60), "b": (0.0, 100)}),
        # At first, it is the average since the grant. A region that is behind is taken to have minted nothing since.
        (minted(a=400, b=0), 300, None, Outcome(REGISTER, ()), {"a": (400 / 300, 60), "b": (0.0, 100)}),
        (minted(a=600, b=300), 100, None, Outcome(GRANTED, ()), {"a": (2.0, 80), "b": (0.0, 100)}),
        # A short look says nothing.
        *[(minted(a=900, b=900), n, seen(a=0, b=0), Outcome(REGISTER, ()), {}) for n in (0, 1, 29)],
        (minted(a=30), 30, seen(a=15), Outcome(REGISTER, ()), {"a": (0.5, 97)}),
        # What is new counts from its beginning: a counter, an epoch.
        (minted(a=30), 60, seen(), Outcome(REGISTER, ()), {"a": (0.5, 97)}),
        (
            minted(a=30),
            60,
            TablesScan(items={"a": {"c": Item(399, 2, 500, epoch=2)}}, at=NOW),
            Outcome(REGISTER, ()),
            {"a": (0.5, 97)},
        ),
        # What the run leaves counts: raised, not given more yet, another epoch, not reached.
        (minted(a=950), 60, seen(a=350), RAISED, {"a": (10.0, 100)}),
        (minted(a=600), 60, seen(), replace(RAISED, pending=("a",)), {"a": (10.0, 40)}),
        (minted(a=600), 60, seen(), Outcome(register("a", epoch=4, base=5001), ()), {"a": (10.0, 100)}),
        (minted(a=600), 60, seen(), None, {"a": (10.0, 40)}),
        ({"a": Absent.UNREACHABLE, "b": {"c": replace(FIRST["b"], held="a run's")}}, 60, seen(), None, {}),
    ],
)
def test_a_rate_and_what_is_left(
    items: Any,
    seconds: int,
    before: TablesScan | None,
    outcome: Outcome | None,
    expected: dict[str, tuple[float, float]],
) -> None:
    present = GRANTED if outcome and outcome.register == GRANTED else REGISTER
    scan = TablesScan({"c": present}, items=items, at=NOW + seconds)
    found = rates(scan, {"c": outcome} if outcome else {}, before)

    assert found == {
        region: {"IntegersPerSecond": pytest.approx(rate), "WindowLeft": pytest.approx(left)}
        for region, (rate, left) in expected.items()
    }


def test_rates_are_added_and_the_least_that_is_left_counts() -> None:
    registers = {name: replace(REGISTER, counter=name) for name in ("slow", "fast")}
    items = {"a": {"slow": minted(a=60)["a"]["c"], "fast": minted(a=600)["a"]["c"]}}
    outcomes = {name: Outcome(register, ()) for name, register in registers.items()}

    found = rates(TablesScan(registers, items=items, at=NOW + 60), outcomes, seen())
    assert found["a"] == {"IntegersPerSecond": 11.0, "WindowLeft": pytest.approx(100 * 400 / WINDOW)}
