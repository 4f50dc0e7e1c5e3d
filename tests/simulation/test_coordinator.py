"""A coordinator that a test stops between two operations."""

import pytest
from coordinate.model import Refused, Wish
from coordinate.operations import CreateRegister, OpenItem, PlaceItem, ReadItem

from simulation.coordinator import Coordinator
from simulation.world import World


def world() -> World:
    found = World(standing=("a", "b"))
    for region in ("a", "b"):
        found.make_table(region)
    return found


def coordinator(*regions: str) -> Coordinator:
    return Coordinator(Wish(regions or None), "token", headroom=2)


def test_it_stops_before_an_operation() -> None:
    tables, stopped = world(), coordinator("a", "b")
    stopped.run_to(CreateRegister, tables.carry_out)

    assert tables.register is None
    stopped.step(tables.carry_out)
    assert tables.register is not None


def test_it_never_stops_before_what_never_comes() -> None:
    tables = world()
    coordinator().finish(tables.carry_out)

    with pytest.raises(AssertionError, match="ended without any OpenItem"):
        coordinator().run_to(OpenItem, tables.carry_out)


def test_the_operations_of_a_batch_come_in_any_order() -> None:
    tables, stopped = world(), coordinator("a", "b")
    stopped.run_to(ReadItem, tables.carry_out)
    stopped.step(tables.carry_out, choose=lambda count: count - 1)

    assert [operation for _, operation in stopped.todo] == [ReadItem("a", "c")]


def test_the_rest_of_a_batch_is_carried_out_and_nothing_further() -> None:
    tables, late = world(), coordinator("a", "b")
    late.run_to(PlaceItem, tables.carry_out)
    late.step_all(tables.carry_out)

    items = [tables.tables[region].item for region in ("a", "b")]
    assert [item.opening for item in items if item] == ["token", "token"]


def test_it_finishes_with_the_register_that_is_settled() -> None:
    tables = world()

    assert coordinator().finish(tables.carry_out) == tables.register is not None


def test_it_has_ended_once_it_is_refused() -> None:
    tables, superseded = world(), coordinator("b")

    with pytest.raises(Refused, match="another deployment has since asked for a, b"):
        superseded.finish(tables.carry_out)
    assert superseded.ended
