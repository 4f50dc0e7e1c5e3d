"""The log has one line for each phase of a counter."""

import json
from typing import Any

import pytest
from coordinate.log import log_change
from coordinate.protocol.operations import DescribeLayouts, Operation, WriteRegister

from proof.simulation.world import World
from tests.lambda_.coordinate.sample_records import NOW, record, register


def lines(capsys: pytest.CaptureFixture[str]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in capsys.readouterr().err.splitlines()]


def carry_out(world: World, operation: Operation) -> Any:
    answer = world.carry_out(operation)
    log_change(operation, answer)
    return answer


def test_each_phase_is_logged(capsys: pytest.CaptureFixture[str]) -> None:
    begun = register("a", "b", epoch=1, base=1, ids=(None, None))
    joined = register("a", "b", epoch=1, base=1)
    granted = register("a", "b", epoch=1, base=1, limit=5000)
    following = register("a", epoch=2, base=5001)
    elsewhere = register("a", epoch=2, base=5001, layouts_id="layouts 2")
    lost = register("a", epoch=NOW, base=5001, layouts_id="layouts 2", lost="loss-1")
    recovered = register("a", epoch=NOW + 1, base=9001, layouts_id="layouts 2")
    deleted = register(epoch=NOW + 2, base=9001, layouts_id="layouts 2")
    again = register("a", epoch=NOW + 3, base=9001, layouts_id="layouts 2")
    states = (begun, joined, granted, following, elsewhere, lost, recovered, deleted, again)
    world = World()
    world.record = record("a", "b")

    for old, new in zip((None, *states), states, strict=False):
        assert carry_out(world, WriteRegister(old, new, record("a", "b").admitted))
    carry_out(world, DescribeLayouts())

    found = lines(capsys)
    assert [(line["phase"], line["epoch"], line["limit"]) for line in found] == [
        ("created", 1, 2000),
        ("joined", 1, 2000),
        ("granted", 1, 5000),
        ("begun", 2, 6000),
        ("put back", 2, 6000),
        ("lost", NOW, 6000),
        ("begun", NOW + 1, 10_000),
        ("deleting", NOW + 2, 9000),
        ("created", NOW + 3, 10_000),
    ]
    assert found[0]["regions"] == ["a", "b"]
    assert {(line["level"], line["counter"]) for line in found} == {("INFO", "c")}


def test_what_changes_nothing_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    """A register is written as it is before a fence, and a condition may have failed."""
    world, admitted = World(), record("a").admitted
    world.record = record("a")
    assert carry_out(world, WriteRegister(None, register("a", epoch=3), admitted))
    assert [line["phase"] for line in lines(capsys)] == ["put back"]

    assert carry_out(world, WriteRegister(register("a"), register("a"), admitted))
    assert not carry_out(world, WriteRegister(register("a", granted=0), register("a", granted=1), admitted))
    assert not carry_out(world, WriteRegister(register("a"), register("b"), record("a", number=2).admitted))
    assert lines(capsys) == []
