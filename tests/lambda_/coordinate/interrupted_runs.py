"""Runs of the coordinator that end too early, and the operations of a run."""

from collections.abc import Callable
from typing import Any

import pytest
from coordinate.dynamodb.store import Store
from coordinate.protocol.operations import CarryOut, Operation

from proof.simulation.coordinator import SimulatedCoordinator, changes_nothing


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
    real = Store.carry_out

    def carry_out(self: Store, operation: Operation) -> Any:
        operations.append(operation)
        return real(self, operation)

    patch.setattr(Store, "carry_out", carry_out)
    return operations


def short_of_time(counters: int) -> Callable[[], int]:
    """Return the time left of a run that may begin so many counters."""
    left = [60_000 + 500 * (counters + 2)]  # it asks once for the deadline of its calls

    def remaining() -> int:
        left[0] -= 500
        return left[0]

    return remaining
