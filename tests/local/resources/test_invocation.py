"""Calls at deploy time: what fails or is killed leaves no trace in the state, so the next `up` finds out by itself."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from local.aws_clients import Aws
from local.engine.program import Registration
from local.paths import ROOT, LocalError
from tests.local.recorder import RECORDER
from tests.local.registrations import function, invocation, role, table, up

ONE: dict[str, Any] = {"number": 1}
TWO: dict[str, Any] = {"number": 2}
FAILING: dict[str, Any] = {"number": 3, "fail": "a region is unreachable"}


@dataclass
class Asking:
    """A function that is called at every deployment that changes its event, and what it was asked."""

    aws: Aws
    name: str
    file: Path

    def parts(self, event: Mapping[str, Any] | None) -> list[Registration]:
        asked = function(self.name, RECORDER.read_text(), {"CALLS": str(self.file)}, timeout=60)
        return [role(self.name), asked, *([] if event is None else [invocation(self.name, event)])]

    def up(self, event: Mapping[str, Any] | None, *more: Registration) -> Counter[str]:
        """Return how often each event was reported. The function's answer is the call's result."""
        outputs, events = up(self.aws, *self.parts(event), *more)
        assert event is None or json.loads(outputs[2]["result"]) == {"asked": event}
        return events

    def calls(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.file.read_text().splitlines()] if self.file.exists() else []

    def killed_in_the_call(self, event: Mapping[str, Any]) -> dict[str, Any]:
        """Kill an `up` with -9 while the function works, and let the function end its work. Return its event."""
        before = len(self.calls())
        until = self.file.with_name(f"until-{before}")
        event = {**event, "until": str(until)}
        arguments = (self.aws.endpoint, self.name, str(self.file), event)
        program = f"from {__name__} import deploy; deploy(*{arguments!r})"
        with subprocess.Popen([sys.executable, "-c", program], cwd=ROOT) as process:
            while len(self.calls()) == before:
                assert process.poll() is None
                time.sleep(0.02)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        until.touch()
        return event


def deploy(endpoint: str, name: str, file: str, event: Mapping[str, Any]) -> None:
    Asking(Aws(endpoint), name, Path(file)).up(event)


@pytest.fixture
def program(aws: Aws, folder: Path, name: str) -> Asking:
    return Asking(aws, name, folder / "calls")


UNCHANGED = Counter(unchanged=3)
CREATED, REPLACED = Counter(unchanged=2, created=1), Counter(unchanged=2, replaced=1)


def test_a_change_is_a_new_call_and_no_change_is_none(program: Asking) -> None:
    assert program.up(ONE) == Counter(created=3)
    assert program.up(ONE) == UNCHANGED
    assert program.up(TWO) == REPLACED
    assert program.up(None) == Counter(unchanged=2, deleted=1)

    assert program.calls() == [ONE, TWO], "as the input is, and no call at a deletion"


def test_a_first_call_that_failed_is_made_again(program: Asking) -> None:
    for _ in range(2):
        with pytest.raises(LocalError, match="a region is unreachable"):
            program.up(FAILING)

    assert program.up(ONE) == CREATED
    assert program.calls() == [FAILING, FAILING, ONE]


def test_after_a_failed_change_the_last_success_counts(program: Asking) -> None:
    program.up(ONE)
    for _ in range(2):
        with pytest.raises(LocalError, match="a region is unreachable"):
            program.up(FAILING)

    assert program.up(ONE) == UNCHANGED, "so the program must tell it from the call before"
    assert program.up(TWO) == REPLACED
    assert program.calls() == [ONE, FAILING, FAILING, TWO]


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.long)])
def test_an_up_that_was_killed_leaves_what_last_succeeded(program: Asking, *, first: bool) -> None:
    if not first:
        program.up(ONE)
    killed = program.killed_in_the_call(TWO)
    asked = len(program.calls())

    assert program.up(ONE) == (CREATED if first else UNCHANGED)
    assert program.up(killed) == REPLACED, "the killed one is not in the state"
    assert program.calls()[asked:] == ([ONE, killed] if first else [killed])


def test_what_was_replaced_is_forgotten_at_the_end(program: Asking) -> None:
    program.up(ONE)
    with pytest.raises(LocalError, match="after"):
        program.up(TWO, table(f"{program.name}-after", hashKey="nonesuch"))

    assert program.up(ONE) == REPLACED, "the first one is replaced: it is not the present one again"
    assert program.up(ONE) == UNCHANGED
    assert program.calls() == [ONE, TWO, ONE]
