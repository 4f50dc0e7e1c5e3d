"""The local server's DynamoDB in the process of the tests: requests are signed and answered, without a socket.

A test that only needs tables is quick with it. What needs HTTP, policies or functions needs the server.
"""

import json
import re
from collections.abc import Callable
from threading import Lock
from typing import Any

import aws_client.service
import pytest
from aws_client.connection import Response, connect, read
from aws_client.service import DynamoDB
from aws_client.signed_request import Endpoint
from ministack.core.responses import set_request_region  # pyright: ignore[reportMissingTypeStubs]

from proof.simulation.expressions import MINISTACK

HOST = "in-process.invalid"

SIGNED = re.compile(r"Credential=\w+/\d+/([^/]+)/")
TARGET = re.compile(r"X-Amz-Target: (DynamoDB_20120810\.\w+)")

_ONE_AT_A_TIME = Lock()
"""So the server takes them, too."""


Answer = Callable[[str, str, dict[str, Any]], bytes | None]
"""Returns what a region answers to an operation (in lower case) with this request; None if its DynamoDB answers."""


class _Connection:
    """What the functions' client uses as a connection."""

    def __init__(self, here: "InProcess") -> None:
        self._here = here

    def exchange(self, request: bytes, timeout: float) -> Response:
        head, body = request.decode().split("\r\n\r\n", 1)
        (region,), (target,) = SIGNED.findall(head), TARGET.findall(head)
        answered = self._here.answer(region, target.split(".")[1].lower(), json.loads(body))
        if answered is not None:
            return read(iter([answered, b""]).__next__)
        with _ONE_AT_A_TIME:
            set_request_region(region)
            handled = MINISTACK.handle_request("POST", "/", {"x-amz-target": target}, body.encode(), {})
            status, headers, text = _returned(handled)
            if self._here.lost and self._here.lost.pop(0):
                return read(iter([b""]).__next__)
        lower = {name.lower(): value for name, value in headers.items()}
        return Response(status, lower, text if isinstance(text, bytes) else text.encode(), last=False)

    def alive(self) -> bool:
        return True

    def close(self) -> None: ...


def _returned(handled: Any) -> Any:
    """Return what a coroutine returns that waits for nothing."""
    try:
        handled.send(None)
    except StopIteration as stop:
        return stop.value
    raise AssertionError("it waits for something")


class _Client:
    """As much of boto3's client as tests of tables use."""

    def __init__(self, region: str) -> None:
        self._region = region

    def __getattr__(self, name: str) -> Callable[..., dict[str, Any]]:
        operation = "".join(map(str.capitalize, name.split("_")))

        def call(**request: Any) -> dict[str, Any]:
            return DynamoDB(self._region).call(operation, request)

        return call


class InProcess:
    """What tests need of `Aws`: clients of DynamoDB, by region. A test may answer calls itself."""

    endpoint = f"http://{HOST}"

    def __init__(self) -> None:
        self.answer: Answer = lambda _region, _operation, _request: None
        self.lost: list[bool] = []
        """Whether the replies to the next calls, which are carried out, are lost on their way."""

    def client(self, service: str, region: str) -> Any:
        """Return the client of a region."""
        assert service == "dynamodb"
        return _Client(region)


def answer_in_process(patch: pytest.MonkeyPatch) -> InProcess:
    """Let the functions' client reach DynamoDB in this process, at an endpoint of its own; others as ever."""
    here = InProcess()

    def connected(endpoint: Endpoint, timeout: Callable[[], float]) -> Any:
        return _Connection(here) if endpoint.host == HOST else connect(endpoint, timeout)

    patch.setattr(aws_client.service, "connect", connected)
    return here
