"""Ctrl-C at any moment: no traceback, and the same command goes on afterwards."""

import os
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from local.paths import ROOT
from local.server import aws_server
from local.server.process import is_free
from local.terminal import STATUS
from tests.local.machine import HANGING, Machine, coordinators, mint, processes_of

pytestmark = pytest.mark.server

AFTER_SECONDS = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.8, 1.2, 1.7, 2.3, 3.0)
"""At whichever point of a run these are: what is checked holds at every point."""


FIRST = re.compile(rf'File "{ROOT}/local/__(init|main)__\.py", line [01], in <module>\n(?!  File)')
"""Where Python itself stands before the first line of ours runs."""

IGNORED = (
    r"\n?Exception ignored in: .*\nTraceback .*\n(  File \"<frozen importlib\._bootstrap>\".*\n)+KeyboardInterrupt: ?\n"
)
"""What Python itself says of a Ctrl-C in a callback of its import system, before our first line runs."""


def interrupted(machine: Machine, after: float, *arguments: str, times: int = 1) -> int:
    """Run a command with Ctrl-C after so many seconds. Return its exit status."""
    with machine.start(*arguments) as process:
        for _ in range(times):
            try:
                process.wait(after)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=HANGING)
    moment = f"{arguments} after {after} s, status {process.returncode}:\n{out}\n{err}"
    if process.returncode not in (0, STATUS):  # Python itself was starting, or ending
        assert f"{ROOT}/local/" not in FIRST.sub("", err), moment
        return process.returncode
    err = re.sub(IGNORED, "", err)
    said = out + err
    for never in ("Traceback", "Task was destroyed", "Exception ignored"):
        assert never not in said, moment
    if process.returncode == STATUS:
        assert err == "" or err.endswith("interrupted; run the same command again to continue\n"), moment
    return process.returncode


@pytest.mark.long
def test_up_goes_on_after_ctrl_c_at_any_moment(fresh: Machine) -> None:
    for n, after in enumerate(AFTER_SECONDS):
        regions = ("us-east-1", "eu-west-1")[: 1 + n % 2]
        interrupted(fresh, after, *fresh.command(*regions))

    assert fresh.up("us-east-1").returncode == 0
    url = fresh.outputs()["urls"]["us-east-1"]
    _, first = mint(url)
    for after in (0.3, 1.0):
        interrupted(fresh, after, *fresh.command("us-east-1", "eu-west-1"))
        assert mint(url)[1]["integer"] > first["integer"]
    assert fresh.up("us-east-1", "eu-west-1").returncode == 0


def test_a_server_is_started_and_found_again_or_not_started(fresh: Machine) -> None:
    for after in (0.3, 0.45, 0.6, 0.8):
        interrupted(fresh, after, *fresh.command())
        down = fresh.run("down")
        assert (down.returncode, down.stderr) == (0, "")
        assert processes_of(fresh.folder) == []


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(("outputs",), marks=pytest.mark.long),
        pytest.param(("demo",), marks=pytest.mark.long),
        ("up", "-c", 'regions=["us-east-1"]'),
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_second_ctrl_c_is_no_traceback_either(small: Machine, arguments: tuple[str, ...]) -> None:
    for after in (0.05, 0.2, 0.5, 1.0):
        interrupted(small, after, *arguments)
        interrupted(small, after, *arguments, times=2)

    assert small.run(*arguments).returncode == 0


@pytest.mark.long
def test_down_goes_on_after_ctrl_c(folder: Path) -> None:
    machine = Machine(folder)
    for after in (0.05, 0.3, 0.5, 0.6, 0.7, 0.8):
        port = aws_server.start(0).port
        interrupted(machine, after, "down")
        interrupted(machine, after, "down", times=2)

        assert machine.run("down").returncode == 0
        assert not (folder / "server.json").exists()
        assert is_free(port)


@pytest.mark.long
def test_an_interrupted_up_goes_on_when_run_again(small: Machine) -> None:
    assert mint(small.outputs()["urls"]["us-east-1"])[0] == 200
    stopped = coordinators(small.folder)
    for coordinator in stopped:  # no `up` can end while the coordinator is stopped
        os.kill(coordinator, signal.SIGSTOP)

    with small.start(*small.command("us-east-1", "eu-west-1")) as process:
        assert process.stdout is not None
        assert next((line for line in process.stdout if "created   Table" in line), None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANGING)
    for coordinator in stopped:
        with suppress(ProcessLookupError):  # the server has ended it with its old version
            os.kill(coordinator, signal.SIGCONT)

    assert process.returncode == STATUS
    assert "run the same command again to continue" in err
    again = small.up("us-east-1", "eu-west-1")
    assert again.returncode == 0, again.stderr
    outputs = small.outputs()
    integers = [mint(outputs["urls"][region])[1]["integer"] for region in ("us-east-1", "eu-west-1")]
    assert [n % 2 for n in integers] == [1, 0]
    assert min(integers) >= outputs["counters"]["integers"]["base"] > 1
    assert small.up("us-east-1").returncode == 0


def test_ctrl_c_waits_for_what_must_not_be_cut() -> None:
    program = """
import os, signal
from local.terminal import end_on_ctrl_c, uninterrupted
end_on_ctrl_c()
with uninterrupted("a step"):
    os.kill(os.getpid(), signal.SIGINT)
    print("done")
print("never")
"""
    ended = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=HANGING)

    assert (ended.returncode, ended.stdout) == (STATUS, "done\n")


def test_a_command_that_ignores_ctrl_c_from_its_start_goes_on(folder: Path) -> None:
    """As a script's command in the background (`… &`), which the terminal's Ctrl-C is not meant for."""
    program = "import os, signal, local.terminal as i; i.end_on_ctrl_c(); os.kill(os.getpid(), 2); print('ended')"
    command = f"trap '' INT; exec {sys.executable} -c \"{program}\""
    ended = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, timeout=HANGING)

    assert (ended.returncode, ended.stdout) == (0, "ended\n")
