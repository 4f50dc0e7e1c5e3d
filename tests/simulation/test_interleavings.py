"""A small case in full: two regions become three, two coordinators, some mints; every interleaving."""

from dataclasses import replace

import pytest
from coordinate.model import Item, Next

from simulation.checked import CheckedWorld
from simulation.interleavings import AFTER, explore

pytestmark = pytest.mark.slow


def check_end(world: CheckedWorld) -> None:
    register = world.register
    assert register is not None
    assert (register.regions, register.opened, register.next) == (AFTER, True, None)
    for region in AFTER:
        item = world.tables[region].item
        assert item is not None
        assert replace(item, issued=0, ceiling=0) == Item(0, 3, 0, register.epoch)
        assert world.mint(region) is not None


def test_no_interleaving_mints_twice_and_all_end_as_wished() -> None:
    states, ends = explore(mints=1, following=None, without=None, check_end=check_end)

    assert states > 100_000
    assert ends > 5


def test_nor_with_more_mints_once_the_change_is_decided() -> None:
    states, ends = explore(mints=3, following=Next(AFTER), without=None, check_end=check_end)

    assert states > 100_000
    assert ends > 5


@pytest.mark.parametrize("condition", ["mint: below the ceiling", "fence: issued within", "fence: not fenced"])
def test_the_exploration_can_fail(condition: str) -> None:
    with pytest.raises(AssertionError):
        explore(mints=3, following=Next(AFTER), without=condition, check_end=check_end)
