"""One look at all tables: what is reconciled, what is urgent, and what no register knows. On tables in memory."""

from collections import Counter as Count
from dataclasses import replace
from typing import Any

from coordinate.protocol.model import Copy, Item, Register
from coordinate.protocol.operations import Operation
from coordinate.protocol.reconcile import TablesScan, scan_tables

from proof.simulation.coordinator import SimulatedCoordinator
from proof.simulation.world import SimulatedTable, World
from tests.lambda_.coordinate.sample_records import NOW, items_of, record, register


def world(*counters: str, **changes: Any) -> World:
    """Return a world in which the regions a and b have these counters."""
    world = World(tables={region: SimulatedTable(f"{region} 1") for region in "ab"})
    for counter in counters:
        add(world, replace(register("a", "b", **changes), counter=counter))
    return world


def add(world: World, register: Register) -> None:
    world.layouts.registers[register.counter] = register
    world.mirror.copies[register.counter] = Copy(register, "mirror 1")
    for region, item in items_of(register).items():
        world.tables[region].items[register.counter] = item


def change(world: World, region: str, counter: str, **changes: Any) -> None:
    items = world.tables[region].items
    items[counter] = replace(items[counter], **changes)


def read_items(world: World, counters: list[str] | None = None) -> TablesScan:
    asked = record("a", "b", counters=counters or [*world.layouts.registers])
    return SimulatedCoordinator(scan_tables(asked)).finish(world.carry_out)


def test_what_is_reconciled_needs_no_call_of_its_own() -> None:
    operations: list[Operation] = []
    seen = world(*(f"c{n}" for n in range(50)))

    def carry_out(operation: Operation) -> Any:
        operations.append(operation)
        return seen.carry_out(operation)

    found = SimulatedCoordinator(scan_tables(record("a", "b", counters=["c1"]))).finish(carry_out)

    assert (len(found.reconciled), found.unreconciled, found.unknown) == (50, {}, {})
    assert Count(type(operation).__name__ for operation in operations) == {
        "ScanRegisters": 1,
        "ScanCopies": 1,
        "DescribeLayouts": 1,
        "DescribeMirror": 1,
        "ScanItems": 2,
        "DescribeTable": 2,
        "ReadRecorded": 2,
        "Clock": 1,
    }


def test_a_counter_without_a_register_or_a_copy_is_unreconciled() -> None:
    seen = world("-check", "here", "elsewhere", "uncopied", "lost")
    seen.layouts.registers["elsewhere"] = replace(seen.layouts.registers["elsewhere"], layouts_id="layouts 0")
    del seen.mirror.copies["uncopied"]
    del seen.layouts.registers["lost"]

    found = read_items(seen, counters=["new", "here"])
    assert {*found.reconciled} == {"here", "-check"}
    assert {*found.unreconciled} == {"elsewhere", "uncopied", "lost", "new"}
    assert found.unknown == {}

    seen.tables["a"] = SimulatedTable("a 2")
    assert [*read_items(seen).unreconciled][-1] == "-check", "until it is there, the table is new to callers"


def test_what_cannot_be_minted_comes_first_then_old_grants() -> None:
    seen = world("fine")
    for n, counter in enumerate(("young", "old", "middle")):
        add(seen, replace(register("a", "b", granted=NOW - (10, 1000, 100)[n]), counter=counter))
        change(seen, "b", counter, ceiling=700)
    add(seen, replace(register("a", "b"), counter="fenced"))
    change(seen, "a", "fenced", fenced=True)

    assert tuple(read_items(seen).unreconciled) == ("fenced", "old", "middle", "young")


def test_an_unreachable_region_is_pending_and_not_urgent() -> None:
    seen = world("c", "raised")
    change(seen, "a", "raised", ceiling=700)
    seen.unreachable = {"b"}

    found = read_items(seen)
    assert found.reconciled["c"].pending == ("b",)
    assert tuple(found.unreconciled) == ("raised",)


def test_regions_of_registers_are_looked_at_too() -> None:
    seen = world("c")
    asked = record("a", counters=["c"])

    found = SimulatedCoordinator(scan_tables(asked)).finish(seen.carry_out)
    assert tuple(found.unreconciled) == ("c",)


def test_what_cannot_be_read_is_told_and_stops_nobody() -> None:
    seen = world("c")
    seen.stray = {"layouts", "mirror", "b"}

    found = read_items(seen)
    assert found.stray == {"ordrs": ("layouts", "mirror", "b")}
    assert ({*found.reconciled}, found.unreconciled, found.unknown) == ({"c"}, {}, {})


def test_a_register_that_cannot_be_read_concerns_its_counter() -> None:
    seen = world("c")
    seen.stray = {"layouts"}
    copied = replace(register("a", "b"), counter="ordrs")
    seen.mirror.copies["ordrs"] = Copy(copied, "mirror 1")

    found = read_items(seen, counters=["c"])
    assert ({*found.reconciled}, found.unreconciled) == ({"c"}, {"ordrs": None})


def test_a_register_that_cannot_be_read_of_a_counter_that_regions_have() -> None:
    seen = world("c")
    seen.stray = {"layouts"}
    seen.tables["a"].items["ordrs"] = Item(1, 2, 3, 1)

    found = read_items(seen, counters=["c"])
    assert (found.unreconciled, found.unknown) == ({"ordrs": None}, {}), "it is refused, and not forgotten"


def test_unknown_counters_are_told_with_their_regions() -> None:
    seen = world("c")
    for region in "ab":
        seen.tables[region].items["ghost"] = Item(1, 2, 3, 1)
    seen.tables["b"].items["other"] = Item(1, 2, 3, 1)

    found = read_items(seen)
    assert found.unknown == {"ghost": ("a", "b"), "other": ("b",)}
    assert {*found.reconciled} == {"c"}
