"""A coordinator that a test stops between two operations."""

from typing import Any

from coordinate.protocol.model import DeploymentRecord
from coordinate.protocol.operations import Operation, ReadItem, WriteRegister
from coordinate.protocol.reconcile import reconcile

from proof.simulation.coordinator import Conflict, SimulatedCoordinator
from proof.simulation.deployments import decoded, desired
from proof.simulation.world import World
from tests.lambda_.coordinate.interrupted_runs import run_to


def world(*regions: str) -> World:
    found = World()
    for region in ("a", "b"):
        found.make_table(region)
    found.record = DeploymentRecord("layouts 1", "one", 1, "", 1_000, decoded(desired(regions)))
    return found


def coordinator() -> SimulatedCoordinator:
    record = world("a", "b").record
    assert record is not None
    return SimulatedCoordinator(reconcile("c", "token", record))


def test_the_operations_of_a_batch_come_in_any_order() -> None:
    tables, stopped = world("a", "b"), coordinator()
    run_to(stopped, ReadItem, tables.carry_out)
    stopped.step(tables.carry_out, choose=lambda count: count - 1)

    assert [operation for *_, operation in stopped.todo] == [ReadItem("a", "c")]


def test_what_meets_another_write_is_tried_again() -> None:
    tables, conflicting = world("a", "b"), coordinator()
    met: list[Operation] = []

    def carry_out(operation: Operation) -> Any:
        if isinstance(operation, WriteRegister) and operation not in met:
            met.append(operation)
            raise Conflict
        return tables.carry_out(operation)

    assert conflicting.finish(carry_out).created
    assert len(met) == 2
    assert tables.registers["c"].epoch == 1
