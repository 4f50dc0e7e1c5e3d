"""Every interleaving of coordinators that add a third region, of some mints, and of a loss: small cases in full."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from coordinate.protocol import operations as op
from coordinate.protocol.model import Copy, DeploymentRecord, Item, Register
from coordinate.protocol.reconcile import Inspected, NextRound, Outcome, inspect, reconcile, step

from global_integers_core.lattice import Layout
from global_integers_core.records import Recorded
from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.deployments import decoded, desired
from proof.simulation.world import NOW, Archive, Layouts, Mirror, SimulatedReceipts, SimulatedTable

BEFORE = ("a", "b")
AFTER = ("a", "b", "c")


@dataclass(frozen=True)
class Case:
    """What may happen while coordinators run."""

    mints: int
    """How many integers are minted, in any regions and at any time."""
    coordinators: tuple[str, ...] = ("one", "two")
    loses: str | None = None
    """The region whose table is recreated empty at any time, once. None: none is."""
    unreachable: str | None = None
    """The region that stops answering at any time, and answers again at any time later. None: none does."""
    without: str | None = None

    def at_once(self, operation: op.Operation) -> bool:
        """Return whether it makes no difference when an operation is carried out: then, with the one before."""
        match operation:
            case op.ReadArchive() | op.WriteArchive():  # no integer depends on it
                return True
            case op.ReadRecord() | op.ReadAdmitted() | op.DescribeLayouts() | op.DescribeMirror() | op.Clock():
                return True
            case op.DescribeTable(region) | op.RecordLayouts(region):  # the last of several recorded layouts stays
                return region not in (self.loses, self.unreachable)
            case _:
                return False


class TableState(NamedTuple):
    """A region's table."""

    region: str
    id: str
    item: Item | None
    layouts: tuple[Layout, ...]


class Run(NamedTuple):
    """A coordinator between two operations.

    Python can neither copy nor compare a suspended generator. But `reconcile` looks and takes a step in turn. So a
    coordinator is what its look or its step began with, and what it has been answered since then.
    """

    name: str
    number: int
    """Of its round."""
    state: "Hashed | Outcome"
    """The outcome if it has ended."""
    answers: tuple[Any, ...] = ()


class Hashed:
    """What a part of a round began with, as a value: what is known of items is a dictionary there."""

    __slots__ = ("_hash", "_key", "state")

    def __init__(self, state: NextRound | Inspected) -> None:
        self.state = state
        observation = state.observation
        found = observation and (observation.register, tuple(observation.items.items()), tuple(observation.ids.items()))
        self._key = (type(state), state.record.admitted, found, state.created)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self._key == other._key


@cache
def following(run: Run) -> op.Operation | None:
    """Return the operation that a coordinator asks for next; None if it has ended."""
    return None if isinstance(run.state, Outcome) else _replayed(run)[0]


@cache
def after(run: Run, answer: Any) -> Run:
    """Return the coordinator after the answer to its next operation."""
    run = run._replace(answers=(*run.answers, answer))
    while True:
        _, end = _replayed(run)
        if end is None:
            return run
        if isinstance(end, Outcome):
            return Run(run.name, run.number, end)
        run = Run(run.name, run.number + isinstance(end, NextRound), Hashed(end))


def _replayed(run: Run) -> tuple[op.Operation | None, NextRound | Inspected | Outcome | None]:
    assert isinstance(run.state, Hashed)
    state, answers = run.state.state, run.answers
    steps: Any = inspect("c", state) if isinstance(state, NextRound) else step(state, f"{run.name}/{run.number}")
    try:
        batch: Any = next(steps)
        while len(answers) >= len(batch):
            answered, answers = answers[: len(batch)], answers[len(batch) :]
            batch = steps.send(list(answered))
    except StopIteration as stop:
        return None, stop.value
    return batch[len(answers)], None


class SearchState(NamedTuple):
    """All that decides what may happen next."""

    register: Register
    copy: Copy[Register] | None
    tables: tuple[TableState, ...]
    minted: frozenset[tuple[str, int]]
    unreachable: bool | None
    """Whether the region that may be unreachable is unreachable now; None if it was, and is back."""
    archive: tuple[Layout, ...]
    turns: tuple[Run, ...]

    def world(self, record: DeploymentRecord, case: Case) -> CheckedWorld:
        """Return the tables as they are in this state."""
        world = CheckedWorld(case.without, Layouts("layouts 1", record, {"c": self.register}))
        world.mirror = Mirror("mirror 1", None, {"c": self.copy} if self.copy else {})
        world.tables = {
            table.region: SimulatedTable(table.id, {} if table.item is None else {"c": table.item})
            for table in self.tables
        }
        world.receipts = {
            table.region: SimulatedReceipts({"c": Recorded(table.layouts)} if table.layouts else {})
            for table in self.tables
        }
        world.archive = Archive({"c": self.archive} if self.archive else {})
        past = (layout for layout in self.archive if layout.epoch < self.register.epoch)
        world.lineages = {"c": (*past, self.register.layout)}
        world.minted = dict.fromkeys(self.minted, "")
        world.unreachable = {case.unreachable} if case.unreachable and self.unreachable else set()
        return world


def joining(without: str | None = None) -> CheckedWorld:
    """Return the tables when a deployment that adds a third region has just been admitted."""
    world = CheckedWorld(without)
    for regions in (BEFORE, AFTER):
        for region in regions:
            world.make_table(region)
        record = DeploymentRecord(
            "layouts 1", regions[-1], len(regions), "", NOW, decoded(desired(regions, headroom=1)), "c", reconciled=True
        )
        world.layouts.record = record
        if regions == BEFORE:
            SimulatedCoordinator(reconcile("c", "first", record)).finish(world.carry_out)
    return world


def explore(case: Case, check_end: Callable[[CheckedWorld], None]) -> tuple[int, int]:
    """Visit every state that any interleaving of the coordinators, and of what else may happen, reaches.

    `check_end` is called with the tables of every state in which all coordinators have ended. Return how many states
    there are, and how many of them are ends.
    """
    world = joining(case.without)
    record = world.layouts.record
    assert record is not None
    begin = Hashed(NextRound(record, None, created=False, may_create=True, wanted=0))
    turns = tuple(_at_once(Run(name, 0, begin), world, case) for name in case.coordinators)
    start = _state(world, False, turns)
    seen = {start}
    stack = [start]
    ends = 0
    while stack:
        state = stack.pop()
        if not any(following(turn) for turn in state.turns):
            check_end(state.world(record, case))
            ends += 1
        for successor in reversed(tuple(_successors(state, record, case))):  # the first one is visited next
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    following.cache_clear()
    after.cache_clear()
    return len(seen), ends


def _state(world: CheckedWorld, unreachable: bool | None, turns: tuple[Run, ...]) -> SearchState:
    recorded = {region: receipts.recorded.get("c", Recorded()) for region, receipts in world.receipts.items()}
    tables = tuple(
        TableState(region, table.id, table.items.get("c"), recorded[region].layouts)
        for region, table in sorted(world.tables.items())
    )
    register, copy = world.layouts.registers["c"], world.mirror.copies.get("c")
    archive = world.archive.layouts.get("c", ()) if world.archive else ()
    return SearchState(register, copy, tables, frozenset(world.minted), unreachable, archive, turns)


def _successors(state: SearchState, record: DeploymentRecord, case: Case) -> Iterator[SearchState]:
    """Yield what one operation of one coordinator, one mint, or one event makes of a state."""
    for index, turn in enumerate(state.turns):
        if following(turn) is not None:
            world = state.world(record, case)
            next_turn = _at_once(_answered(turn, world), world, case)
            yield _state(world, state.unreachable, (*state.turns[:index], next_turn, *state.turns[index + 1 :]))
    if len(state.minted) < case.mints:
        for table in state.tables:
            world = state.world(record, case)
            if world.mint(table.region) is not None:
                yield _state(world, state.unreachable, state.turns)
    if case.loses is not None and all(table.id != "recreated" for table in state.tables):
        world = state.world(record, case)
        world.tables[case.loses] = SimulatedTable("recreated")
        yield _state(world, state.unreachable, state.turns)
    if case.unreachable is not None and state.unreachable is not None:
        yield state._replace(unreachable=None if state.unreachable else True)


def _at_once(turn: Run, world: CheckedWorld, case: Case) -> Run:
    while (operation := following(turn)) is not None and case.at_once(operation):
        turn = _answered(turn, world)
    return turn


def _answered(turn: Run, world: CheckedWorld) -> Run:
    operation = following(turn)
    assert operation is not None
    return after(turn, world.carry_out(operation))
