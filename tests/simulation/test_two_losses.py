"""Random schedules in which a second table may be lost before the first is mended: a floor must settle them."""

import pytest

from tests.simulation.test_schedule import PARTS, search_part

TWO_LOSSES = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("part", range(PARTS))
def test_nothing_is_minted_twice_and_a_floor_settles_all(part: int) -> None:
    search_part(TWO_LOSSES, part, losses=2)
