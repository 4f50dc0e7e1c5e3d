"""Calls at deploy time: what fails or is killed leaves no trace in the state, so the next `up` finds out by itself."""

import json
import signal
import subprocess
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from local.aws_clients import Aws
from local.paths import ROOT, LocalError
from tests.local.invoking_program import deployed

ONE: dict[str, Any] = {"number": 1}
TWO: dict[str, Any] = {"number": 2}
FAILING: dict[str, Any] = {"number": 3, "fail": "a region is unreachable"}


@dataclass
class InvokingProgram:
    """A deployment of the program that asks, and what its function was asked."""

    aws: Aws
    folder: Path
    name: str = field(default_factory=lambda: f"t{uuid4().hex[:8]}")

    def settings(self, event: dict[str, Any] | None, **others: str) -> dict[str, str]:
        asked = {"event": json.dumps(event)} if event is not None else {}
        return {"name": self.name, "calls": str(self.folder / "calls"), **asked, **others}

    def up(self, event: dict[str, Any] | None, **others: str) -> tuple[dict[str, Any], Counter[str]]:
        return deployed(self.aws.endpoint, self.settings(event, **others))

    def calls(self) -> list[dict[str, Any]]:
        calls = self.folder / "calls"
        return [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []

    def start(self, event: dict[str, Any]) -> "subprocess.Popen[str]":
        settings = json.dumps(self.settings(event))
        program = [sys.executable, "-m", "tests.local.invoking_program", self.aws.endpoint, settings]
        return subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, text=True)

    def killed_in_the_call(self, event: dict[str, Any]) -> dict[str, Any]:
        """Kill an `up` with -9 while the function works, and let the function end its work. Return its event."""
        before = len(self.calls())
        until = self.folder / f"until-{before}"
        event = {**event, "until": str(until)}
        with self.start(event) as process:
            while len(self.calls()) == before:
                assert process.poll() is None
                time.sleep(0.02)
            process.kill()
        assert process.returncode == -signal.SIGKILL
        until.touch()
        return event


@pytest.fixture
def program(aws: Aws, folder: Path) -> InvokingProgram:
    return InvokingProgram(aws, folder)


def test_a_change_is_a_new_call_and_no_change_is_none(program: InvokingProgram) -> None:
    assert program.up(ONE) == ({"result": {"asked": ONE}, "path": None}, Counter(created=1))
    assert program.up(ONE) == ({"result": {"asked": ONE}, "path": None}, Counter(unchanged=1))
    assert program.up(TWO) == ({"result": {"asked": TWO}, "path": None}, Counter(replaced=1))
    assert program.up(None)[1] == Counter(deleted=1)

    assert program.calls() == [ONE, TWO], "as the input is, and no call at a deletion"


def test_a_first_call_that_failed_is_made_again(program: InvokingProgram) -> None:
    for _ in range(2):
        with pytest.raises(LocalError, match="a region is unreachable"):
            program.up(FAILING)

    assert program.up(ONE)[1] == Counter(created=1)
    assert program.calls() == [FAILING, FAILING, ONE]


def test_after_a_failed_change_the_last_success_counts(program: InvokingProgram) -> None:
    program.up(ONE)
    for _ in range(2):
        with pytest.raises(LocalError, match="a region is unreachable"):
            program.up(FAILING)

    assert program.up(ONE)[1] == Counter(unchanged=1), "so the program must tell it from the call before"
    assert program.up(TWO)[1] == Counter(replaced=1)
    assert program.calls() == [ONE, FAILING, FAILING, TWO]


@pytest.mark.parametrize("first", [True, pytest.param(False, marks=pytest.mark.long)])
def test_an_up_that_was_killed_leaves_what_last_succeeded(program: InvokingProgram, *, first: bool) -> None:
    if not first:
        program.up(ONE)
    killed = program.killed_in_the_call(TWO)
    asked = len(program.calls())

    assert program.up(ONE)[1] == (Counter(created=1) if first else Counter(unchanged=1))
    assert program.up(killed)[1] == Counter(replaced=1), "the killed one is not in the state"
    assert program.calls()[asked:] == ([ONE, killed] if first else [killed])


@pytest.mark.parametrize(
    ("reverted", "parts"),
    [
        (True, ["Function"]),
        pytest.param(False, ["LogGroup", "Role", "Function", "Invocation"], marks=pytest.mark.long),
        pytest.param(True, ["LogGroup", "Role", "Function", "Invocation"], marks=pytest.mark.long),
    ],
)
def test_an_up_that_was_killed_anywhere_goes_on_when_run_again(
    program: InvokingProgram, *, reverted: bool, parts: list[str]
) -> None:
    wanted = ONE
    program.up(wanted)
    for number, part in enumerate(parts):
        event = {"number": 10 + number}
        with program.start(event) as process:
            assert process.stdout is not None
            assert next((line for line in process.stdout if line.endswith(f":{part}\n")), None)
            process.kill()
        wanted = wanted if reverted else event

        assert program.up(wanted)[0]["result"] == {"asked": wanted}
        assert program.up(wanted)[1] == Counter(unchanged=1)
    assert program.calls()[-1] == wanted, "the last call is the one that stands"


def test_what_was_replaced_is_forgotten_at_the_end(program: InvokingProgram) -> None:
    program.up(ONE)
    with pytest.raises(LocalError, match="after"):
        program.up(TWO, after="nonesuch")

    assert program.up(ONE)[1] == Counter(replaced=1), "the first one is replaced: it is not the present one again"
    assert program.up(ONE)[1] == Counter(unchanged=1)
    assert program.calls() == [ONE, TWO, ONE]


def test_an_ignored_change_keeps_what_the_state_has(program: InvokingProgram) -> None:
    for first, path in (("/home/", "/home/"), ("/elsewhere/", "/home/")):
        exported, _ = program.up(None, path=first)
        assert exported["path"] == path
    role = program.aws.client("iam", "us-east-1").get_role(RoleName=program.name)["Role"]
    assert role["Path"] == "/home/"

    (program.folder / f"{program.name}.json").unlink()
    assert program.up(None, path="/elsewhere/")[0]["path"] == "/elsewhere/", "not in the state: the program's"
