"""The world in memory does what DynamoDB does: the same random steps on both, every answer and record compared."""

from dataclasses import replace

import pytest
from coordinate.protocol.operations import RecordLayouts
from hypothesis import HealthCheck, Phase, given, settings

from global_integers_core.lattice import Layout
from proof.simulation.world import CONDITIONS, World
from tests.lambda_.coordinator_calls import HOME
from tests.lambda_.fixtures import Stack
from tests.proof.simulation.random_operations import COUNTER, REGIONS, STEPS, WORLDS, WRITES, Step
from tests.proof.simulation.tables import Records, Tables

EXAMPLES = 80
PATIENT = settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=EXAMPLES
)
"""Each example puts its own records first, so all of them may share the tables."""

QUICKLY = ("copy: unchanged", "open: own token")
"""Conditions whose absence few examples show."""


class Difference(AssertionError):
    """The world and DynamoDB differ."""


def compare(world: World, tables: Tables, steps: list[Step]) -> None:
    """Take the steps on both, beginning with what is in the world.

    Raises:
        Difference: an answer or a record differs.
    """
    tables.put(records(world))
    tables.name_ids(world)
    for name, arguments in steps:
        expected, found = getattr(tables, name)(*arguments), getattr(world, name)(*arguments)
        if name == "make_table":
            tables.name_ids(world)
        if found != expected:
            raise Difference(f"{name} {arguments}: DynamoDB answers {expected}, the world {found}")
    if records(world) != (stored := tables.records()):
        raise Difference(f"DynamoDB has {stored}, the world {records(world)}")


def records(world: World) -> Records:
    """Return what the world holds, as the records that DynamoDB would have."""
    found = {name: world.tables[name].records() if name in world.tables else None for name in REGIONS}
    receipts = {f"receipts {region}": world.receipts.get(region) for region in REGIONS}
    home = {"layouts": world.layouts, "mirror": world.mirror, "archive": world.archive}
    return found | {name: table and table.records() for name, table in {**receipts, **home}.items()}


@pytest.mark.parametrize("examples", [20, pytest.param(EXAMPLES, marks=pytest.mark.long)])
def test_every_answer_and_every_record_is_the_same(quick_stack: Stack, examples: int) -> None:
    tables = Tables(quick_stack)

    @settings(PATIENT, max_examples=examples)
    @given(WORLDS, STEPS)
    def same(world: World, steps: list[Step]) -> None:
        compare(world, tables, steps)

    same()


@pytest.mark.parametrize(
    ("over", "expected"), [(1, {}), (2, {}), (3, {3: 9}), (4, {4: 9}), (41, {41: 9}), (42, {1: 7, 42: 9})]
)
def test_what_was_issued_long_ago_is_dropped(quick_stack: Stack, over: int, expected: dict[int, int]) -> None:
    """In the epoch 43, of which 40 past ones are kept, what was issued in the epoch 1 was on record."""
    world = World()
    for region in REGIONS:
        world.make_table(region)
    histories = [tuple(Layout(epoch, 10 * epoch, REGIONS) for epoch in range(1, last + 1)) for last in (2, 43)]
    records = [
        RecordLayouts(HOME, COUNTER, histories[0], (1, 7)),
        RecordLayouts(HOME, COUNTER, histories[1], (over, 9)),
    ]
    compare(world, Tables(quick_stack), [("carry_out", (record,)) for record in records])

    assert world.receipts[HOME].recorded[COUNTER].issued == expected


@pytest.mark.long
def test_the_steps_meet_every_condition_both_ways() -> None:
    seen: set[tuple[str, bool]] = set()

    @settings(PATIENT, max_examples=400, derandomize=True, database=None)
    @given(WORLDS, STEPS)
    def meet(world: World, steps: list[Step]) -> None:
        for name, arguments in steps:
            found = getattr(world, name)(*arguments)
            if name in ("mint", "mint_block"):
                seen.add((name, bool(found)))
            elif isinstance(found, bool | int) and type(arguments[0]) in WRITES:
                seen.add((type(arguments[0]).__name__, found is not False))

    meet()
    assert seen == {
        (name, held) for name in ("mint", "mint_block", *(kind.__name__ for kind in WRITES)) for held in (True, False)
    }


@pytest.mark.parametrize(
    "condition", [name if name in QUICKLY else pytest.param(name, marks=pytest.mark.long) for name in CONDITIONS]
)
def test_a_condition_that_is_taken_out_is_a_difference(quick_stack: Stack, condition: str) -> None:
    tables = Tables(quick_stack)

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
