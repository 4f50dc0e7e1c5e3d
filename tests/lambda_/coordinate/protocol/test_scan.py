"""One look at all tables: what is reconciled, what is urgent, and what can't be read. On tables in memory."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.protocol.model import Copy, Item, Register
from coordinate.protocol.scan import TablesScan, scan_tables

from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import World
from tests.lambda_.coordinate.sample_records import NOW, items_of, record, register


def world(*counters: str) -> World:
    """Return a world in which the regions a and b have these counters."""
    world = World()
    for region in "ab":
        world.make(region, f"{region} 1")
    for counter in counters:
        add(world, register("a", "b", counter=counter))
    return world


def add(world: World, register: Register) -> None:
    world.registers[register.counter] = register
    world.copies[register.counter] = Copy(register, "mirror 1")
    for region, item in items_of(register).items():
        world.items(region)[register.counter] = item


def change(world: World, region: str, counter: str, **changes: Any) -> None:
    items = world.items(region)
    items[counter] = replace(items[counter], **changes)


def read_items(world: World, counters: list[str] | None = None) -> TablesScan:
    asked = record("a", "b", counters=counters or [*world.registers])
    return SimulatedCoordinator(scan_tables(replace(asked, reconciled=True))).finish(world.carry_out)


def test_a_counter_without_a_register_or_a_copy_is_unreconciled() -> None:
    seen = world("-check", "here", "elsewhere", "uncopied", "lost")
    seen.registers["elsewhere"] = replace(seen.registers["elsewhere"], layouts_id="layouts 0")
    del seen.copies["uncopied"]
    del seen.registers["lost"]

    found = read_items(seen, counters=["new", "here"])
    assert {*found.reconciled} == {"here", "-check"}
    assert {*found.unreconciled} == {"elsewhere", "uncopied", "lost", "new"}


def test_what_cannot_be_minted_comes_first_then_old_grants() -> None:
    seen = world("fine")
    for n, counter in enumerate(("young", "old", "middle")):
        add(seen, replace(register("a", "b", granted=NOW - (10, 1000, 100)[n]), counter=counter))
        change(seen, "b", counter, ceiling=700)
    add(seen, register("a", "b", counter="fenced"))
    change(seen, "a", "fenced", fenced=True)

    assert tuple(read_items(seen).unreconciled) == ("fenced", "old", "middle", "young")


def test_an_unreachable_region_is_pending_and_not_urgent() -> None:
    seen = world("c", "raised")
    change(seen, "a", "raised", ceiling=700)
    seen.unreachable = {"b"}

    found = read_items(seen)
    assert found.reconciled["c"].pending == ("b",)
    assert (tuple(found.unreconciled), found.broken) == (("raised",), ())


@pytest.mark.parametrize(("stray", "left"), [(True, "copy"), (True, "item"), (False, "item")])
def test_what_is_left_of_a_counter_shows_that_it_is_lost(stray: bool, left: str) -> None:
    """What can't be read of it concerns it, then."""
    seen = world("c")
    if stray:
        seen.spoil("layouts")
    if left == "copy":
        seen.copies["ordrs"] = Copy(register("a", "b", counter="ordrs"), "mirror 1")
    else:
        seen.items("a")["ordrs"] = Item(1, 2, 3, 1)

    found = read_items(seen, counters=["c"])
    assert ({*found.reconciled}, found.unreconciled) == ({"c"}, {"ordrs": None})
