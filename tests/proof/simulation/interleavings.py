"""Every interleaving of coordinators that add a third region, of some mints, and of a loss: small cases in full."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, NamedTuple

from coordinate.protocol import operations as op
from coordinate.protocol.model import Copy, DeploymentRecord, Item, Register
from coordinate.protocol.reconcile import Asked, Gone, Outcome, _State, reconcile

from global_integers_core.lattice import Layout
from global_integers_core.records import Recorded
from proof.simulation.checks import CheckedWorld
from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.deployments import SimulatedSettings, decoded, desired
from proof.simulation.world import NOW, RECEIPTS, kind_of

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
    """The region that stops answering at any time. None: none does."""
    returns: bool = True
    """Whether it answers again at any time later."""

    def at_once(self, operation: op.Operation, unreachable: bool | None) -> bool:
        """Return whether it makes no difference when an operation is carried out: then, with the one before."""
        region = getattr(operation, "region", None)
        if region is not None and region == self.unreachable:
            return bool(unreachable) and not self.returns  # for good: each gets the same answer
        match operation:
            case op.ReadRecord() | op.ReadAdmitted() | op.DescribeLayouts() | op.DescribeMirror() | op.Clock():
                return True
            # The last of several recorded layouts stays.
            case op.DescribeTable() | op.ReadRecorded() | op.RecordLayouts():
                return region != self.loses
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

    Python can neither copy nor compare a suspended generator. But `reconcile` inspects and takes a step in turn. So a
    coordinator is what one of these began with, and what it has been answered since then.
    """

    name: str
    number: int
    """Of its round."""
    state: "Hashed | Outcome | Gone"
    """The outcome if it has ended."""
    answers: tuple[Any, ...] = ()


class Hashed:
    """What a coordinator knows before it inspects or takes a step, as a value."""

    __slots__ = ("_hash", "_key", "inspects", "state")

    def __init__(self, state: _State, *, inspects: bool) -> None:
        self.state, self.inspects = state, inspects
        known = dict(vars(state))
        observation, record = known.pop("_observation"), known.pop("_record")
        found = observation and (observation.register, tuple(observation.items.items()), tuple(observation.ids.items()))
        self._key = (inspects, found, record.admitted, tuple(known.values()))
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self._key == other._key


@cache
def following(run: Run) -> op.Operation | None:
    """Return the operation that a coordinator asks for next; None if it has ended."""
    return _replayed(run)[0] if isinstance(run.state, Hashed) else None


@cache
def after(run: Run, answer: Any) -> Run:
    """Return the coordinator after the answer to its next operation."""
    run = run._replace(answers=(*run.answers, answer))
    while True:
        operation, then = _replayed(run)
        if operation is not None or not isinstance(then, Hashed):
            return run if then is None else Run(run.name, run.number, then)
        run = Run(run.name, run.number + then.inspects, then)


def _replayed(run: Run) -> tuple[op.Operation | None, Hashed | Outcome | Gone | None]:
    """Return the next operation; or, where its inspection or its step has ended, what comes then."""
    assert isinstance(run.state, Hashed)
    state, inspects, answers = copy(run.state.state), run.state.inspects, run.answers
    steps: Any = state.inspect() if inspects else state.step(f"{run.name}/{run.number}")
    try:
        batch: Any = next(steps)
        while len(answers) >= len(batch):
            answered, answers = answers[: len(batch)], answers[len(batch) :]
            batch = steps.send(list(answered))
    except StopIteration as stop:
        if inspects:
            return None, Gone() if state.gone else Hashed(state, inspects=not stop.value)
        return None, Hashed(state, inspects=True) if stop.value is None else stop.value
    return batch[len(answers)], None


class SearchState(NamedTuple):
    """All that decides what may happen next."""

    register: Register
    copy: Copy[Register] | None
    tables: tuple[TableState, ...]
    minted: frozenset[tuple[str, int]]
    unreachable: bool | None
    """Whether the region that may be unreachable is unreachable now; None if it was, and is back."""
    lineage: tuple[Layout, ...]
    turns: tuple[Run, ...]

    def world(self, record: DeploymentRecord, case: Case) -> CheckedWorld:
        """Return the tables as they are in this state."""
        world = CheckedWorld()
        world.record, world.registers["c"] = record, self.register
        if self.copy is not None:
            world.copies["c"] = self.copy
        for region, id_, item, layouts in self.tables:
            world.make(region, id_)
            world.make(f"{RECEIPTS} {region}")
            if item is not None:
                world.items(region)["c"] = item
            if layouts:
                world.recorded(region)["c"] = Recorded(layouts)
        world.lineages = {"c": self.lineage}
        world.minted = dict.fromkeys(self.minted, "")
        world.unreachable = {case.unreachable} if case.unreachable and self.unreachable else set()
        return world


def joining() -> CheckedWorld:
    """Return the tables when a deployment that adds a third region has just been admitted."""
    world = CheckedWorld()
    for regions in (BEFORE, AFTER):
        for region in regions:
            world.make_table(region)
        record = DeploymentRecord(
            "layouts 1",
            regions[-1],
            len(regions),
            "",
            NOW,
            decoded(desired(SimulatedSettings(regions))),
            reconciled=True,
        )
        world.record = record
        if regions == BEFORE:
            SimulatedCoordinator(reconcile("c", "first", record)).finish(world.carry_out)
    return world


def explore(case: Case, check_end: Callable[[CheckedWorld], None]) -> tuple[int, int]:
    """Visit every state that any interleaving of the coordinators, and of what else may happen, reaches.

    `check_end` is called with the tables of every state in which all coordinators have ended. Return how many states
    there are, and how many of them are ends.
    """
    try:
        return _explored(case, check_end)
    finally:  # what comes next may have other rules
        for known in (following, after, _shared, _carried_out):
            known.cache_clear()


def _explored(case: Case, check_end: Callable[[CheckedWorld], None]) -> tuple[int, int]:
    world = joining()
    record = world.record
    assert record is not None
    begun = (
        Run(name, 0, Hashed(_State("c", name, record, None, Asked()), inspects=True)) for name in case.coordinators
    )
    turns = tuple(_at_once(run, world.carry_out, case, False) for run in begun)
    start = _state(world, False, turns)
    seen = {start}
    stack = [start]
    ends = 0
    while stack:
        state = stack.pop()
        if not any(following(turn) for turn in state.turns):
            for end in _happened(state, case.loses, record, case):
                check_end(end.world(record, case))
            ends += 1
        for successor in reversed(tuple(_successors(state, record, case))):  # the first one is visited next
            if successor not in seen:
                seen.add(successor)
                stack.append(successor)
    return len(seen), ends


def _state(world: CheckedWorld, unreachable: bool | None, turns: tuple[Run, ...]) -> SearchState:
    tables = tuple(
        TableState(region, table.id, world.item(region, "c"), world.recorded(region).get("c", Recorded()).layouts)
        for region, table in sorted(world.tables.items())
    )
    register, copied = world.registers["c"], world.copies.get("c")
    return SearchState(register, copied, tables, frozenset(world.minted), unreachable, world.lineages["c"], turns)


@lru_cache(maxsize=10_000)
def _shared(state: SearchState, record: DeploymentRecord, case: Case) -> CheckedWorld:
    """Return the tables of states in which coordinators have come differently far, for what only reads."""
    return state.world(record, case)


@lru_cache(maxsize=30_000)
def _carried_out(
    state: SearchState, operation: op.Operation, record: DeploymentRecord, case: Case
) -> tuple[Any, SearchState]:
    """Return the answer to an operation, and what it makes of the tables. `state` has no turns: many share it."""
    if isinstance(operation, op.Clock) or kind_of(operation) == "reads":
        return _shared(state, record, case).carry_out(operation), state
    world = state.world(record, case)
    return world.carry_out(operation), _state(world, state.unreachable, ())


class Tables:
    """The tables of a state, and what operations make of them."""

    def __init__(self, state: SearchState, record: DeploymentRecord, case: Case) -> None:
        self.state = state._replace(turns=())
        self._of = record, case

    def carry_out(self, operation: op.Operation) -> Any:
        answer, self.state = _carried_out(self.state, operation, *self._of)
        return answer


def _successors(state: SearchState, record: DeploymentRecord, case: Case) -> Iterator[SearchState]:
    """Yield what one operation of one coordinator makes of a state, after what may happen in its region."""
    for index, turn in enumerate(state.turns):
        if (operation := following(turn)) is None:
            continue
        for before in _happened(state, getattr(operation, "region", None), record, case):
            tables = Tables(before, record, case)
            next_turn = _at_once(_answered(turn, tables.carry_out), tables.carry_out, case, before.unreachable)
            turns = (*state.turns[:index], next_turn, *state.turns[index + 1 :])
            yield tables.state._replace(turns=turns)


def _happened(state: SearchState, region: str | None, record: DeploymentRecord, case: Case) -> list[SearchState]:
    """Return the state, and what mints and events in a region make of it.

    They happen just before an operation there. Between operations elsewhere, they would make no difference.
    """
    states = [state]
    if region is None:
        return states
    while len(states[-1].minted) < case.mints:
        world = states[-1].world(record, case)
        if world.mint(region) is None:
            break
        states.append(_state(world, state.unreachable, state.turns))
    if region == case.loses and all(table.id != "recreated" for table in state.tables):
        for world in [each.world(record, case) for each in states]:
            world.make(region, "recreated")
            states.append(_state(world, state.unreachable, state.turns))
    if region == case.unreachable and state.unreachable is not None and (case.returns or not state.unreachable):
        states += [each._replace(unreachable=None if state.unreachable else True) for each in states]
    return states


def _at_once(turn: Run, carry_out: op.CarryOut, case: Case, unreachable: bool | None) -> Run:
    while (operation := following(turn)) is not None and case.at_once(operation, unreachable):
        turn = _answered(turn, carry_out)
    return turn


def _answered(turn: Run, carry_out: op.CarryOut) -> Run:
    operation = following(turn)
    assert operation is not None
    return after(turn, carry_out(operation))
