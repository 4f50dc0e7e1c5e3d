"""The local AWS server's process: started where nothing runs, found again, and never mistaken for another."""

import json
import os
import shutil
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from local.paths import VERSION
from local.server import aws_server
from tests.local.machine import Machine, mint, processes_of, up

pytestmark = pytest.mark.server


def test_a_port_that_is_taken_is_reported(fresh: Machine) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]

        wrong = fresh.run("up", "--port", str(port))

    assert wrong.returncode == 1
    assert f"port {port} is taken, perhaps by the local AWS server of another checkout" in wrong.stderr
    assert "python -m local up --port N" in wrong.stderr
    assert processes_of(fresh.folder) == []


def test_a_server_of_another_version_is_refused(folder: Path) -> None:
    started = aws_server.start(0)
    record = folder / "server.json"
    record.write_text(json.dumps({"pid": started.pid, "port": started.port, "version": VERSION + 1}))
    machine = Machine(folder)

    refused = machine.run("up")

    assert refused.returncode == 1
    expected = f"the local AWS server is of version {VERSION + 1} of the local deployment, this is version {VERSION}"
    assert expected in refused.stderr
    assert "-m local down, then " in refused.stderr
    assert machine.run("down").returncode == 0
    assert not aws_server.SERVICE.alive(started.pid)
    assert {path.name for path in folder.iterdir()} == {"lock", "server.log"}


@pytest.mark.long
def test_a_function_url_hands_over_the_path_as_it_was_sent(small: Machine) -> None:
    """So `/%69ntegers` is no counter there, as on AWS."""
    url = small.outputs()["urls"]["us-east-1"]

    statuses = [mint(url, path, "GET")[0] for path in ("integers", "%69ntegers", "integers/1", "integers/%31")]
    assert statuses == [200, 404, 200, 404]


@pytest.mark.long
def test_a_copied_record_ends_no_server_of_another_folder(small: Machine, folder: Path) -> None:
    shutil.copytree(small.folder, folder, dirs_exist_ok=True)
    copy = Machine(folder)

    for command, problem in (("outputs", "has ended. What it had is saved"), ("up", "is taken, perhaps")):
        result = copy.run(command)
        assert result.returncode == 1
        assert problem in result.stderr
    assert "Free it, or choose another port, which changes the URLs: " in copy.run("up").stderr
    assert copy.run("down").returncode == 0

    assert mint(small.outputs()["urls"]["us-east-1"])[0] == 200


@pytest.mark.long
def test_a_server_ends_with_its_folder_and_goes_on_where_it_is(folder: Path) -> None:
    """What it had is where it was moved to, and nowhere if it was deleted."""
    before, after = Machine(folder / "before"), Machine(folder / "after")
    after.wanted_port = before.wanted_port
    assert up(before, "us-east-1")
    (url,) = before.outputs()["urls"].values()
    pid = before.server()
    before.folder.rename(after.folder)
    last = 0
    with suppress(OSError):
        while True:
            last = mint(url)[1].get("integer", last)
    os.waitpid(pid, 0)

    assert not before.folder.exists()
    assert f"{before.folder} was moved or deleted, so this process ends" in after.run("status").stderr
    assert up(after, "us-east-1")
    assert after.outputs()["urls"] == {"us-east-1": url}
    assert mint(url)[1]["integer"] == last + 1

    gone = after.folder.rename(folder / "gone")  # at once: the server writes into it until it ends
    shutil.rmtree(gone, ignore_errors=True)
    assert up(after, "us-east-1")
    assert mint(after.outputs()["urls"]["us-east-1"])[1]["integer"] == 1
    assert after.run("down").returncode == 0


def test_a_server_that_died_is_reported_and_not_started_silently(small: Machine) -> None:
    small.kill()

    for command in ("outputs", "demo", "preview", "status", "logs", "lose"):
        result = small.run(command)
        assert result.returncode == 1
        assert "has ended. What it had is saved; to start it again, at the same URLs: " in result.stderr
        assert "python -m local up" in result.stderr
    assert small.run("down").stdout == "the server had ended already; what it left is removed\n"
    assert up(small, "us-east-1")
    assert mint(small.outputs()["urls"]["us-east-1"])[1]["integer"] == 1


def test_down_leaves_no_process_and_no_port_and_may_be_repeated(small: Machine) -> None:
    mint(small.outputs()["urls"]["us-east-1"])
    assert processes_of(small.folder)
    port = small.port
    (small.folder / "photos").mkdir()
    (small.folder / "photos" / "a.jpg").write_text("x")
    (small.folder / "notes.json").write_text("{}")

    assert "forgotten" in small.run("down").stdout

    assert processes_of(small.folder) == []
    with socket.socket() as probe:
        assert probe.connect_ex(("127.0.0.1", port)) != 0
    left = {str(path.relative_to(small.folder)) for path in small.folder.rglob("*") if path.is_file()}
    assert left == {"photos/a.jpg", "notes.json", "lock", "server.log"}, "it removes only its own"
    assert small.run("down").stdout == "nothing ran here\n"
    assert "nothing runs here; start it: " in small.run("outputs").stderr
    up(small, "us-east-1")
