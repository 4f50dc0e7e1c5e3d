"""Runs of the coordinator that end too early, and the operations of a run."""

from collections.abc import Callable
from typing import Any

import pytest
from coordinate.dynamodb.run_lock import RunLock
from coordinate.dynamodb.store import Store
from coordinate.protocol.operations import CarryOut, Operation

from proof.simulation.coordinator import SimulatedCoordinator, changes_nothing


class Crash(Exception):
    """The function's process ended."""


def crash_before(kind: type[Operation], patch: pytest.MonkeyPatch) -> None:
    """Let the coordinator end when its next operation is of this kind."""

    def crash(operation: Operation) -> None:
        if isinstance(operation, kind):
            raise Crash

    _before_each(crash, patch)


def run_to(run: SimulatedCoordinator, kind: type[Operation], carry_out: CarryOut) -> None:
    """Let a simulated run go on until an operation of this kind is next, and stop before it.

    What writes a register or its copy as it is, before any fence, isn't meant.
    """
    while not any(isinstance(operation, kind) and not changes_nothing(operation) for *_, operation in run.todo):
        run.step(carry_out)
        assert not run.ended, f"ended without any {kind.__name__}"


def step_all(run: SimulatedCoordinator, carry_out: CarryOut) -> None:
    """Let a simulated run carry out the rest of its batch, and begin nothing further."""
    for *_, operation in run.todo:
        carry_out(operation)


def recorded(patch: pytest.MonkeyPatch) -> list[Operation]:
    """Return a list that gets every operation."""
    operations: list[Operation] = []
    _before_each(operations.append, patch)
    return operations


def keep_the_run_lock(patch: pytest.MonkeyPatch) -> None:
    """Let no run give its run lock back, as if it were killed before."""

    def give_back(_: RunLock) -> None:
        pass

    patch.setattr(RunLock, "give_back", give_back)


def short_of_time(counters: int) -> Callable[[], int]:
    """Return the time left of a run that may begin so many counters."""
    left = [60_000 + 500 * (counters + 2)]  # it asks once for the deadline of its calls

    def remaining() -> int:
        left[0] -= 500
        return left[0]

    return remaining


def _before_each(do: Callable[[Operation], None], patch: pytest.MonkeyPatch) -> None:
    real = Store.carry_out

    def carry_out(self: Store, operation: Operation) -> Any:
        do(operation)
        return real(self, operation)

    patch.setattr(Store, "carry_out", carry_out)
