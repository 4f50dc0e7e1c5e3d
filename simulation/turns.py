"""Where a coordinator stands between two operations, as a value that can be compared."""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from coordinate.operations import Operation
from coordinate.protocol import Outcome, settle

from .snapshot import Snapshot, snapshot

NOW = 1_000

Answers = tuple[tuple[Any, ...], ...]
"""What a coordinator has been answered so far, batch by batch. All that it does follows from that."""


class Run:
    """A coordinator between two batches. Runs that go on in the same way are equal, whatever answers they got."""

    def __init__(self, name: str, answers: Answers) -> None:
        self.name = name
        self.answers = answers
        self.batch: Sequence[Operation] = ()
        """The operations that it asks for next; none if it has ended."""
        steps = settle("c", name, NOW)
        try:
            batch = next(steps)
            for answer in answers:
                batch = steps.send(list(answer))
                while not batch:
                    batch = steps.send([])
            self.batch = tuple(batch)
            self.key: tuple[str, Snapshot | Outcome] = (name, snapshot(steps))
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
