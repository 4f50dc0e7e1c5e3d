"""Processes that outlive the command that started them, and who listens on a port."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psutil
import pytest

from local.paths import VERSION, LocalError
from local.server import process
from local.server.process import (
    BackgroundService,
    Server,
    command_line,
    is_free,
    listener,
    reserved,
    working_folder,
)
from tests.local.machine import HANGING

SLEEP = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)", "the-mark"]
FAMILY = """
import subprocess, sys, time
stubborn = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", stubborn])
print(child.pid, flush=True)
time.sleep(600)
"""


def test_it_is_found_again_and_ended(folder: Path) -> None:
    service = BackgroundService("sleeper", "the-mark")
    sleeping = service.start(SLEEP, {}, 4321)

    assert BackgroundService("sleeper", "the-mark").recorded() == sleeping
    assert service.alive(sleeping.pid)
    assert os.getsid(sleeping.pid) != os.getsid(0), "Ctrl-C doesn't reach it"

    assert service.stop()
    assert not service.alive(sleeping.pid)
    assert service.recorded() is None
    assert not service.stop()


def test_another_process_with_its_number_is_left_alone(folder: Path) -> None:
    service = BackgroundService("sleeper", "the-mark")
    (folder / "sleeper.json").write_text(json.dumps({"pid": os.getpid(), "port": 1, "version": VERSION}))

    assert "the-mark" not in command_line(os.getpid())
    assert not service.alive(os.getpid())
    assert not service.stop()
    assert not (folder / "sleeper.json").exists()


def test_one_that_is_slow_is_waited_for_and_never_replaced(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    service = BackgroundService("sleeper", "the-mark", "the sleeper")
    slow = service.start(SLEEP, {}, 4321)
    answers = [False, False, True]

    def next_answer(_service: BackgroundService, _server: Server) -> bool:
        return answers.pop(0) if answers else False

    monkeypatch.setattr(BackgroundService, "answers", next_answer)

    assert service.running("http://127.0.0.1:1") == slow
    assert service.recorded() == slow

    monkeypatch.setattr(process, "START_TIMEOUT", 0)
    said = rf"^the sleeper \(process {slow.pid}\) runs, but hasn't answered .* wait, and repeat the command\. Only if"
    with pytest.raises(LocalError, match=rf"{said} .*, end it: kill {slow.pid}\n"):
        service.running("http://127.0.0.1:1")
    assert service.alive(slow.pid)
    service.stop()


def test_what_it_started_ends_with_it(folder: Path) -> None:
    service = BackgroundService("family", "subprocess")
    service.start([sys.executable, "-c", FAMILY], {}, 1)
    while not (text := service.log.read_text()).endswith("\n"):
        assert service.recorded()

    assert service.stop()

    while command_line(int(text)):  # it ignores SIGTERM and is killed, which takes a moment
        time.sleep(0.01)


def test_the_end_of_its_log_is_shown(folder: Path) -> None:
    service = BackgroundService("talker", "the-mark")
    assert service.log_end() == "There is no log."
    service.log.touch()
    assert service.log_end() == f"{service.log} is empty."
    service.log.write_text("".join(f"{n}\n" for n in range(100)))
    assert service.log_end().splitlines() == [f"The end of {service.log}:", *(f"  {n}" for n in range(85, 100))]


@pytest.fixture
def taken() -> Generator[int]:
    """A port on which this process listens."""
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        server.listen()
        yield server.getsockname()[1]


def test_a_port_is_free_until_someone_listens(taken: int) -> None:
    with reserved() as port:
        assert is_free(port)
    assert not is_free(taken)
    with pytest.raises(OSError, match="in use"), reserved(taken):
        pass


def test_a_reserved_port_is_given_to_nobody_else() -> None:
    with reserved() as port, reserved(port) as same:
        others = {sock.getsockname()[1] for _ in range(200) if (sock := socket.create_server(("127.0.0.1", 0)))}
        with socket.create_server(("127.0.0.1", port)):
            assert same == port not in others


def test_the_listener_is_named(taken: int) -> None:
    assert listener(taken) == os.getpid()
    assert "python" in command_line(os.getpid()) or "pytest" in command_line(os.getpid())
    assert working_folder(os.getpid()) == Path.cwd()
    with reserved() as port:
        assert listener(port) is None


def test_a_connection_to_the_port_is_not_its_listener(taken: int) -> None:
    program = f"import socket; socket.create_connection(('127.0.0.1', {taken})); print('ready', flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as client:
        assert client.stdout is not None
        assert client.stdout.readline() == "ready\n"
        found = listener(taken)
        client.communicate("\n", timeout=HANGING)

    assert found == os.getpid()


def test_a_listener_on_ipv6_is_found() -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        found = listener(server.getsockname()[1])

    assert found == os.getpid()


def test_the_listener_of_another_user_is_not_known(taken: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(process: psutil.Process, kind: str = "inet") -> list[Any]:
        raise psutil.AccessDenied(process.pid)

    monkeypatch.setattr(psutil.Process, "net_connections", refused)

    assert listener(taken) is None
