"""Where a coordinator stands between two operations, as a value that can be compared.

A coordinator is a suspended generator, which Python can neither copy nor compare. But a round of `settle` remembers
nothing of the rounds before except what they hand to it. So a coordinator is what its round began with, and what it
has been answered in this round.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from coordinate.model import Record
from coordinate.operations import Operation
from coordinate.protocol import Again, Outcome, settle_round

NOW = 1_000

Answers = tuple[tuple[Any, ...], ...]
"""What a round has been answered so far, batch by batch."""


class Run(NamedTuple):
    """A coordinator between two batches."""

    name: str
    number: int
    """Of its round."""
    state: "Again | Outcome | Hashed"
    """What the round began with; the outcome if the coordinator has ended."""
    answers: Answers


class Hashed:
    """What a round began with, as a value: what it knows of items is a dictionary there."""

    __slots__ = ("_hash", "_key", "state")

    def __init__(self, state: Again) -> None:
        self.state = state
        known = state.known
        found = known and (known.register, tuple(known.items.items()), tuple(known.ids.items()))
        self._key = (state.record.accepted, found, state.created)
        self._hash = hash(self._key)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Hashed) and self._key == other._key


def begun(name: str, record: Record) -> Run:
    """Return a coordinator that begins to settle the counter `c`."""
    return Run(name, 0, Hashed(Again(record)), ())


@cache
def batch(run: Run) -> tuple[Operation, ...]:
    """Return the operations that a coordinator asks for next; none if it has ended."""
    return () if isinstance(run.state, Outcome) else tuple(_replayed(run)[0])


@cache
def after(run: Run, given: tuple[Any, ...]) -> Run:
    """Return the coordinator after the answers of a batch."""
    answered = run._replace(answers=(*run.answers, given))
    _, end = _replayed(answered)
    if end is None:
        return answered
    return Run(run.name, run.number + 1, Hashed(end) if isinstance(end, Again) else end, ())


def _replayed(run: Run) -> tuple[Sequence[Operation], Again | Outcome | None]:
    assert isinstance(run.state, Hashed)
    steps = settle_round("c", f"{run.name}/{run.number}", run.state.state)
    try:
        operations: Any = next(steps)
        for answers in run.answers:
            operations = steps.send(list(answers))
            while not operations:
                operations = steps.send([])
    except StopIteration as stop:
        return (), stop.value
    return operations, None


class Turn(NamedTuple):
    """A coordinator within a batch: what the first operations of the batch have been answered."""

    run: Run
    given: tuple[Any, ...] = ()
