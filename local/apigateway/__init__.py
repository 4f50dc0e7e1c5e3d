"""API Gateway on this machine: a process that serves REST APIs by their mapping templates, as long as there is one."""

from pathlib import Path

from ..paths import state_folder
from ..server.process import BackgroundService, Server

GATEWAY = BackgroundService("gateway", "local.apigateway.rest_api_server", "the process that serves gatewayUrls")


def running(endpoint: str) -> Server:
    """Return the process. Start it unless it runs. It calls the local AWS server at this URL."""
    documents().mkdir(parents=True, exist_ok=True)
    return GATEWAY.running(endpoint)


def documents() -> Path:
    """Return the folder of the OpenAPI documents that the process serves.

    `<api>.json` is an API as it was last changed, `<api>/<stage>.json` as a stage serves it.
    """
    return state_folder() / "apis"


def url_of(api: str, stage: str, endpoint: str) -> str:
    """Return the URL of an API's stage, without a final `/`. `endpoint` is the local AWS server's."""
    if on_server(api):
        return f"{endpoint}/_aws/execute-api/{api}/{stage}"
    return f"{(GATEWAY.recorded() or Server(0, 0)).endpoint}/{api}/{stage}"


def on_server(api: str) -> bool:
    """Return whether the local AWS server serves this API, by its id. The ids of other APIs contain a region."""
    return "-" not in api
