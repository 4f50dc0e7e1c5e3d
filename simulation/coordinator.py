"""A coordinator that can be stopped between any two operations, so that it can race, be late or crash.

A coordinator is a suspended generator, which Python can neither copy nor compare. But `reconcile` looks and takes a
step in turn, and either remembers nothing but what the other hands to it. So a coordinator is what its look or its step
began with, and what it has been answered since then.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache
from typing import Any, NamedTuple

from coordinate.protocol.model import DeploymentRecord, Refused
from coordinate.protocol.operations import Each, Operation, Steps
from coordinate.protocol.reconcile import Again, Looked, Outcome, look_at, step

CarryOut = Callable[[Operation], Any]

COUNTERS = 2
"""How many counters a run has in progress at the same time."""


class _Steps:
    """Steps that are being taken, and those that they wait for."""

    def __init__(self, steps: Steps[Any], parent: "_Steps | None" = None, place: int = 0) -> None:
        self.steps = steps
        self.parent = parent
        self.place = place
        """The place of the result among the parent's answers."""
        self.answers: dict[int, Any] = {}
        self.expected = 0
        self.waiting: Iterator[tuple[int, Steps[Any]]] = iter(())
        """Steps of an `Each` that are not begun yet."""


class SimulatedCoordinator:
    """A run of the protocol, an operation at a time. It crashes by never being asked to go on."""

    def __init__(self, steps: Steps[Any], name: str = "") -> None:
        """Begin.

        Args:
            steps: what it does: a whole `run`, or a part of one.
            name: what a reader calls it.
        """
        self.name = name
        self.todo: list[tuple[_Steps, int, Operation]] = []
        """The operations that may be carried out next, in any order: whose they are, their place in the batch."""
        self.ended = False
        self.result: Any = None
        """What the run returned, once it has."""
        self._go_on(_Steps(steps), None)

    def step(self, carry_out: CarryOut, choose: Callable[[int], int] = lambda _: 0) -> None:
        """Carry out one operation; after the last one of a batch, begin the next batch.

        Args:
            carry_out: carries out an operation and returns its answer.
            choose: chooses among so many operations, which may be carried out in any order.

        Raises:
            Refused: the run or `carry_out` refuses. The coordinator has ended then.
        """
        owner, place, operation = self.todo.pop(choose(len(self.todo)))
        try:
            answer = carry_out(operation)
        except Refused as refusal:
            self._end(owner, refusal)
            return
        self._answer(owner, place, answer)

    def run_to(self, kind: type[Operation], carry_out: CarryOut) -> None:
        """Go on until an operation of this kind is next, and stop before it."""
        while not any(isinstance(operation, kind) for *_, operation in self.todo):
            self.step(carry_out)
            assert not self.ended, f"ended without any {kind.__name__}"

    def step_all(self, carry_out: CarryOut) -> None:
        """Carry out the rest of the batch, and begin nothing further."""
        for *_, operation in self.todo:
            carry_out(operation)

    def finish(self, carry_out: CarryOut) -> Any:
        """Go on to the end. Return the result."""
        while not self.ended:
            self.step(carry_out)
        return self.result

    def _answer(self, owner: _Steps, place: int, answer: Any) -> None:
        owner.answers[place] = answer
        if len(owner.answers) == owner.expected:
            self._go_on(owner, [owner.answers[place] for place in range(owner.expected)])

    def _go_on(self, owner: _Steps, answers: list[Any] | None) -> None:
        """Begin the next batch, unless the steps end."""
        try:
            batch = next(owner.steps) if answers is None else owner.steps.send(answers)
            while not isinstance(batch, Each) and not batch:
                batch = owner.steps.send([])
        except StopIteration as stop:
            self._end(owner, stop.value)
        except Refused as refusal:
            self._end(owner, refusal)
        else:
            owner.answers = {}
            if isinstance(batch, Each):
                parts = list(batch.steps)
                owner.expected, owner.waiting = len(parts), iter(enumerate(parts))
                for _ in range(COUNTERS):
                    self._begin_next(owner)
                if not parts:
                    self._go_on(owner, [])
            else:
                owner.expected = len(batch)
                self.todo += [(owner, place, operation) for place, operation in enumerate(batch)]

    def _begin_next(self, owner: _Steps) -> None:
        for place, steps in owner.waiting:
            self._go_on(_Steps(steps, owner, place), None)
            return

    def _end(self, owner: _Steps, result: Any) -> None:
        """Hand the result of steps to those that wait for it. A refusal of the whole run is raised.

        Raises:
            Refused: the run is refused.
        """
        self.todo = [entry for entry in self.todo if entry[0] is not owner]
        owner.steps.close()
        if owner.parent is not None:
            self._begin_next(owner.parent)
            self._answer(owner.parent, owner.place, result)
            return
        self.ended = True
        if isinstance(result, Refused):
            raise result
        self.result = result


Answers = tuple[tuple[Any, ...], ...]
"""What a round has been answered so far, batch by batch."""


class Run(NamedTuple):
    """A coordinator between two batches."""

    name: str
    number: int
    """Of its round."""
    state: "Hashed | Outcome"
    """What this part of the round began with; the outcome if the coordinator has ended."""
    answers: Answers


class Hashed:
    """What a part of a round began with, as a value: what is known of items is a dictionary there."""

    __slots__ = ("_hash", "_key", "state")

    def __init__(self, state: Again | Looked) -> None:
        self.state = state
        known = state.known
        found = known and (known.register, tuple(known.items.items()), tuple(known.ids.items()))
        self._key = (type(state), state.record.accepted, found, state.created)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self._key == other._key


def begun(name: str, record: DeploymentRecord) -> Run:
    """Return a coordinator that begins to reconcile the counter `c`."""
    return Run(name, 0, Hashed(Again(record)), ())


@cache
def batch(run: Run) -> tuple[Operation, ...]:
    """Return the operations that a coordinator asks for next; none if it has ended."""
    return () if isinstance(run.state, Outcome) else tuple(_replayed(run)[0])


@cache
def after(run: Run, given: tuple[Any, ...]) -> Run:
    """Return the coordinator after the answers of a batch."""
    following = run._replace(answers=(*run.answers, given))
    while True:
        operations, end = _replayed(following)
        if end is None:
            assert operations
            return following
        number = run.number + isinstance(end, Again)
        following = Run(run.name, number, end if isinstance(end, Outcome) else Hashed(end), ())
        if isinstance(end, Outcome):
            return following


def _replayed(run: Run) -> tuple[Sequence[Operation], Again | Looked | Outcome | None]:
    assert isinstance(run.state, Hashed)
    state = run.state.state
    steps: Any = look_at("c", state) if isinstance(state, Again) else step(state, f"{run.name}/{run.number}")
    try:
        operations: Any = next(steps)
        for answers in run.answers:
            operations = steps.send(list(answers))
            while not operations:
                operations = steps.send([])
    except StopIteration as stop:
        return (), stop.value
    return operations, None


class Suspended(NamedTuple):
    """A coordinator within a batch: what the first operations of the batch have been answered."""

    run: Run
    given: tuple[Any, ...] = ()
