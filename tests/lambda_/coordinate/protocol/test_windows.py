"""How much is skipped, and how long a region mints without the home region, by what a counter uses."""

from collections.abc import Callable
from dataclasses import replace
from math import pi, sin

import pytest
from coordinate.protocol.plan import left_at_ask, raised
from coordinate.protocol.run import Grant

from tests.lambda_.coordinate.sample_records import NOW, record, register
from tests.lambda_.coordinate.simulated_runs import begun, world_with

LEAST = 1000
"""The default of `window`."""

MINUTE, DAY = 60, 86_400

CURVES: dict[str, Callable[[int], float]] = {
    "steady": lambda _: 1,
    "nights": lambda minute: 1 + 0.9 * sin(2 * pi * minute / 1440),
    "office hours": lambda minute: 3 if 480 <= minute % 1440 < 960 else 0,
    "a burst a day": lambda minute: 50 if minute % 1440 == 700 else 1,
}
"""What is used in a minute, as a multiple of the mean."""


@pytest.mark.parametrize("daily", [10, 700, 20_000, 86_400_000])
@pytest.mark.parametrize("curve", CURVES)
def test_a_loss_skips_two_days_use_at_most(curve: str, daily: int) -> None:
    """Any loss, at any moment of a usual day. And a region mints for half a day without the home region.

    1,000 a second is 86,400,000 a day.
    """
    asked = record("a", window=LEAST)
    present = replace(register("a"), base=1, limit=LEAST, window=LEAST)
    used = [daily / 1440 * CURVES[curve](minute) for minute in range(1440)]
    top, tops, limits = 0.0, list[float](), list[int]()
    for minute in range(20 * 1440):
        top += used[minute % 1440]
        run, asks = minute % 5 == 0, present.limit - int(top) <= left_at_ask(present.window)
        if run or asks:
            present = raised(present, asked, int(top), NOW + minute * MINUTE) or present
        tops.append(top)
        limits.append(present.limit)

    usual = slice(15 * 1440, 18 * 1440)  # the window has followed the use by then
    skipped = max(limit - top for limit, top in zip(limits[usual], tops[usual], strict=True))
    assert skipped <= LEAST + 2 * sum(used)
    half = 12 * 60
    for minute in range(usual.start, usual.stop):
        assert tops[minute + half] <= limits[minute], f"minute {minute % 1440} of a day"


@pytest.mark.parametrize("window", [1, LEAST, 5000])
def test_a_counter_at_rest_has_its_window_without_the_home(window: int) -> None:
    world = world_with("a", "b", "c", window=window)
    minted = 0
    while minted < 10_000 and world.mint("b") is not None:
        minted += 1

    assert minted == window


@pytest.mark.parametrize("sizes", [(200,), (200, 120), (200, 1)])
def test_who_asks_ahead_is_refused_at_first_only(sizes: tuple[int, ...]) -> None:
    world = world_with("a", "b")
    world.largest = max(sizes)
    refused: list[int] = []
    for number in range(100):
        world.now += 3
        size = sizes[number % len(sizes)]
        if not world.mint_block("a", size):
            refused.append(number)
            begun(Grant("c", size), f"grant {number}").finish(world.carry_out)
            assert len(world.mint_block("a", size)) == size
        elif world.warm["a"].low.pop("c", None):
            begun(Grant("c", size), f"early {number}").finish(world.carry_out)

    assert refused in ([0], [0, 1])
