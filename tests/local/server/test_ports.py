"""Who listens on a port."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import psutil
import pytest

from local.server.process import command_line, is_free, listener, reserved, working_folder
from tests.local.machine import HANGING


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
