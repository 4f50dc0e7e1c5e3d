"""The search can fail: with a condition taken out of a write, it finds what goes wrong.

Every condition is needed. Without most of them an integer is minted twice; without the rest a layout
comes to stand as nobody decided, a region stands still, or a table is called lost that is not.
"""

import pytest
from coordinate.model import Register, Wish
from coordinate.operations import FenceItem, PlaceItem, RenewItem
from coordinate.protocol import settle

from simulation.schedule import Coordinator, Schedule
from simulation.world import CONDITIONS, Duplicate, World

MOST = 20_000

BY_SEARCH = {
    "create: none exists": AssertionError,
    "create: standing": AssertionError,
    "replace: unchanged": AssertionError,
    "decide: standing": AssertionError,
    "renew: that epoch": Duplicate,
    "place: none or the other's": AssertionError,
    "open: own token": Duplicate,
    "fence: not fenced": Duplicate,
    "fence: issued within": Duplicate,
}
"""What is found without each. The two others take three late coordinators in one order: below, by hand."""


def test_every_condition_is_taken_out_in_turn() -> None:
    assert {*BY_SEARCH, "fence: this epoch", "renew: not being opened"} == set(CONDITIONS)


@pytest.mark.slow
@pytest.mark.parametrize("condition", BY_SEARCH)
def test_the_search_finds_what_goes_wrong_without(condition: str) -> None:
    for seed in range(MOST):
        try:
            Schedule(seed, without=condition).run()
        except BY_SEARCH[condition]:
            return
        except AssertionError:
            continue  # something else went wrong first
    pytest.fail(f"{MOST} schedules went well without {condition!r}")


def test_a_late_fence_would_stop_the_next_epoch() -> None:
    def late_fence(without: str | None) -> None:
        world = deployed("a", without=without)
        late = coordinator("a", "b", world=world)
        late.run_to(FenceItem, world)
        coordinator("a", "b", world=world).finish(world)
        late.finish(world)
        assert world.mint("a") is not None

    late_fence(without=None)
    with pytest.raises(AssertionError, match="nobody had decided to end"):
        late_fence(without="fence: this epoch")


def test_a_late_opening_would_mint_again_in_a_table_made_anew() -> None:
    def two_late_openings(without: str | None) -> None:
        world = World(without)
        first_epoch = coordinator("x", "y", world=world)
        first_epoch.run_to(PlaceItem, world)
        coordinator("x", "y", world=world).finish(world)
        second_epoch = coordinator("y", "x", world=world)
        second_epoch.run_to(RenewItem, world)
        coordinator("y", "x", world=world).finish(world)
        for _ in range(5):
            world.mint("x")
        coordinator("y", world=world).finish(world)
        del world.tables["x"]  # as `pulumi up` does with a region that left
        back = coordinator("y", "x", world=world)
        back.run_to(RenewItem, world)
        first_epoch.step_all(world)
        second_epoch.step_all(world)
        for _ in range(5):
            world.mint("x")
        back.finish(world)
        assert world.mint("x") is not None

    two_late_openings(without=None)
    with pytest.raises(Duplicate):
        two_late_openings(without="renew: not being opened")


def coordinator(*regions: str, world: World) -> Coordinator:
    """A deployment's: the tables are there and the wish stands."""
    for region in regions:
        world.tables.setdefault(region, None)
    world.standing = regions
    world.tokens += 1
    return Coordinator(settle("c", Wish(regions), f"token {world.tokens}", headroom=2))


def deployed(*regions: str, without: str | None) -> World:
    world = World(without)
    register = coordinator(*regions, world=world).finish(world)
    assert isinstance(register, Register)
    return world
