"""The AWS API server: ministack in a process of its own, on the loopback address, with IAM enforced."""

import http.client
import os
import socket
import sys
import time
from dataclasses import dataclass

from .paths import START_AFRESH, VERSION, LocalError, state_folder
from .process import Service

USUAL_PORT = 4566
START_TIMEOUT = 30
"""Seconds."""

SERVICE = Service("server", "ministack")


@dataclass(frozen=True)
class Server:
    """A server that was started. Its data live in its memory: they go with the process."""

    pid: int
    port: int

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def alive(self) -> bool:
        return SERVICE.alive(self.pid)

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
    found = SERVICE.recorded()
    return Server(*found) if found else None


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
            "is forgotten.\nStart afresh, from 1: python -m local down, then python -m local up\n" + SERVICE.log_end()
        )
    if not server.healthy():
        raise LocalError(
            f"the local AWS server (process {server.pid}) does not answer on {server.endpoint}.\n"
            "End it and start afresh, from 1: python -m local down, then python -m local up\n" + SERVICE.log_end()
        )
    return server


def check_version() -> None:
    """Check that this version can go on with the server that runs.

    Raises:
        LocalError: another version started it.
    """
    version = SERVICE.version()
    if version != VERSION:
        raise LocalError(
            f"the local AWS server is of version {version} of the local deployment, this is version {VERSION}; "
            f"{START_AFRESH}"
        )


def start(port: int | None = None) -> Server:
    """Start the server on `port`, by default the usual one or, if that is taken, a free one.

    Raises:
        LocalError: the port is taken, or the server does not come up.
    """
    (state_folder() / "tmp").mkdir(parents=True, exist_ok=True)
    if port is not None and not is_free(port):
        raise LocalError(f"port {port} is taken by something else; choose another: python -m local up --port N")
    chosen = port or (USUAL_PORT if is_free(USUAL_PORT) else any_free_port())
    process = SERVICE.start([sys.executable, "-m", "ministack"], _environment(chosen), chosen)
    server = Server(process.pid, chosen)
    deadline = time.monotonic() + START_TIMEOUT
    while not server.healthy():
        if process.poll() is not None or time.monotonic() > deadline:
            SERVICE.stop()
            what = f"ended with status {process.returncode}" if process.returncode else f"is silent on port {chosen}"
            raise LocalError(f"the local AWS server {what}.\n{SERVICE.log_end()}")
        time.sleep(0.05)
    return server


def _environment(port: int) -> dict[str, str]:
    """Just what the server needs: nothing of the user's AWS settings or proxies reaches it or the functions."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(state_folder() / "tmp"),
        "TMPDIR": str(state_folder() / "tmp"),
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


def is_free(port: int) -> bool:
    """Does nothing listen on this port of 127.0.0.1?"""
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
