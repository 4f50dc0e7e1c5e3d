"""What must never happen is noticed."""

import pytest
from coordinate.model import Item, Next, Register
from coordinate.operations import FenceItem

from simulation.checked import CheckedWorld, Duplicate
from simulation.world import Table

FENCE = FenceItem("a", "c", epoch=1, ceiling=5)


def world(following: Next | None = None) -> CheckedWorld:
    register = Register("c", 1, ("a",), 1, "born", opened=True, next=following)
    return CheckedWorld(register=register, tables={"a": Table(Item(0, 1, 10, 1))})


def test_an_integer_that_is_minted_twice_is_noticed() -> None:
    tables = world()
    assert [tables.mint("a"), tables.mint("a")] == [1, 2]
    tables.tables["a"].item = Item(0, 1, 10, 1)  # as if restored from a backup

    with pytest.raises(Duplicate, match="1 was minted in a and again in a"):
        tables.mint("a")


def test_a_fence_that_was_decided_is_fine() -> None:
    assert world(Next(("a", "b"))).carry_out(FENCE) is True


def test_a_fence_that_nobody_decided_is_noticed() -> None:
    with pytest.raises(AssertionError, match="nobody had decided to end"):
        world().carry_out(FENCE)


def test_a_fence_that_did_not_hold_is_none() -> None:
    assert world().carry_out(FenceItem("a", "c", epoch=2, ceiling=5)) is False
