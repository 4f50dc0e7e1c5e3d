"""REST APIs, served by `server.py` in a process of its own, which runs as long as there is one."""

import http.client
import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from threading import Lock
from typing import Any

from ..paths import ROOT, LocalError, state_folder
from ..ports import any_free_port, is_free
from ..process import Service
from ..resources.kind import Aws, Result
from ..state import Made

GATEWAY = Service("gateway", "local.apigateway.server")
START_TIMEOUT = 30
"""Seconds."""

_starting = Lock()


class RestApi:
    """Its document is a file, which the process reads at each request: a change is served at once."""

    identity: tuple[str, ...] = ("region", "name")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        port = _running(aws)
        api = f"{inputs['region']}-{inputs['name']}"
        document = _folder() / f"{api}.json"
        fresh = document.with_suffix(".new")
        fresh.write_text(inputs["body"])
        fresh.replace(document)
        return Result(api, {"executionUrl": f"http://127.0.0.1:{port}/{api}"})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        running = GATEWAY.recorded()
        there = running and GATEWAY.alive(running[0]) and (_folder() / f"{made.id}.json").exists()
        return made.outputs if there else None

    def delete(self, aws: Aws, made: Made) -> None:
        (_folder() / f"{made.id}.json").unlink(missing_ok=True)
        if not list(_folder().glob("*.json")):
            GATEWAY.stop()


class Deployment:
    """Whatever is defined here is served: only the name counts, which its triggers change."""

    identity: tuple[str, ...] = ("region", "restApi")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        return Result(f"{inputs['restApi']}-{inputs['triggers']['body'][:8]}", {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        return


class Stage:
    """Stage."""

    identity: tuple[str, ...] = ("region", "restApi", "stageName")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        return Result(f"{inputs['restApi']}-{inputs['stageName']}", {"invokeUrl": self._url(aws, inputs)})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        return {"invokeUrl": self._url(aws, made.inputs)}

    def delete(self, aws: Aws, made: Made) -> None:
        return

    def _url(self, aws: Aws, inputs: Mapping[str, Any]) -> str:
        return f"http://127.0.0.1:{_running(aws)}/{inputs['restApi']}/{inputs['stageName']}"


class MethodSettings:
    """Throttling: not here."""

    identity: tuple[str, ...] = ("region", "restApi", "stageName", "methodPath")

    def apply(self, aws: Aws, inputs: dict[str, Any], before: Made | None) -> Result:
        return Result(f"{inputs['restApi']}-{inputs['stageName']}-{inputs['methodPath']}", {})

    def read(self, aws: Aws, made: Made) -> Mapping[str, Any] | None:
        return made.outputs

    def delete(self, aws: Aws, made: Made) -> None:
        return


def _running(aws: Aws) -> int:
    """The port of the process, started if it isn't running; the same as before, if that is free."""
    with _starting:
        recorded = GATEWAY.recorded()
        if recorded and GATEWAY.alive(recorded[0]):
            return recorded[1]
        port = recorded[1] if recorded and is_free(recorded[1]) else any_free_port()
        _folder().mkdir(parents=True, exist_ok=True)
        command = [sys.executable, "-m", "local.apigateway.server", str(port), str(_folder()), aws.endpoint]
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONPATH": str(ROOT),
            "PYTHONDONTWRITEBYTECODE": "1",
            "HOME": str(state_folder()),
            "AWS_EC2_METADATA_DISABLED": "true",
        }
        process = GATEWAY.start(command, environment, port)
        deadline = time.monotonic() + START_TIMEOUT
        while not _answers(port):
            if process.poll() is not None or time.monotonic() > deadline:
                GATEWAY.stop()
                raise LocalError(f"the process that stands for API Gateway does not come up.\n{GATEWAY.log_end()}")
            time.sleep(0.05)
        return port


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
