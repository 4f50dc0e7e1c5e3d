"""The local AWS server's process: started where nothing runs, found again, and never mistaken for another."""

import errno
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from local import server
from local.paths import VERSION, LocalError
from local.ports import any_free_port, is_free
from tests.local.machine import Machine, mint, processes_of

pytestmark = pytest.mark.server


def test_a_server_that_died_is_reported_and_nothing_starts_over_silently(fresh: Machine) -> None:
    fresh.up("us-east-1")
    os.killpg(fresh.server(), signal.SIGKILL)
    while processes_of(fresh.folder):
        time.sleep(0.01)

    for command in ("up", "outputs", "demo"):
        result = fresh.run(command)
        assert result.returncode == 1
        assert "has ended, and with it its tables" in result.stderr
        assert "python -m local down" in result.stderr
    assert fresh.run("down").returncode == 0
    assert fresh.up("us-east-1").returncode == 0
    assert mint(fresh.outputs()["urls"]["us-east-1"])[1]["integer"] == 1


def test_a_server_that_is_still_starting_is_waited_for(folder: Path) -> None:
    started = server.start(any_free_port())
    os.kill(started.pid, signal.SIGSTOP)
    program = f"import os, signal, time; time.sleep(1); os.kill({started.pid}, signal.SIGCONT)"
    with subprocess.Popen([sys.executable, "-c", program]):
        assert server.running() == started
    server.SERVICE.stop()


def test_a_port_that_is_taken_is_reported_with_its_process(fresh: Machine) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        wrong = fresh.run("up", "--port", str(port))

    assert wrong.returncode == 1
    assert f"port {port} is taken by process {os.getpid()}, " in wrong.stderr
    assert "python -m local up --port N" in wrong.stderr
    assert processes_of(fresh.folder) == []


def test_the_server_of_a_deleted_checkout_is_named_and_can_be_ended(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    clone = folder / "clone"
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(clone / ".local"))
    port = any_free_port()
    process = server.start(port).pid
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(folder / "other"))

    assert (
        server.taken(port) == f"port {port} is taken by process {process}, the local AWS server of {clone / '.local'}"
    )
    shutil.rmtree(clone)
    with pytest.raises(LocalError, match=f"of a checkout that was deleted .*; end it: kill {process}\n"):
        server.start(port)

    os.kill(process, signal.SIGTERM)
    os.waitpid(process, 0)
    assert is_free(port)
    assert server.start(port).port == port
    server.SERVICE.stop()


def test_a_port_that_only_root_may_use_is_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def bind(_socket: socket.socket, address: tuple[str, int]) -> None:
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket.socket, "bind", bind)  # the tests may run as root, who may

    with pytest.raises(LocalError, match="--port 1: this user may not listen on it; choose one from 1024 on"):
        server.start(1)


def test_a_server_of_an_older_version_is_refused_and_down_ends_all_of_it(folder: Path) -> None:
    started = server.start(any_free_port())
    record = folder / "server.json"
    record.write_text(json.dumps({"pid": started.pid, "port": started.port}))  # as version 1 wrote it
    machine = Machine(folder, started.port)
    program = [sys.executable, "-c", "input()", "local.door"]
    door = subprocess.Popen(program, stdin=subprocess.PIPE, start_new_session=True, cwd=folder)
    (folder / "door.json").write_text(json.dumps({"pid": door.pid, "port": 1}))

    refused = machine.run("up")

    assert refused.returncode == 1
    assert f"the local AWS server is of version 1 of the local deployment, this is version {VERSION}" in refused.stderr
    assert "-m local down, then " in refused.stderr
    assert machine.run("down").returncode == 0
    door.communicate(timeout=60)
    assert door.returncode == -signal.SIGTERM
    assert not started.alive()
    assert {path.name for path in folder.iterdir()} == {"lock", "server.log"}


def test_a_record_that_was_copied_ends_no_server_of_another_folder(fresh: Machine, folder: Path) -> None:
    assert fresh.up("us-east-1").returncode == 0
    shutil.copytree(fresh.folder, folder, dirs_exist_ok=True)
    copy = Machine(folder, fresh.port)

    for command in ("up", "outputs"):
        result = copy.run(command)
        assert result.returncode == 1
        assert "has ended, and with it its tables" in result.stderr
    assert copy.run("down").returncode == 0

    assert mint(fresh.outputs()["urls"]["us-east-1"])[0] == 200


def test_a_folder_that_was_moved_keeps_its_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(folder / "before"))
    started = server.start(any_free_port())
    (folder / "before").rename(folder / "after")
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(folder / "after"))

    assert server.running() == started
    assert server.SERVICE.stop()
    assert is_free(started.port)


def test_a_damaged_record_is_reported(folder: Path) -> None:
    (folder / "server.json").write_text("{")
    machine = Machine(folder, any_free_port())

    for command in ("up", "down", "outputs"):
        result = machine.run(command)
        assert result.returncode == 1
        assert "server.json is damaged" in result.stderr
        assert "Traceback" not in result.stderr
