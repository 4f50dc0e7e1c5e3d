"""The alarms over what the coordinator really writes: its lines are recorded while tables are lost and runs fail."""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any
from unittest.mock import Mock

import pytest
from coordinate.handler import CoordinatorError
from coordinate.metrics import Metrics
from coordinate.protocol.model import Item
from coordinate.protocol.operations import ScanRegisters

from tests.components.aws_answers import ALARM, COMPOSITE
from tests.components.monitoring.evaluation import Series, composite, history
from tests.components.running import HOME, PREFIX, THREE, config
from tests.components.running import deploy as deploy_program
from tests.lambda_.coordinate.interrupted_runs import Crash, crash_before
from tests.lambda_.coordinator_calls import deploy, make_table, put_item, scheduled_run
from tests.lambda_.fixtures import Ask, Stack

OF_THE_WHOLE = ("unfinished", "ceiling", "lostTables", "failedRuns", "noRun")
START = 1_795_000_000
EVERY = 5


class Recording:
    """Runs of the coordinator at given minutes, and the alarms over what they have written."""

    def __init__(self, stack: Stack, capsys: pytest.CaptureFixture[str]) -> None:
        self._stack = stack
        self._capsys = capsys
        self._series = Series()
        stack.monkeypatch.setenv("STACK", PREFIX)
        stack.monkeypatch.setattr("coordinate.handler.METRICS", Metrics())
        self.at(0)
        deploy(window=100_000)
        self._read()

    def at(self, minute: float) -> None:
        """Let it be this minute."""
        self._stack.monkeypatch.setattr(time, "time", lambda: START + minute * 60)

    def scheduled_run(self, *minutes: float) -> None:
        """Let the schedule run at these minutes."""
        for minute in minutes:
            self.at(minute)
            with suppress(CoordinatorError):
                scheduled_run()
            self._read()

    def states(self, until: int) -> dict[str, list[str]]:
        """Return the states of the alarms of the whole at every minute, and of the composite alarm."""
        deployment = deploy_program(config(*THREE))
        made: dict[str, Mapping[str, Any]] = {
            key: deployment.one(ALARM, name=f"{PREFIX}-{key}").inputs for key in OF_THE_WHOLE
        }
        found = {key: history(alarm, self._series, until) for key, alarm in made.items()}
        rule = deployment.one(COMPOSITE).inputs["alarmRule"]
        each = ({f"{PREFIX}-{key}": states[minute] for key, states in found.items()} for minute in range(until + 1))
        return {**found, "any": [composite(rule, states) for states in each]}

    def _read(self) -> None:
        lines = [json.loads(line) for line in self._capsys.readouterr().err.splitlines()]
        self._series.read(HOME, lines, START)


@pytest.fixture
def recording(stack: Stack, capsys: pytest.CaptureFixture[str]) -> Recording:
    return Recording(stack, capsys)


def alarmed(states: Mapping[str, list[str]]) -> set[str]:
    return {key for key, of_key in states.items() if "ALARM" in of_key}


def test_an_ordinary_time_is_quiet(recording: Recording, ask: Ask) -> None:
    for minute in range(EVERY, 40, EVERY):
        ask("POST", "/?count=100")
        recording.scheduled_run(minute)

    assert alarmed(recording.states(40)) == set()


def test_a_lost_table_is_told_and_is_over_once_it_is_mended(recording: Recording, stack: Stack) -> None:
    recording.scheduled_run(5)
    stack.aws.client("dynamodb", "eu-west-1").delete_table(TableName=stack.counters)
    recording.scheduled_run(10, 15)
    make_table(stack.aws, "eu-west-1", stack.counters)
    recording.scheduled_run(20, 25, 30)

    states = recording.states(34)
    assert alarmed(states) == {"lostTables", "any"}
    assert "ALARM" not in states["any"][:10]
    assert set(states["any"][10:25]) == {"ALARM"}
    assert set(states["any"][25:]) == {"OK"}


def test_a_conflict_fails_every_run_until_it_is_solved(recording: Recording, stack: Stack) -> None:
    recording.scheduled_run(5)
    put_item(stack, "eu-west-1", Item(50, 3, 90, 7))
    recording.scheduled_run(10, 15, 20)

    states = recording.states(24)
    assert alarmed(states) == {"failedRuns", "any"}
    assert states["failedRuns"].index("ALARM") == 15


def test_an_unfinished_change_is_told_after_15_minutes(
    recording: Recording, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        crash_before(ScanRegisters, patch)
        with pytest.raises(Crash):
            deploy("us-west-2")  # admitted
    stack.aws.client("dynamodb", "us-west-2").delete_table(TableName=stack.counters)
    recording.scheduled_run(5, 10, 15, 20, 25)

    states = recording.states(29)
    assert alarmed(states) == {"unfinished", "failedRuns", "any"}
    assert states["unfinished"].index("ALARM") == 20, "the first run after 15 minutes"


def test_a_region_that_gets_nothing_more_is_told(
    recording: Recording, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No run raises a limit, for whatever reason."""
    monkeypatch.setattr("coordinate.protocol.plan.raised", Mock(return_value=None))
    for minute in range(EVERY, 30, EVERY):
        for _ in range(30):
            ask("POST", "/?count=1000")  # the window is 100,000
        recording.scheduled_run(minute)

    assert alarmed(recording.states(29)) == {"ceiling", "any"}


def test_a_schedule_that_stops_is_told(recording: Recording) -> None:
    recording.scheduled_run(5, 10)

    states = recording.states(40)
    assert alarmed(states) == {"noRun", "any"}
    assert states["noRun"].index("ALARM") == 10 + 3 * EVERY + 5
