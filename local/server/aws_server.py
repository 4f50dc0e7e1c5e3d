"""The AWS API server: ministack in a process of its own, on the loopback address, with IAM enforced."""

import shutil
from collections.abc import Mapping
from pathlib import Path

from ..paths import LocalError, command, start_afresh, state_folder
from .process import BackgroundService, Server, is_free
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
    if server and SERVICE.waited_for(server):
        return server
    ended = f"the local AWS server{f' (process {server.pid})' if server else ''} has ended"
    if not has_saved():
        raise LocalError(f"{ended}, and what it had is not saved; {start_afresh()}\n{SERVICE.log_end()}")
    again = f"What it had is saved; to start it again, at the same URLs: {up or command('up')}"
    raise LocalError(f"{ended}. {again}\n{SERVICE.log_end()}")


def saved() -> Path:
    """Return the folder in which the server saves what it has."""
    return state_folder() / "saved"


def has_saved() -> bool:
    """Return whether a server has run here that was not ended by `down`."""
    database = saved() / DATABASE
    return database.exists() and database.stat().st_size > 0


def is_left() -> bool:
    """Return whether there is a server or what one has saved: `down` has not been run since."""
    return SERVICE.recorded() is not None or has_saved()


def start(port: int | None = None, more: Mapping[str, str] | None = None) -> Server:
    """Start the server on `port`; 0: on any free one. By default, on the usual one or, if that is taken, any.

    `more` are further environment variables. The functions inherit them: `AWS_ENDPOINT_URL_DYNAMODB`, for example.
    """
    shutil.rmtree(state_folder() / "tmp", ignore_errors=True)  # what a killed one has left
    (state_folder() / "tmp").mkdir(parents=True, exist_ok=True)
    if port and not is_free(port):
        changed = ", which changes the URLs" if has_saved() else ""
        raise LocalError(f"{taken(port)}\nFree it, or choose another port{changed}: {command('up --port N')}")
    if port is None:
        port = USUAL_PORT if is_free(USUAL_PORT) else 0
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
        return SERVICE.launch(port, environment={**environment, **(more or {})})
    except LocalError:
        if not has_saved():  # nothing has run here yet
            SERVICE.record.unlink(missing_ok=True)
        raise


def taken(port: int) -> str:
    """Return what to say of a port that somebody else listens on."""
    return f"port {port} is taken, perhaps by the local AWS server of another checkout"
