"""`logs --follow`: it shows what is logged next, and ends with its reader, by Ctrl-C, and with the server."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable

import pytest

from local.paths import ROOT, as_here
from local.terminal import STATUS
from tests.local.machine import HANGING, Command, Machine, up


@pytest.fixture(scope="module")
def machine(machines: Callable[[], Machine]) -> Machine:
    return up(machines(), "us-east-1")


def follow(machine: Machine) -> Command:
    """Start to follow the logs, and wait for the first line."""
    process = machine.start("logs", "--follow", "-n", "1")
    assert process.stdout is not None
    assert " us-east-1 global-integers-dev-coordinate: " in process.stdout.readline()
    return process


def test_it_shows_new_lines_and_ctrl_c_ends_it(machine: Machine) -> None:
    with follow(machine) as process:
        assert process.stdout is not None
        created = machine.run("send", '{"create": ["invoices"]}')
        assert created.returncode == 0, "another command waits for nothing"
        assert next((line for line in process.stdout if '"invoices"' in line), None)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=HANGING)

    assert (process.returncode, err) == (STATUS, "\n")


def test_it_ends_with_its_reader_though_nothing_is_logged(machine: Machine) -> None:
    command = f"{sys.executable} -m local logs -f | head -n 1; echo ${{PIPESTATUS[0]}}"

    ended = subprocess.run(
        ["bash", "-c", command], cwd=ROOT, env=machine.environment, capture_output=True, text=True, timeout=HANGING
    )

    assert (ended.stderr, ended.stdout.splitlines()[1:]) == ("", [str(128 + signal.SIGPIPE)])


def test_messages_name_the_commands_of_this_machine() -> None:
    assert as_here("run `pulumi up --refresh`, or `pulumi preview`; `pulumi cancel`").count("-m local ") == 2
    assert "`pulumi cancel`" in as_here("`pulumi cancel`")


def test_where_the_server_ends_it_says_so(machine: Machine) -> None:
    with follow(machine) as process:
        os.killpg(machine.server(), signal.SIGKILL)
        _, err = process.communicate(timeout=HANGING)

    assert process.returncode == 1
    assert err.startswith("error: the local AWS server (process ")
    assert "has ended. What it had is saved; to start it again, at the same URLs: " in err
    assert "Traceback" not in err
