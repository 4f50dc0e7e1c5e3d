"""A coordinator that a test stops between two operations."""

from typing import Any

import pytest
from coordinate.protocol.model import DeploymentRecord, Refused
from coordinate.protocol.operations import OpenItem, Operation, PutItem, ReadItem, WriteRegister
from coordinate.protocol.reconcile import Outcome, reconcile

from proof.simulation.coordinator import Conflict, SimulatedCoordinator
from proof.simulation.deployments import decoded, desired
from proof.simulation.world import World
from tests.lambda_.coordinate.interrupted_runs import run_to, step_all


def world(*regions: str) -> World:
    found = World()
    for region in ("a", "b"):
        found.make_table(region)
    found.layouts.record = DeploymentRecord("layouts 1", "one", 1, "", 1_000, decoded(desired(regions)), "c")
    return found


def coordinator() -> SimulatedCoordinator:
    record = world("a", "b").layouts.record
    assert record is not None
    return SimulatedCoordinator(reconcile("c", "token", record))


def test_it_stops_before_an_operation() -> None:
    tables, stopped = world("a", "b"), coordinator()
    run_to(stopped, WriteRegister, tables.carry_out)

    assert tables.layouts.registers == {}
    stopped.step(tables.carry_out)
    assert tables.layouts.registers["c"].epoch == 1


def test_it_never_stops_before_what_never_comes() -> None:
    tables = world("a", "b")
    coordinator().finish(tables.carry_out)

    with pytest.raises(AssertionError, match="ended without any OpenItem"):
        run_to(coordinator(), OpenItem, tables.carry_out)


def test_the_operations_of_a_batch_come_in_any_order() -> None:
    tables, stopped = world("a", "b"), coordinator()
    run_to(stopped, ReadItem, tables.carry_out)
    stopped.step(tables.carry_out, choose=lambda count: count - 1)

    assert [operation for *_, operation in stopped.todo] == [ReadItem("a", "c")]


def test_the_rest_of_a_batch_is_carried_out_and_nothing_further() -> None:
    tables, late = world("a", "b"), coordinator()
    run_to(late, PutItem, tables.carry_out)
    step_all(late, tables.carry_out)

    items = [tables.tables[region].items["c"] for region in ("a", "b")]
    assert [item.opening for item in items] == ["token/1", "token/1"]


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
    assert tables.layouts.registers["c"].epoch == 1


def test_it_finishes_with_what_it_returns() -> None:
    tables = world("a", "b")
    result = coordinator().finish(tables.carry_out)

    assert result == Outcome(tables.layouts.registers["c"], pending=(), created=True)


def test_it_has_ended_once_it_is_refused() -> None:
    tables, refused = World(), coordinator()

    with pytest.raises(Refused, match="nothing is deployed yet"):
        refused.finish(tables.carry_out)
    assert refused.ended
