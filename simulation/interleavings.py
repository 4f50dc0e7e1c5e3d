"""Every interleaving of two coordinators that add a third region, and of some mints: a small case in full."""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from coordinate.model import Item, Next, Register, Wish
from coordinate.operations import Operation, RecordLayouts
from coordinate.protocol import settle

from .checked import CheckedWorld
from .snapshot import Snapshot, snapshot
from .world import Table

BEFORE = ("a", "b")
AFTER = ("a", "b", "c")
HEADROOM = 1

Answers = tuple[tuple[Any, ...], ...]
"""What a coordinator has been answered so far, batch by batch. All that it does follows from that."""


class Run:
    """A coordinator between two batches. Runs that go on in the same way are equal, whatever answers they got."""

    def __init__(self, name: str, answers: Answers) -> None:
        self.name = name
        self.answers = answers
        self.batch: Sequence[Operation] = ()
        """The operations that it asks for next; none if it has ended."""
        steps = settle("c", Wish(AFTER), name, HEADROOM)
        try:
            batch = next(steps)
            for answer in answers:
                batch = steps.send(list(answer))
            while not batch:
                batch = steps.send([])
            self.batch = tuple(batch)
            self.key: tuple[str, Snapshot | Register] = (name, snapshot(steps))
        except StopIteration as stop:
            self.key = (name, stop.value)
        self._hash = hash(self.key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Run) and self.key == other.key


@cache
def run_after(name: str, answers: Answers) -> Run:
    """Return the run of the coordinator `name` after these answers."""
    return Run(name, answers)


class Turn(NamedTuple):
    """A coordinator within a batch: what the first operations of the batch have been answered."""

    run: Run
    given: tuple[Any, ...] = ()


class State(NamedTuple):
    """All that decides what may happen next.

    The layouts that are recorded for questions about owners are left out: no decision depends on them.
    """

    register: Register | None
    items: tuple[tuple[str, Item | None], ...]
    minted: frozenset[int]
    turns: tuple[Turn, ...]

    def world(self, without: str | None) -> CheckedWorld:
        """Return the tables as they are in this state."""
        tables = {region: Table(item) for region, item in self.items}
        return CheckedWorld(without, AFTER, self.register, tables, dict.fromkeys(self.minted, ""))


def explore(
    mints: int, following: Next | None, without: str | None, check_end: Callable[[CheckedWorld], None]
) -> tuple[int, int]:
    """Visit every state that any interleaving of two coordinators and so many mints reaches.

    Args:
        mints: how many integers are minted, in any regions and at any time.
        following: the change that is already decided, if one is.
        without: the condition that is taken out, if one is.
        check_end: called with the tables of every state in which both coordinators have ended.

    Returns:
        How many states there are, and how many of them are ends.

    Raises:
        AssertionError: what `check_end` raises, or `Duplicate` if some interleaving mints an integer twice.
    """
    opened = Register("c", 1, BEFORE, 1, "first", opened=True, next=following)
    tables = {"a": Table(Item(-1, 2, 2**53 - 1, 1)), "b": Table(Item(0, 2, 2**53 - 2, 1)), "c": Table()}
    turns = (Turn(run_after("one", ())), Turn(run_after("two", ())))
    start = _state(CheckedWorld(without, AFTER, opened, tables), turns)
    seen = {start}
    stack = [start]
    ends = 0
    while stack:
        state = stack.pop()
        if not any(turn.run.batch for turn in state.turns):
            check_end(state.world(without))
            ends += 1
        for successor in _successors(state, mints, without):
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return len(seen), ends


def _state(world: CheckedWorld, turns: tuple[Turn, ...]) -> State:
    items = tuple((region, table.item) for region, table in sorted(world.tables.items()))
    return State(world.register, items, frozenset(world.minted), turns)


def _successors(state: State, mints: int, without: str | None) -> Iterator[State]:
    """Yield what one operation of one coordinator, or one mint in one region, makes of a state."""
    for index, turn in enumerate(state.turns):
        if turn.run.batch:
            world = state.world(without)
            after = _after_one(turn, world)
            yield _state(world, (*state.turns[:index], after, *state.turns[index + 1 :]))
    if len(state.minted) < mints:
        for region, _ in state.items:
            world = state.world(without)
            if world.mint(region) is not None:
                yield _state(world, state.turns)


def _after_one(turn: Turn, world: CheckedWorld) -> Turn:
    """Carry out the coordinator's next operation."""
    run, batch = turn.run, turn.run.batch
    given = (*turn.given, world.carry_out(batch[len(turn.given)]))
    while len(given) < len(batch) and isinstance(batch[len(given)], RecordLayouts):
        given = (*given, True)  # changes nothing in a State, and `settle` doesn't look at the answer
    return Turn(run_after(run.name, (*run.answers, given))) if len(given) == len(batch) else Turn(run, given)
