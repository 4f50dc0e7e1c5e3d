"""A coordinator that can be stopped between any two operations, so that it can race, be late or crash."""

from collections.abc import Callable
from typing import Any

from coordinate.model import Register, Wish
from coordinate.operations import Operation
from coordinate.protocol import settle

CarryOut = Callable[[Operation], Any]


class Coordinator:
    """One run of `settle`, an operation at a time. It crashes by never being asked to go on."""

    def __init__(self, wish: Wish, token: str, headroom: int, counter: str = "c") -> None:
        self._steps = settle(counter, wish, token, headroom)
        self.todo: list[tuple[int, Operation]] = []
        """The operations of the present batch that are not carried out yet, each with its place in the batch."""
        self._answers: list[Any] = []
        self.ended = False
        self.settled: Register | None = None
        """The register that `settle` returned, once it has."""
        self._begin_batch(None)

    def step(self, carry_out: CarryOut, choose: Callable[[int], int] = lambda _: 0) -> None:
        """Carry out one operation; after the last one of a batch, begin the next batch.

        Args:
            carry_out: carries out an operation and returns its answer.
            choose: chooses among so many operations, which may be carried out in any order.

        Raises:
            Refused: `settle` or `carry_out` refuses. The coordinator has ended then.
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

    def finish(self, carry_out: CarryOut) -> Register | None:
        """Go on to the end. Return the register that was settled."""
        while not self.ended:
            self.step(carry_out)
        return self.settled

    def _begin_batch(self, answers: list[Any] | None) -> None:
        try:
            batch = next(self._steps) if answers is None else self._steps.send(answers)
            while not batch:
                batch = self._steps.send([])
        except StopIteration as stop:
            self.ended, self.settled = True, stop.value
            return
        self.todo = list(enumerate(batch))
        self._answers = [None] * len(batch)
