"""The AWS API server: ministack in a process of its own, on the loopback address, with IAM enforced."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

from .paths import LocalError, state_folder

USUAL_PORT = 4566
PATIENCE = 30
"""Seconds to come up, and to go down."""


_children: list[subprocess.Popen[bytes]] = []
"""Kept, since they outlive this process on purpose: Python warns of a forgotten one."""


@dataclass(frozen=True)
class Server:
    """A server that was started. Its data live in its memory: they go with the process."""

    pid: int
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def alive(self) -> bool:
        """Is the process there, and still ministack? (A number is given out again, after a reboot say.)"""
        return not _is_zombie(self.pid) and "ministack" in _command(self.pid)

    def healthy(self) -> bool:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=2)
        try:
            connection.request("GET", "/_ministack/health")
            return connection.getresponse().status == 200
        except OSError:
            return False
        finally:
            connection.close()


def recorded() -> Server | None:
    """The server that the last `up` started and no `down` has ended, running or not."""
    try:
        return Server(**json.loads(_record().read_text()))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError) as error:
        raise LocalError(
            f"{_record()} is damaged ({error}), so the server's process is not known. End it by hand if it runs "
            "(it is called ministack), delete that file, then: python -m local down"
        ) from error


def running() -> Server:
    """The server, answering.

    Raises:
        LocalError: it was never started, has ended, or does not answer.
    """
    server = recorded()
    if server is None:
        raise LocalError("nothing runs here; start it: python -m local up")
    if not server.alive():
        raise LocalError(
            f"the local AWS server (process {server.pid}) has ended, and with it its tables: every integer it minted "
            "is forgotten.\nStart afresh, from 1: python -m local down, then python -m local up\n" + log_end()
        )
    if not server.healthy():
        raise LocalError(
            f"the local AWS server (process {server.pid}) does not answer on {server.endpoint}.\n"
            "End it and start afresh, from 1: python -m local down, then python -m local up\n" + log_end()
        )
    return server


def start(port: int | None = None) -> Server:
    """Start the server on `port`, by default the usual one or, if that is taken, a free one.

    Raises:
        LocalError: the port is taken, or the server does not come up.
    """
    folder = state_folder()
    (folder / "tmp").mkdir(parents=True, exist_ok=True)
    if port is not None and not _free(port):
        raise LocalError(f"port {port} is taken by something else; choose another: python -m local up --port N")
    chosen = port or (USUAL_PORT if _free(USUAL_PORT) else any_free_port())
    with _log().open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "ministack"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env=_environment(chosen, folder),
            start_new_session=True,  # Ctrl-C at `up` is not for the server
        )
    _children.append(process)
    server = Server(process.pid, chosen)
    fresh = _record().with_suffix(".new")
    fresh.write_text(json.dumps(asdict(server)))
    fresh.replace(_record())
    deadline = time.monotonic() + PATIENCE
    while not server.healthy():
        if process.poll() is not None or time.monotonic() > deadline:
            stop()
            what = f"ended with status {process.returncode}" if process.returncode else f"is silent on port {chosen}"
            raise LocalError(f"the local AWS server {what}.\n{log_end()}")
        time.sleep(0.05)
    return server


def stop() -> bool:
    """End the server and its functions' processes. False: there was none."""
    server = recorded()
    if server is None:
        return False
    if not server.alive():
        _record().unlink(missing_ok=True)
        return False
    # The server leads a process group of its own; its functions' processes belong to it.
    for sign in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(server.pid, sign)
        except (ProcessLookupError, PermissionError):
            break
        if sign == signal.SIGTERM:
            _wait_for_end(server)
    _wait_for_end(server)
    for child in _children:
        if child.pid == server.pid:
            child.wait()
    _record().unlink(missing_ok=True)
    return True


def log_end(lines: int = 15) -> str:
    """The end of the server's log, with its path."""
    try:
        end = _log().read_text(errors="replace").splitlines()[-lines:]
    except FileNotFoundError:
        return "There is no log."
    return "\n".join([f"The end of {_log()}:", *(f"  {line}" for line in end)] if end else [f"{_log()} is empty."])


def _environment(port: int, folder: Path) -> dict[str, str]:
    """Just what the server needs: nothing of the user's AWS settings or proxies reaches it or the functions."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(folder / "tmp"),
        "TMPDIR": str(folder / "tmp"),
        "BIND_HOST": "127.0.0.1",
        "GATEWAY_PORT": str(port),
        "MINISTACK_HOST": "127.0.0.1",
        "AUTH": "true",
        "SERVICES": "dynamodb,iam,lambda,logs,sqs,sts",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _free(port: int) -> bool:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def any_free_port() -> int:
    """A port of 127.0.0.1 on which nothing listens now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def _wait_for_end(server: Server) -> None:
    deadline = time.monotonic() + PATIENCE / 3
    while server.alive() and time.monotonic() < deadline:
        time.sleep(0.02)


def _is_zombie(pid: int) -> bool:
    """Ended, but its parent (this very process, in the tests) has not asked for its status yet."""
    return any(child.pid == pid and child.poll() is not None for child in _children)


def _command(pid: int) -> str:
    """The process's command line, empty if there is none."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except FileNotFoundError:
        if Path("/proc/self").exists():
            return ""
    shown = subprocess.run(["ps", "-p", str(pid), "-o", "args="], capture_output=True, text=True, check=False)  # macOS
    return shown.stdout


def _record() -> Path:
    return state_folder() / "server.json"


def _log() -> Path:
    return state_folder() / "server.log"
