"""The world in memory does what DynamoDB does: the same random steps on both, every answer and record compared."""

from dataclasses import replace
from typing import Any

import pytest
from coordinate.encoding import item_values, register_attributes
from coordinate.model import Refused
from hypothesis import HealthCheck, Phase, given, settings

from integers.records import STANDING_KEY, issued_in, layouts_attribute, layouts_key, regions_attribute
from simulation.world import CONDITIONS, Table, World
from tests.lambda_.fixtures import Stack
from tests.simulation.operations import COUNTER, REGIONS, STEPS, WORLDS, WRITES, Step
from tests.simulation.tables import Records, Tables

EXAMPLES = 80
PATIENT = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    max_examples=EXAMPLES,
)
"""Each example puts its own records first, so all of them may share the tables."""


class Difference(AssertionError):
    """The world and DynamoDB differ."""


def compare(world: World, tables: Tables, steps: list[Step]) -> None:
    """Take the steps on both, beginning with what is in the world.

    Raises:
        Difference: an answer or a record differs.
    """
    tables.put(records(world))
    for name, argument in steps:
        expected, found = answer(tables, name, argument), answer(world, name, argument)
        if found != expected:
            raise Difference(f"{name} {argument}: DynamoDB answers {expected}, the world {found}")
    if records(world) != (kept := tables.records()):
        raise Difference(f"DynamoDB has {kept}, the world {records(world)}")


def answer(side: World | Tables, name: str, argument: Any) -> Any:
    try:
        return getattr(side, name)(argument)
    except Refused:
        return Refused


def records(world: World) -> Records:
    """Return what the world holds, as the records that DynamoDB would have."""
    layouts: dict[str, Any] = {}
    if world.register is not None:
        layouts[COUNTER] = register_attributes(world.register)
    if world.standing is not None:
        layouts[STANDING_KEY] = {"counter": {"S": STANDING_KEY}, "regions": regions_attribute(world.standing)}
    counters = {region: table_records(world.tables.get(region)) for region in REGIONS}
    return {**counters, "layouts": layouts}


def table_records(table: Table | None) -> dict[str, Any] | None:
    if table is None:
        return None
    found: dict[str, Any] = {}
    if table.item is not None:
        past = {issued_in(epoch): {"N": str(issued)} for epoch, issued in table.issued_in.items()}
        found[COUNTER] = {"counter": {"S": COUNTER}, **item_values(table.item), **past}
    if table.layouts:
        key, epoch = layouts_key(COUNTER), str(table.layouts[-1].epoch)
        found[key] = {"counter": {"S": key}, "epoch": {"N": epoch}, "layouts": layouts_attribute(table.layouts)}
    return found


def test_every_answer_and_every_record_is_the_same(stack: Stack) -> None:
    tables = Tables(stack)

    @PATIENT
    @given(WORLDS, STEPS)
    def same(world: World, steps: list[Step]) -> None:
        compare(world, tables, steps)

    same()


@pytest.mark.slow
def test_the_steps_meet_every_condition_both_ways() -> None:
    seen: set[tuple[str, bool]] = set()

    @settings(PATIENT, max_examples=400)
    @given(WORLDS, STEPS)
    def meet(world: World, steps: list[Step]) -> None:
        for name, argument in steps:
            found = answer(world, name, argument)
            if name == "mint":
                seen.add((name, found is not None))
            elif isinstance(found, bool):
                seen.add((type(argument).__name__, found))

    meet()
    assert seen == {(name, held) for name in ("mint", *(kind.__name__ for kind in WRITES)) for held in (True, False)}


@pytest.mark.parametrize("condition", CONDITIONS)
def test_a_condition_that_is_taken_out_is_a_difference(stack: Stack, condition: str) -> None:
    tables = Tables(stack)

    @settings(
        PATIENT,
        max_examples=1_000,
        derandomize=True,
        database=None,
        phases=[Phase.generate],
        report_multiple_bugs=False,
    )
    @given(WORLDS, STEPS)
    def same(world: World, steps: list[Step]) -> None:
        compare(replace(world, without=condition), tables, steps)

    with pytest.raises(Difference):
        same()


def test_a_condition_that_is_none_cant_be_taken_out() -> None:
    with pytest.raises(ValueError, match="is not a condition"):
        World(without="fence: full moon")
