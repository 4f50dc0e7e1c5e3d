"""The process that is the stack's address on this machine: its start and its end."""

import http.client
import os
import sys

from ..paths import ROOT, LocalError, state_folder
from ..ports import any_free_port, is_free
from ..process import Service

ADDRESS = Service("address", "local.address.server")


def running(endpoint: str) -> str:
    """Return the process's URL, once it knows the records as they are now.

    Start it if it doesn't run, on the same port as before if that is free.

    Args:
        endpoint: the local server's URL.

    Raises:
        LocalError: it doesn't start.
    """
    recorded = ADDRESS.recorded()
    if recorded and ADDRESS.alive(recorded[0]) and _reads_again(recorded[1]):
        return _url(recorded[1])
    ADDRESS.stop()
    port = recorded[1] if recorded and is_free(recorded[1]) else any_free_port()
    command = [sys.executable, "-m", "local.address.server", str(port), endpoint]
    environment = {
        "PATH": os.environ.get("PATH", os.defpath),
        "PYTHONPATH": str(ROOT),
        "PYTHONDONTWRITEBYTECODE": "1",
        "HOME": str(state_folder()),
        "GLOBAL_INTEGERS_LOCAL": str(state_folder().resolve()),
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    process = ADDRESS.start(command, environment, port)
    if not ADDRESS.comes_up(process.pid, lambda: _reads_again(port)):
        ADDRESS.stop()
        raise LocalError(f"the process that is the address does not come up.\n{ADDRESS.log_end()}")
    return _url(port)


def _url(port: int) -> str:
    return f"http://127.0.0.1:{port}/"


def _reads_again(port: int) -> bool:
    """Let it read the records now. Return whether it answers."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    try:
        connection.request("OPTIONS", "*")
        return connection.getresponse().status > 0
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
