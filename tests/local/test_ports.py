"""Who listens on a port."""

import os
import socket
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest

from local.server import ports
from local.server.ports import has_socket, is_free, listener, reserved
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
    found = listener(taken)

    assert found is not None
    assert found.pid == os.getpid()
    assert "pytest" in found.command or "python" in found.command
    assert found.folder == Path.cwd()
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

    assert found is not None
    assert found.pid == os.getpid()


def test_a_process_has_a_socket_or_none(taken: int) -> None:
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, text=True) as other:
        assert (has_socket(os.getpid()), has_socket(other.pid)) == (True, False)
        other.communicate("\n", timeout=HANGING)
    assert not has_socket(other.pid)


def test_a_listener_on_ipv6_is_found() -> None:
    with socket.create_server(("::", 0), family=socket.AF_INET6, dualstack_ipv6=True) as server:
        found = listener(server.getsockname()[1])

    assert found is not None
    assert found.pid == os.getpid()


def test_without_proc_and_lsof_the_listener_is_not_known(
    taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ports, "PROC", tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path))

    assert listener(taken) is None


def test_without_proc_lsof_and_ps_are_asked(taken: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS. Their output is as lsof(8) says in "OUTPUT FOR OTHER PROGRAMS": a letter before each field."""
    monkeypatch.setattr(ports, "PROC", tmp_path / "proc")
    monkeypatch.setenv("PATH", str(tmp_path))
    script = (
        '#!/bin/sh\ncase "$*" in *-iTCP:%d*) printf "p71\\nf3\\n";; *) printf "p71\\nfcwd\\nn/gone/.local\\n";; esac\n'
    )
    for name, text in {"lsof": script % taken, "ps": "#!/bin/sh\necho python -m ministack\n"}.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)

    assert listener(taken) == ports.Listener(71, "python -m ministack", Path("/gone/.local"))
