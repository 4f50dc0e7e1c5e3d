"""Every condition is needed: with any one taken out, something goes wrong, and the search or a test by hand finds it.

Without most of them an integer is minted twice. Without the rest a layout is opened that nobody asked for,
a region stops minting, a table is reported as lost that isn't, or a region keeps outdated layouts on record.
"""

from itertools import count

import pytest
from coordinate.model import Register, Wish
from coordinate.operations import FenceItem, PlaceItem, RenewItem

from simulation.checked import CheckedWorld, Duplicate
from simulation.coordinator import Coordinator
from simulation.schedule import Schedule
from simulation.world import CONDITIONS

MOST = 20_000

BY_SEARCH = {
    "mint: below the ceiling": Duplicate,
    "create: no register": AssertionError,
    "create: regions stand": AssertionError,
    "replace: unchanged": AssertionError,
    "replace: regions stand": AssertionError,
    "renew: that epoch": Duplicate,
    "record: newer": AssertionError,
    "place: no item or the other's": AssertionError,
    "open: own token": Duplicate,
    "fence: not fenced": Duplicate,
    "fence: issued within": Duplicate,
}
"""What is found without each. The two others take three late coordinators in one order: below, by hand."""

TOKENS = (f"token {number}" for number in count(1))


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
        late.run_to(FenceItem, world.carry_out)
        coordinator("a", "b", world=world).finish(world.carry_out)
        late.finish(world.carry_out)
        assert world.mint("a") is not None

    late_fence(without=None)
    with pytest.raises(AssertionError, match="nobody had decided to end"):
        late_fence(without="fence: this epoch")


def test_a_late_opening_would_mint_again_in_a_recreated_table() -> None:
    def two_late_openings(without: str | None) -> None:
        world = CheckedWorld(without)
        first_epoch = coordinator("x", "y", world=world)
        first_epoch.run_to(PlaceItem, world.carry_out)
        coordinator("x", "y", world=world).finish(world.carry_out)
        second_epoch = coordinator("y", "x", world=world)
        second_epoch.run_to(RenewItem, world.carry_out)
        coordinator("y", "x", world=world).finish(world.carry_out)
        for _ in range(5):
            world.mint("x")
        coordinator("y", world=world).finish(world.carry_out)
        world.delete_table("x")  # as `pulumi up` does with a region that left
        back = coordinator("y", "x", world=world)
        back.run_to(RenewItem, world.carry_out)
        first_epoch.step_all(world.carry_out)
        second_epoch.step_all(world.carry_out)
        for _ in range(5):
            world.mint("x")
        back.finish(world.carry_out)
        assert world.mint("x") is not None

    two_late_openings(without=None)
    with pytest.raises(Duplicate):
        two_late_openings(without="renew: not being opened")


def coordinator(*regions: str, world: CheckedWorld) -> Coordinator:
    """Return a deployment's coordinator: the tables are there, and what it asks for is recorded."""
    for region in regions:
        world.make_table(region)
    world.stand(regions)
    return Coordinator(Wish(regions), next(TOKENS), headroom=2)


def deployed(*regions: str, without: str | None) -> CheckedWorld:
    world = CheckedWorld(without)
    register = coordinator(*regions, world=world).finish(world.carry_out)
    assert isinstance(register, Register)
    return world
