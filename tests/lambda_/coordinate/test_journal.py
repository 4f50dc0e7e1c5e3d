"""The log has one line for each phase of a counter."""

import json

import pytest
from coordinate.journal import journal
from coordinate.model import Wish

from simulation.coordinator import Coordinator
from simulation.world import World


def test_each_phase_is_logged_once(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    for regions in (("a",), ("a", "b")):
        for region in regions:
            world.make_table(region)
        world.stand(regions)
        Coordinator(Wish(regions), "token", headroom=2).finish(journal(world.carry_out))

    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["phase"], line["epoch"], line["base"], line["regions"]) for line in lines] == [
        ("created", 1, 1, ["a"]),
        ("opened", 1, 1, ["a"]),
        ("decided", 1, 1, ["a"]),
        ("fenced", 2, 3, ["a", "b"]),
        ("opened", 2, 3, ["a", "b"]),
    ]
    assert [line.get("next") for line in lines] == [None, None, {"regions": ["a", "b"], "floor": 0}, None, None]
    assert {(line["level"], line["counter"]) for line in lines} == {("INFO", "c")}


def test_a_write_whose_condition_failed_is_not_logged(capsys: pytest.CaptureFixture[str]) -> None:
    world = World()
    world.make_table("a")
    world.stand(("a",))
    first, second = (Coordinator(Wish(("a",)), token, headroom=2) for token in ("one", "two"))
    for _ in range(3):  # both have read that there is no register
        first.step(journal(world.carry_out))
        second.step(journal(world.carry_out))
    first.finish(journal(world.carry_out))
    second.finish(journal(world.carry_out))

    assert [json.loads(line)["phase"] for line in capsys.readouterr().err.splitlines()] == ["created", "opened"]
