"""Where a coordinator stands between two operations, as a value that can be compared.

A coordinator is a suspended generator, which Python can neither copy nor compare. But `settle` looks and takes a step
in turn, and either remembers nothing but what the other hands to it. So a coordinator is what its look or its step
began with, and what it has been answered since then.
"""

from collections.abc import Sequence
from functools import cache
from typing import Any, NamedTuple

from coordinate.model import Record
from coordinate.operations import Operation
from coordinate.protocol import Again, Looked, Outcome, look_at, step

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


class Turn(NamedTuple):
    """A coordinator within a batch: what the first operations of the batch have been answered."""

    run: Run
    given: tuple[Any, ...] = ()
