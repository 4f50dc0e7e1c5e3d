"""The process that is the stack's address on this machine: its start and its end."""

import http.client

from ..paths import state_folder
from ..server.process import BackgroundService

ADDRESS = BackgroundService("address", "local.domain.server")


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
    more = {"GLOBAL_INTEGERS_LOCAL": str(state_folder().resolve())}
    return _url(ADDRESS.start_module([endpoint], _reads_again, "is the address", more))


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
