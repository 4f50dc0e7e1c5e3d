"""A coordinator that can be stopped between any two operations, so that it can race, be late or crash."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from coordinate.protocol.model import Refused
from coordinate.protocol.operations import CarryOut, Operation, Parallel, Steps, WriteCopy, WriteRegister

COUNTERS = 2
"""How many counters a run has in progress at the same time."""


class Conflict(Exception):
    """Nothing was written, because another write of the same item was under way."""


@dataclass(eq=False)
class _Steps:
    steps: Steps[Any]
    parent: "_Steps | None" = None
    index: int = 0
    """The index of the result among the parent's answers."""
    answers: dict[int, Any] = field(default_factory=dict[int, Any])
    expected: int = 0
    waiting: Iterator[tuple[int, Steps[Any]]] = field(default_factory=lambda: iter(()))
    """Steps of a `Parallel` that are not begun yet."""


def changes_nothing(operation: Operation) -> bool:
    """Return whether a register or its copy is written as it is, to see whether it can be written."""
    return isinstance(operation, WriteRegister | WriteCopy) and operation.old == operation.new


class SimulatedCoordinator:
    """A run of the protocol in a home region, an operation at a time. It crashes by never being asked to go on."""

    def __init__(self, steps: Steps[Any], home: str = "") -> None:
        self.home = home
        self.todo: list[tuple[_Steps, int, Operation]] = []
        """The operations that may be carried out next, in any order: whose they are, their index in the batch."""
        self.ended = False
        self.result: Any = None
        """In the end, what it returned or why it was refused."""
        self._go_on(_Steps(steps), None)

    def step(self, carry_out: CarryOut, choose: Callable[[int], int] = lambda _: 0) -> None:
        """Carry out one operation, chosen among so many; after the last one of a batch, begin the next batch.

        If the run or `carry_out` refuses, the coordinator has ended, and `Refused` is raised.
        """
        owner, index, operation = self.todo.pop(choose(len(self.todo)))
        try:
            answer = carry_out(operation)
        except Conflict:
            self.todo.append((owner, index, operation))  # it is tried again, after other operations
            return
        except Refused as refusal:
            self._end(owner, refusal)
            return
        self._answer(owner, index, answer)

    def finish(self, carry_out: CarryOut) -> Any:
        """Go on to the end. Return the result."""
        while not self.ended:
            self.step(carry_out)
        return self.result

    def _answer(self, owner: _Steps, index: int, answer: Any) -> None:
        owner.answers[index] = answer
        if len(owner.answers) == owner.expected:
            self._go_on(owner, [owner.answers[index] for index in range(owner.expected)])

    def _go_on(self, owner: _Steps, answers: list[Any] | None) -> None:
        try:
            batch = next(owner.steps) if answers is None else owner.steps.send(answers)
            while not isinstance(batch, Parallel) and not batch:
                batch = owner.steps.send([])
        except (StopIteration, Refused) as end:
            self._end(owner, end.value if isinstance(end, StopIteration) else end)
        else:
            owner.answers = {}
            if isinstance(batch, Parallel):
                parts = list(batch.steps)
                owner.expected, owner.waiting = len(parts), iter(enumerate(parts))
                for _ in range(COUNTERS):
                    self._begin_next(owner)
                if not parts:
                    self._go_on(owner, [])
            else:
                owner.expected = len(batch)
                self.todo += [(owner, index, operation) for index, operation in enumerate(batch)]

    def _begin_next(self, owner: _Steps) -> None:
        for index, steps in owner.waiting:
            self._go_on(_Steps(steps, owner, index), None)
            return

    def _end(self, owner: _Steps, result: Any) -> None:
        """Hand the result of steps to those that wait for it. A refusal of the whole run is raised."""
        self.todo = [entry for entry in self.todo if entry[0] is not owner]
        owner.steps.close()
        if owner.parent is not None:
            self._begin_next(owner.parent)
            self._answer(owner.parent, owner.index, result)
            return
        self.ended, self.result = True, result
        if isinstance(result, Refused):
            raise result
