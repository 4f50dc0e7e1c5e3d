"""Processes that outlive the command that started them, and their ports."""

import os
import socket
import sys
from pathlib import Path

import pytest

from local.paths import LocalError
from local.server import process
from local.server.process import BackgroundService, Server, reserved

SLEEP = [sys.executable, "-c", "import time; print('begun', flush=True); time.sleep(600)", "the-mark"]


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
    with pytest.raises(LocalError, match=rf"{said} it never answers, end it: kill {slow.pid}\n"):
        service.running("http://127.0.0.1:1")
    assert service.alive(slow.pid)
    service.stop()


def test_a_reserved_port_is_given_to_nobody_else() -> None:
    with reserved() as port, reserved(port) as same:
        others = {sock.getsockname()[1] for _ in range(200) if (sock := socket.create_server(("127.0.0.1", 0)))}
        with socket.create_server(("127.0.0.1", port)):
            assert same == port not in others


def test_the_end_of_its_log_is_shown(folder: Path) -> None:
    service = BackgroundService("talker", "the-mark")
    nothing = f"The end of {service.log}:\n  (nothing)"
    assert service.log_end() == nothing
    service.log.touch()
    assert service.log_end() == nothing
    service.log.write_text("".join(f"{n}\n" for n in range(100)))
    assert service.log_end().splitlines() == [f"The end of {service.log}:", *(f"  {n}" for n in range(85, 100))]
