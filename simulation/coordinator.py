"""A coordinator that can be stopped between any two operations, so that it can race, be late or crash."""

from collections.abc import Callable, Generator, Sequence
from typing import Any

from coordinate.operations import Operation

CarryOut = Callable[[Operation], Any]
Steps = Generator[Sequence[Operation], Sequence[Any], Any]


class Coordinator:
    """A run of the protocol, an operation at a time. It crashes by never being asked to go on."""

    def __init__(self, steps: Steps, name: str = "") -> None:
        """Begin.

        Args:
            steps: what it does: `settle`, `accept`, or a whole `run`.
            name: what a reader calls it.
        """
        self.name = name
        self._steps = steps
        self.todo: list[tuple[int, Operation]] = []
        """The operations of the present batch that are not carried out yet, each with its place in the batch."""
        self._answers: list[Any] = []
        self.ended = False
        self.result: Any = None
        """What the run returned, once it has."""
        self._begin_batch(None)

    def step(self, carry_out: CarryOut, choose: Callable[[int], int] = lambda _: 0) -> None:
        """Carry out one operation; after the last one of a batch, begin the next batch.

        Args:
            carry_out: carries out an operation and returns its answer.
            choose: chooses among so many operations, which may be carried out in any order.

        Raises:
            Refused: the run or `carry_out` refuses. The coordinator has ended then.
        """
        index, operation = self.todo.pop(choose(len(self.todo)))
        try:
            self._answers[index] = carry_out(operation)
            if not self.todo:
                self._begin_batch(self._answers)
        except Exception:
            self.ended = True
            raise

    def run_to(self, kind: type[Operation], carry_out: CarryOut) -> None:
        """Go on until an operation of this kind is next, and stop before it."""
        while not any(isinstance(operation, kind) for _, operation in self.todo):
            self.step(carry_out)
            assert not self.ended, f"ended without any {kind.__name__}"

    def step_all(self, carry_out: CarryOut) -> None:
        """Carry out the rest of the batch, and begin nothing further."""
        for _, operation in self.todo:
            carry_out(operation)

    def finish(self, carry_out: CarryOut) -> Any:
        """Go on to the end. Return the result."""
        while not self.ended:
            self.step(carry_out)
        return self.result

    def _begin_batch(self, answers: list[Any] | None) -> None:
        try:
            batch = next(self._steps) if answers is None else self._steps.send(answers)
            while not batch:
                batch = self._steps.send([])
        except StopIteration as stop:
            self.ended, self.result = True, stop.value
            return
        self.todo = list(enumerate(batch))
        self._answers = [None] * len(batch)
