"""The home region moves: killed at every step, raced, and with each of its two fences taken out."""

import pickle
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from itertools import islice
from random import Random
from typing import Any

import pytest
from coordinate.protocol import operations as op
from coordinate.protocol.model import Refused
from coordinate.protocol.run import Create, Grant, RunResult, ScheduledRun

from global_integers_core.records import ADMITTED_KEY
from proof.simulation.checks import CheckedWorld, MintedTwice, check_reconciled
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.schedule import RandomSchedule
from proof.simulation.world import LAYOUTS, MIRROR, at_home, kind_of
from tests.lambda_.coordinate.simulated_runs import begun, deployment, world_with
from tests.proof.simulation.by_hand import at, two_regions

HOME, NEXT, THIRD = "home", "h2", "h3"
REGIONS = "ab"


COUNTERS = ("c", "d")


@cache
def _minted() -> bytes:
    """Return a world in which two regions have minted, of two counters, and asked for more once."""
    world = two_regions()
    deployment(world, REGIONS, "first", counters=COUNTERS).finish(world.carry_out)
    for _ in range(10):
        for region in REGIONS:
            world.mint(region)
    begun(Grant("c", 4), "grant").finish(world.carry_out)
    return pickle.dumps(world)


def minting() -> CheckedWorld:
    return pickle.loads(_minted())  # noqa: S301 (made above)


def move(world: CheckedWorld, home: str, name: str = "", regions: str = REGIONS, **asked: Any) -> SimulatedCoordinator:
    return deployment(world, regions, name or world.new_id("move"), home=home, counters=COUNTERS, **asked)


def moved(world: CheckedWorld, home: str) -> None:
    """Move, and check that all is reconciled there, and that no integer is skipped."""
    before = {region: world.mint(region) or 0 for region in REGIONS}
    result = move(world, home).finish(at(world, home))
    assert world.home == home
    assert {region: world.mint(region) for region in REGIONS} == {each: before[each] + 2 for each in REGIONS}
    check_reconciled(world, result)


def kills(lost: str = "") -> Iterator[CheckedWorld]:
    """Kill a move after each of its steps, with the rest of its batch carried out late, or not. Lose a table then."""
    world = minting()
    killed = move(world, NEXT, "killed")
    while not killed.ended:
        rest = [operation for *_, operation in killed.todo]
        for late in (False, True):
            now: CheckedWorld = pickle.loads(pickle.dumps(world))  # noqa: S301 (it is that world)
            if lost:
                now.lose(lost, "recreated", Random(0))
            for operation in rest if late else ():
                if kind_of(operation) == "writes" and (not lost or not isinstance(operation, op.WriteCopy)):
                    with suppress(Refused):
                        at(now, NEXT)(operation)
            yield now
        killed.step(at(world, NEXT))


@pytest.mark.slow
@pytest.mark.parametrize("then", [NEXT, *(pytest.param(home, marks=pytest.mark.long) for home in (HOME, THIRD))])
def test_killed_after_any_step_it_is_repeated_reverted_or_goes_elsewhere(then: str) -> None:
    for world in kills():
        moved(world, then)
        with suppress(Refused):
            begun(ScheduledRun(), "schedule").finish(at(world, HOME))
        moved(world, NEXT)


@pytest.mark.long
@pytest.mark.parametrize("lost", [LAYOUTS, MIRROR, at_home(LAYOUTS, NEXT), at_home(MIRROR, NEXT)])
@pytest.mark.parametrize("then", [NEXT, HOME])
def test_killed_after_any_step_one_table_may_be_lost(lost: str, then: str) -> None:
    for world in kills(lost):
        moved(world, then)


@pytest.mark.parametrize("first", [10, pytest.param(None, marks=pytest.mark.slow)])
def test_a_move_that_was_killed_needs_no_record_of_the_regions(first: int | None) -> None:
    """The first home has the claim, with all that is needed to go on."""
    for world in islice(kills(), first):
        for region in REGIONS:
            world.lose(f"receipts {region}", "recreated", Random(0))
        moved(world, NEXT)


@pytest.mark.parametrize("request_", [ScheduledRun(), Grant("c", 5), Create(("e",))])
def test_the_former_home_refuses_by_the_name_of_the_new_one(request_: ScheduledRun | Grant | Create) -> None:
    world = minting()
    moved(world, NEXT)

    asked = begun(request_, "late")
    try:
        said = asked.finish(at(world, HOME)).skipped
    except Refused as refusal:
        said = str(refusal)
    assert said is not None
    assert said.startswith("The home region is h2 by now, or is about to be. Set `aws:region` to it and deploy")


@pytest.mark.parametrize("seed", [*range(20), *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(20, 60))])
def test_two_deployers_with_two_homes_end_in_one(seed: int) -> None:
    random, world = Random(seed), minting()
    runs = {home: move(world, home, home) for home in random.sample([HOME, NEXT, THIRD], 2)}
    runs |= {"a grant": begun(Grant("c", 30), "grant 2"), "a run": begun(ScheduledRun(), "schedule")}
    while running := [name for name, run in runs.items() if not run.ended]:
        name = random.choice(running)
        with suppress(Refused):
            runs[name].step(at(world, name if name in (NEXT, THIRD) else HOME), random.randrange)
        if random.random() < 0.1:
            world.mint(random.choice(REGIONS))
    home = random.choice([HOME, NEXT, THIRD])
    for name in ("at last", "again"):
        result = move(world, home, name).finish(at(world, home))
        check_reconciled(world, result)
    records = [each for each in (HOME, NEXT, THIRD) if _goes_on(world, each)]
    assert records == [home]


def _goes_on(world: CheckedWorld, home: str) -> bool:
    """Return whether a run goes on in a home region."""
    if (home, LAYOUTS) not in world.database.tables:
        return False
    try:
        result: RunResult = begun(ScheduledRun(), world.new_id("run")).finish(at(world, home))
    except Refused:
        return False
    return result.skipped is None


def test_a_home_that_was_given_up_may_come_back_with_all_it_had() -> None:
    """Its loss is answered by a number. Nothing that it does then counts, and it can become the home again."""
    world = minting()
    world.unreachable.add(HOME)
    with pytest.raises(Refused, match="the home region: in home, which doesn't answer") as refused:
        move(world, NEXT).finish(at(world, NEXT))
    assert not world.database.tables[NEXT, LAYOUTS].items, "nothing is written before the loss is answered"
    loss = str(refused.value).partition("{loss: ")[2].partition(",")[0]
    top = max(integer for _, integer in world.minted)
    answer = {"loss": loss, "above": max(top, *(world.items(region)["c"].ceiling for region in REGIONS))}
    recovered = move(world, NEXT, recovery=answer)
    check_reconciled(world, recovered.finish(at(world, NEXT)))

    world.unreachable.clear()
    assert not _goes_on(world, HOME)
    for number, counter in enumerate("cd"):
        with suppress(Refused):
            begun(Grant(counter, 500), f"zombie {number}").finish(at(world, HOME))
    for region in (*REGIONS, *REGIONS):
        world.mint(region)
    moved(world, HOME)


def test_the_same_silence_is_another_loss_once_the_home_has_moved() -> None:
    world, losses = minting(), list[str]()
    for _ in range(2):
        world.unreachable.add(HOME)
        with pytest.raises(Refused) as refused:
            move(world, NEXT).finish(at(world, NEXT))
        losses.append(str(refused.value).partition("{loss: ")[2].partition(",")[0])
        world.unreachable.clear()
        moved(world, NEXT)
        moved(world, HOME)
    assert len({*losses}) == 2


def test_the_same_silence_is_another_loss_of_another_stack() -> None:
    """One lost region of AWS is the home of many stacks. What was minted in one of them is no answer for another."""
    losses: list[str] = []
    for _ in range(2):
        world = minting()
        world.unreachable.add(HOME)
        world.make(at_home(LAYOUTS, NEXT), f"of stack {len(losses)}")
        with pytest.raises(Refused) as refused:
            move(world, NEXT).finish(at(world, NEXT))
        losses.append(str(refused.value).partition("{loss: ")[2].partition(",")[0])
    assert len({*losses}) == 2


@pytest.mark.parametrize("gone", [False, True])
def test_a_region_that_does_not_answer_follows_when_it_does(gone: bool) -> None:
    """Or its tables are gone, and a later deployment makes them again. The other one goes on as ever."""
    world = minting()
    if gone:
        world.lose("b", "gone", Random(0))
        world.lose("receipts b", "gone", Random(0))
    else:
        world.unreachable.add("b")
    before = world.mint("a")
    with suppress(Refused):
        move(world, NEXT).finish(at(world, NEXT))
    assert world.home == NEXT
    assert before is not None
    assert world.mint("a") == before + len(REGIONS)

    world.unreachable.clear()
    world.make_table("b")
    check_reconciled(world, begun(ScheduledRun(), "schedule").finish(at(world, NEXT)))
    moved(world, HOME)


def test_regions_that_know_no_home_are_deployed_by_the_former_one_first() -> None:
    """A move together with a change of all regions: the preview can't have found the record."""
    world = minting()
    world.make_table("c")
    elsewhere = move(world, NEXT, regions="c", follows="")
    with pytest.raises(Refused, match="set `aws:region` to home, where the home was until now, deploy, and then move"):
        elsewhere.finish(at(world, NEXT))
    assert _goes_on(world, HOME)

    check_reconciled(world, move(world, HOME, regions="c").finish(at(world, HOME)))
    result = move(world, NEXT, regions="c").finish(at(world, NEXT))
    check_reconciled(world, result)
    assert world.home == NEXT


FENCES = ("claim", "rights")


def lives_on(without: tuple[str, ...]) -> CheckedWorld:
    """Let a run of the former home go on after the move, with fences taken out: it raises a limit and a ceiling.

    Then that region isn't reached, and the other one gets a new epoch.
    """
    world = world_with(*REGIONS)
    world.largest = 400
    late = begun(Grant("c", 400), "late")
    while not any(isinstance(operation, op.WriteRegister) for *_, operation in late.todo):
        late.step(at(world, HOME))
    former = world.layouts.items
    admitted = former[ADMITTED_KEY]
    move(world, NEXT).finish(at(world, NEXT))
    if "claim" in without:
        former[ADMITTED_KEY] = admitted
    world.unreachable.add("b")  # so that no ceiling there shows what was raised

    def with_rights(operation: op.Operation) -> object:
        if "rights" not in without and kind_of(operation) == "writes" and not isinstance(operation, op.TakeRunLock):
            raise Refused("home: the role may not write")
        return at(world, HOME)(operation)

    with suppress(Refused):
        late.finish(with_rights)
    world.unreachable.clear()
    world.unreachable.add("a")
    deployment(world, "b", "without a", home=NEXT).finish(at(world, NEXT))
    for _ in range(400):
        for region in REGIONS:
            world.mint(region)
    return world


@pytest.mark.parametrize("fence", FENCES)
def test_either_fence_alone_suffices(fence: str) -> None:
    assert lives_on((fence,)).minted


def test_without_both_fences_an_integer_is_minted_twice() -> None:
    with pytest.raises(MintedTwice):
        lives_on(FENCES)


@pytest.mark.slow
@pytest.mark.parametrize("losses", [1, 2, 3])
def test_a_search_in_which_homes_move_finds_nothing(losses: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("proof.simulation.schedule.MOVES", (1.0, 1.0, 1.0))
    terms = [record.term for seed in range(20) if (record := RandomSchedule(seed, losses=losses).run().record)]
    assert max(terms) > 1
