"""The small world: the real store never waits in it, and functions refuse what went back."""

import time
from random import Random
from typing import Any

import pytest
from coordinate.protocol.model import Item, Refused
from mint.model import CeilingReached, NoItem, WentBackwards

from proof.simulation.checks import CheckedWorld
from proof.simulation.schedule import RandomSchedule
from tests.lambda_.coordinate.simulated_runs import deployed


def test_nothing_waits_in_a_schedule(monkeypatch: pytest.MonkeyPatch) -> None:
    def sleep(_: float) -> None:
        raise AssertionError("a call has failed, and is tried again")

    monkeypatch.setattr(time, "sleep", sleep)
    for seed in range(6):
        RandomSchedule(seed, losses=1 + seed % 3).run()


def test_why_nothing_was_minted_is_told() -> None:
    world = CheckedWorld()
    refusals: list[type[Any]] = []
    for counter, item in (("c", Item(0, 1, 1, 1)), ("d", None)):
        world.make_table("a")
        if item is not None:
            world.items("a")[counter] = item
            assert world.mint("a", counter) == 1
            assert world.refusal is None
        assert world.mint("a", counter) is None
        refusals.append(type(world.refusal))
    assert refusals[0] is CeilingReached
    assert issubclass(refusals[1], NoItem)


def test_an_item_that_is_put_back_is_refused_by_a_warm_function() -> None:
    world = CheckedWorld()
    deployed(world, "a", "b")
    assert [world.mint("a") for _ in range(3)] == [1, 3, 5]
    epoch = world.registers["c"].epoch

    assert world.put_back("a", "c", Random(0))
    assert world.mint("a") is None
    assert isinstance(world.refusal, WentBackwards)
    assert world.refusal.epoch == epoch
    assert len(world.excepted) >= 1, "what was minted since may be minted again by a new function"
    world.restart("a")
    assert world.mint("a") is not None


def test_nothing_is_put_back_where_there_is_no_earlier_state() -> None:
    world = CheckedWorld()
    assert not world.put_back("a", "c", Random(0))
    deployed(world, "a")
    assert not world.put_back("a", "c", Random(0))


def test_what_can_not_be_read_is_not_there() -> None:
    world = CheckedWorld()
    world.make_table("a")
    world.spoil("a")
    world.items("a")["c"] = Item(0, 1, 1, 1)

    assert {*world.items("a")} == {"c"}
    assert "ordrs" in world.tables["a"].items


@pytest.mark.parametrize("denied", ["layouts", "mirror"])
def test_a_table_at_home_that_may_not_be_used_ends_a_run(denied: str) -> None:
    world = CheckedWorld()
    world.denied[denied] = "reads"
    with pytest.raises(Refused, match=denied):
        deployed(world, "a")
