"""A small case in full: two regions become three, two coordinators, some mints; every interleaving."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import Any

import pytest
from coordinate.model import Item, Next, Register, Wish
from coordinate.operations import Operation, RecordLayouts
from coordinate.protocol import settle

from simulation.world import World

pytestmark = pytest.mark.slow
WISH = ("a", "b", "c")
HEADROOM = 1

Answers = tuple[tuple[Any, ...], ...]
"""What a coordinator has been answered so far, batch by batch: `settle` goes by nothing else."""

Key = tuple[Any, ...]


class Run:
    """One coordinator between two batches. Two that stand at the same place with the same values are the same."""

    def __init__(self, name: str, answers: Answers) -> None:
        self.name = name
        self.answers = answers
        self.batch: Sequence[Operation] = ()
        self.ended = False
        steps = settle("c", Wish(WISH), name, HEADROOM)
        try:
            batch = next(steps)
            for answer in answers:
                batch = steps.send(list(answer))
            while not batch:
                batch = steps.send([])
            self.batch = tuple(batch)
            self.key: Key = (name, *place(steps))
        except StopIteration as stop:
            self.ended = True
            self.key = (name, stop.value)

    def __hash__(self) -> int:
        return hash(self.key)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.key == other.key


def place(steps: Any) -> Key:
    """Where a generator stands: the instruction and the variables, and those of what it delegates to."""
    if steps is None:
        return ()
    variables = tuple(sorted((name, repr(value)) for name, value in steps.gi_frame.f_locals.items()))
    return (steps.gi_frame.f_lasti, variables, *place(steps.gi_yieldfrom))


@cache
def run_after(name: str, answers: Answers) -> Run:
    return Run(name, answers)


def world_of(key: Key, without: str | None) -> World:
    register, tables, minted, _ = key
    return World(without, WISH, register, dict(tables), dict.fromkeys(minted, ""))


def key_of(world: World, coordinators: Key) -> Key:
    return (world.register, tuple(sorted(world.tables.items())), frozenset(world.minted), coordinators)


def explore(mints: int, following: Next | None = None, without: str | None = None) -> tuple[int, int]:
    """Visit every state that any interleaving of the coordinators and so many mints reaches.

    `following` begins with a change that is decided already. Returns how many states there are, and how
    many of them are ends.

    Raises:
        Duplicate: some interleaving mints an integer twice.
    """
    opened = Register("c", 1, ("a", "b"), 1, "first", opened=True, next=following)
    tables = {"a": Item(-1, 2, 2**53 - 1, 1), "b": Item(0, 2, 2**53 - 2, 1), "c": None}
    start = key_of(World(without, WISH, opened, dict(tables)), (run_after("one", ()), (), run_after("two", ()), ()))
    seen = {start}
    stack = [start]
    ends = 0
    while stack:
        state = stack.pop()
        if state[3][0].ended and state[3][2].ended:
            check_end(world_of(state, without))
            ends += 1
        for follower in successors(state, mints, without):
            if follower not in seen:
                seen.add(follower)
                stack.append(follower)
    return len(seen), ends


def successors(state: Key, mints: int, without: str | None) -> Iterator[Key]:
    """One operation of one coordinator, or one mint in one region."""
    coordinators: Key = state[3]
    for index in (0, 2):
        run, given = coordinators[index], coordinators[index + 1]
        if run.ended:
            continue
        world = world_of(state, without)
        given = (*given, world.carry_out(run.batch[len(given)]))
        while len(given) < len(run.batch) and isinstance(run.batch[len(given)], RecordLayouts):
            given = (*given, True)  # changes nothing here
        if len(given) == len(run.batch):
            run, given = run_after(run.name, (*run.answers, given)), ()
        yield key_of(world, (*coordinators[:index], run, given, *coordinators[index + 2 :]))
    if len(state[2]) < mints:
        for region, item in state[1]:
            if item is not None and item.issued < item.ceiling:
                world = world_of(state, without)
                world.mint(region)
                yield key_of(world, coordinators)


def check_end(world: World) -> None:
    register = world.register
    assert register is not None
    assert (register.regions, register.opened, register.next) == (WISH, True, None)
    for region in WISH:
        item = world.tables[region]
        assert item is not None
        assert replace(item, issued=0, ceiling=0) == Item(0, 3, 0, register.epoch)
        assert world.mint(region) is not None


def test_no_interleaving_mints_twice_and_all_end_as_wished() -> None:
    states, ends = explore(mints=1)

    assert states > 100_000
    assert ends > 5


def test_nor_with_more_mints_once_the_change_is_decided() -> None:
    states, ends = explore(mints=3, following=Next(WISH))

    assert states > 100_000
    assert ends > 5


@pytest.mark.parametrize("condition", ["fence: issued within", "fence: not fenced"])
def test_the_exploration_can_fail(condition: str) -> None:
    with pytest.raises(AssertionError):
        explore(mints=3, following=Next(WISH), without=condition)
