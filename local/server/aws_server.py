"""The AWS API server: ministack in a process of its own, on the loopback address, with IAM enforced."""

import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from ..paths import LocalError, command, start_afresh, state_folder
from .process import BackgroundService, Server, command_line, is_free, listener
from .saved import DATABASE

USUAL_PORT = 4566

MAX_PORT = 65535

SERVICE = BackgroundService(
    "server", "local.server.ministack_server", "the local AWS server", ("GET", "/_ministack/health")
)
"""What it has is saved in a folder (`saved.py`)."""


def running(up: str = "") -> Server:
    """Return the server once it answers, or raise `LocalError`. An interrupted `up` may have started it just now.

    `up` is the command that starts it again, and deploys what was deployed last.
    """
    server = SERVICE.recorded()
    if server is None and not has_saved():
        raise LocalError(f"nothing runs here; start it: {command('up')}")
    if server and SERVICE.waited_for(server, f"end it (kill {server.pid}), then: {command('up')}"):
        return server
    process, log = f" (process {server.pid})" if server else "", SERVICE.log_end()
    ended, said = f"the local AWS server{process} has ended", "" if log.endswith(" is empty.") else f"\n{log}"
    if not has_saved():
        raise LocalError(f"{ended}, and what it had is not saved; {start_afresh()}{said}")
    if unusable := _unusable(log):
        raise LocalError(f"{ended}{said}\n{unusable}")
    raise LocalError(f"{ended}. What it had is saved; to start it again, at the same URLs: {up or command('up')}{said}")


def _unusable(said: str) -> str:
    """Return what to do if a server said that it can't begin with what is saved; else nothing."""
    if "damaged" not in said:
        return ""
    return (
        "Put this file back as it was when the server ended (with an older one, integers are minted again), or "
        f"{start_afresh()}"
    )


def saved() -> Path:
    """Return the folder in which the server saves what it has."""
    return state_folder() / "saved"


def has_saved() -> bool:
    """Return whether a server has run here that was not ended by `down`."""
    database = saved() / DATABASE
    return database.exists() and database.stat().st_size > 0


def start(port: int | None = None, more: Mapping[str, str] | None = None) -> Server:
    """Start the server on `port`; 0: on any free one. By default, on the preferred one or, if that is taken, any.

    `more` are further environment variables. The functions inherit them: `AWS_ENDPOINT_URL_DYNAMODB`, for example.
    """
    shutil.rmtree(state_folder() / "tmp", ignore_errors=True)  # what a killed one has left
    (state_folder() / "tmp").mkdir(parents=True, exist_ok=True)
    if port and not is_free(port):
        changed = ", which changes the URLs" if has_saved() else ""
        raise LocalError(f"{taken(port)}\nFree it, or choose another port{changed}: {command('up --port N')}")
    if port is None:
        port = preferred_port() if is_free(preferred_port()) else 0
    environment = {
        "HOME": str(state_folder() / "tmp"),
        "STATE_DIR": saved().name,  # in its working folder, also when that has moved
        "TMPDIR": str(state_folder() / "tmp"),
        "BIND_HOST": "127.0.0.1",
        "MINISTACK_HOST": "127.0.0.1",
        "AUTH": "true",
        "SERVICES": "acm,apigateway,budgets,cloudwatch,dynamodb,events,iam,lambda,logs,route53,sns,sqs,sts",
        "SFTP_ENABLED": "0",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
    }
    try:
        server = SERVICE.launch(port, environment={**environment, **(more or {})})
    except LocalError as error:
        if not has_saved():  # nothing has run here yet
            SERVICE.record.unlink(missing_ok=True)
        if unusable := _unusable(str(error)):
            raise LocalError(f"{error}\n{unusable}") from error
        raise
    with suppress(OSError):  # the next server may begin on another port then
        _port_file().write_text(f"{server.port}\n")
    return server


def preferred_port() -> int:
    """Return the port of the last server that ran here, so that URLs begin in the same way; else the usual one."""
    try:
        port = int(_port_file().read_text())
    except (OSError, ValueError):
        return USUAL_PORT
    return port if 1024 <= port <= MAX_PORT else USUAL_PORT


def _port_file() -> Path:
    return state_folder() / "port"


def taken(port: int) -> str:
    """Return who listens on a port that is taken, and how to free it if it is a server of this kind."""
    process = listener(port)
    if process is None:
        return f"port {port} is taken by something else, or not for this user"
    line = command_line(process.pid)
    if SERVICE.mark in line:
        line = f"the local AWS server of {process.cwd()}; end it: kill {process.pid}"
    return f"port {port} is taken by process {process.pid}, {line}"
