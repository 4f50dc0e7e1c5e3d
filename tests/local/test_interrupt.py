"""Ctrl-C at any moment: no traceback, and the same command goes on afterwards."""

import re
import signal
import subprocess
import sys

import pytest

from local.paths import ROOT
from local.terminal import STATUS
from tests.local.machine import HANGING, Machine, mint, processes_of

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
    """At whichever point of a run these seconds are: what is checked holds at every point."""
    for n, after in enumerate((0.05, 0.3, 0.8, 1.7, 3.0)):
        interrupted(fresh, after, *fresh.command(*("us-east-1", "eu-west-1")[: 1 + n % 2]))
    assert fresh.up("us-east-1").returncode == 0
    url = fresh.outputs()["urls"]["us-east-1"]
    first = mint(url)[1]["integer"]
    for after, times in ((0.3, 1), (1.0, 2)):
        interrupted(fresh, after, *fresh.command("us-east-1", "eu-west-1"), times=times)
        assert mint(url)[1]["integer"] > first
    assert fresh.up("us-east-1", "eu-west-1").returncode == 0


def test_a_server_is_started_and_found_again_or_not_started(fresh: Machine) -> None:
    for after in (0.45, 0.8):
        interrupted(fresh, after, *fresh.command())
        interrupted(fresh, after, "down", times=2)
        down = fresh.run("down")
        assert (down.returncode, down.stderr) == (0, "")
        assert processes_of(fresh.folder) == []


@pytest.mark.parametrize(("trap", "ended"), [("", (STATUS, "")), ("trap '' INT;", (0, "end\n"))])
def test_ctrl_c_ends_it_unless_it_was_started_to_ignore_it(trap: str, ended: tuple[int, str]) -> None:
    program = """
import os, signal
from local.terminal import end_on_ctrl_c
end_on_ctrl_c()
os.kill(os.getpid(), signal.SIGINT)
print('end')
"""
    command = ["bash", "-c", f'{trap} exec {sys.executable} -c "{program}"']
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=HANGING)

    assert (done.returncode, done.stdout) == ended
