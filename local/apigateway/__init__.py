"""API Gateway on this machine: a process that serves REST APIs by their mapping templates, as long as there is one."""

from pathlib import Path
from threading import Lock

from ..paths import state_folder
from ..server.process import BackgroundService, status

GATEWAY = BackgroundService("gateway", "local.apigateway.server")

_starting = Lock()


def running(endpoint: str) -> int:
    """Return the process's port. Start it if it doesn't run, on the same port as before if that is free.

    Args:
        endpoint: The server's URL, which a process that is started calls.
    """
    with _starting:
        recorded = GATEWAY.recorded()
        if recorded and GATEWAY.alive(recorded[0]):
            return recorded[1]
        documents().mkdir(parents=True, exist_ok=True)
        return GATEWAY.start_module([str(documents()), endpoint], _answers, "serves gatewayUrls")


def _answers(port: int) -> bool:
    return status(port) is not None


def documents() -> Path:
    """Return the folder of the OpenAPI documents that the process serves."""
    return state_folder() / "apis"


def on_server(api: str) -> bool:
    """Return whether the local AWS server serves this API, by its id. The ids of other APIs contain a region."""
    return "-" not in api
