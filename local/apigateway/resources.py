"""REST APIs. `server.py` serves them in a process of its own, which runs as long as there is an API.

Those that hand every request to a function are served by the local AWS server (`proxied.py`).
"""

import http.client
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from ..engine.state import Made
from ..paths import state_folder
from ..resources.kind import Aws, Result
from ..server.process import BackgroundService
from . import proxied

GATEWAY = BackgroundService("gateway", "local.apigateway.server")

_starting = Lock()


class RestApi:
    """A REST API. The process reads its document at each request, so a change is served at once."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Write the document, and start the process if it does not run."""
        if proxied.hands_over(inputs["body"]):
            return proxied.apply(aws, inputs, before)
        port = running(aws.endpoint)
        api = f"{inputs['region']}-{inputs['name']}"
        document = _folder() / f"{api}.json"
        fresh = document.with_suffix(".new")
        fresh.write_text(inputs["body"])
        fresh.replace(document)
        return Result(api, {"executionUrl": f"http://127.0.0.1:{port}/{api}"})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs, or None if it is no longer served."""
        if proxied.on_server(made.id):
            aws.client("apigateway", made.inputs["region"]).get_rest_api(restApiId=made.id)
            return made.outputs
        served = GATEWAY.runs() and (_folder() / f"{made.id}.json").exists()
        return made.outputs if served else None

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the document. The process ends with the last one."""
        if proxied.on_server(made.id):
            aws.client("apigateway", made.inputs["region"]).delete_rest_api(restApiId=made.id)
            return
        (_folder() / f"{made.id}.json").unlink(missing_ok=True)
        if not list(_folder().glob("*.json")):
            GATEWAY.stop()


class Deployment:
    """A deployment of an API. The process serves every change at once, so there it has nothing to do."""

    identity: tuple[str, ...] = ("region", "restApi")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Return a name that changes with the document, as an id does."""
        if proxied.on_server(inputs["restApi"]):
            client = aws.client("apigateway", inputs["region"])
            made = client.create_deployment(restApiId=inputs["restApi"])
            return Result(made["id"], {}, replaces=before is not None)
        return Result(f"{inputs['restApi']}-{inputs['triggers']['body'][:8]}", {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs."""
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the deployment, if there is something."""
        if proxied.on_server(made.inputs["restApi"]):
            client = aws.client("apigateway", made.inputs["region"])
            client.delete_deployment(restApiId=made.inputs["restApi"], deploymentId=made.id)


class Stage:
    """A stage of an API: the last part of its URL."""

    identity: tuple[str, ...] = ("region", "restApi", "stageName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Create the stage, if there is something to, and return its URL."""
        if proxied.on_server(inputs["restApi"]):
            client = aws.client("apigateway", inputs["region"])
            client.create_stage(
                restApiId=inputs["restApi"], stageName=inputs["stageName"], deploymentId=inputs["deployment"]
            )
        return Result(f"{inputs['restApi']}-{inputs['stageName']}", {"invokeUrl": self._url(aws, inputs)})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return the stage's URL."""
        return {"invokeUrl": self._url(aws, made.inputs)}

    def delete(self, aws: Aws, made: Made) -> None:
        """Delete the stage, if there is something."""
        if proxied.on_server(made.inputs["restApi"]):
            client = aws.client("apigateway", made.inputs["region"])
            client.delete_stage(restApiId=made.inputs["restApi"], stageName=made.inputs["stageName"])

    def _url(self, aws: Aws, inputs: Mapping[str, Any]) -> str:
        if proxied.on_server(inputs["restApi"]):
            return f"{aws.endpoint}/_aws/execute-api/{inputs['restApi']}/{inputs['stageName']}"
        return f"http://127.0.0.1:{running(aws.endpoint)}/{inputs['restApi']}/{inputs['stageName']}"


class MethodSettings:
    """The limits of a stage's methods, which don't apply here."""

    identity: tuple[str, ...] = ("region", "restApi", "stageName", "methodPath")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        """Do nothing."""
        return Result(f"{inputs['restApi']}-{inputs['stageName']}-{inputs['methodPath']}", {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        """Return its outputs."""
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        """Do nothing."""
        return


def running(endpoint: str) -> int:
    """Return the process's port. Start it if it doesn't run, on the same port as before if that is free.

    Args:
        endpoint: The server's URL, which a process that is started calls.
    """
    with _starting:
        recorded = GATEWAY.recorded()
        if recorded and GATEWAY.alive(recorded[0]):
            return recorded[1]
        _folder().mkdir(parents=True, exist_ok=True)
        return GATEWAY.start_module([str(_folder()), endpoint], _answers, "serves gatewayUrls")


def _answers(port: int) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2)
    try:
        connection.request("GET", "/")
        return connection.getresponse().status > 0
    except OSError:
        return False
    finally:
        connection.close()


def _folder() -> Path:
    return state_folder() / "apis"
