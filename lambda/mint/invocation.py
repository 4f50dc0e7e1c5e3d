"""Calling another Lambda function, and waiting for what it returns (Lambda reference, "Invoke")."""

import json
from collections.abc import Mapping
from typing import Any, cast

from .service import Service
from .signature import encoded


class FunctionFailed(Exception):
    """The function ran and raised, or ran out of time or memory. `message` is its errorMessage."""

    def __init__(self, function: str, message: str, kind: str) -> None:
        super().__init__(f"{function}: {kind}: {message}" if kind else f"{function}: {message}")
        self.message = message
        self.kind = kind
        """Its errorType: the exception's class."""


def invoke(
    function: str, payload: Mapping[str, Any], timeout: float, *, region: str | None = None, repeatable: bool = False
) -> Any:
    """Call `function` (a name or an ARN) in `region`, and return what it returns: decoded JSON, such as a dict.

    On a connection of its own, since it is seldom done. `timeout` in seconds, for an attempt. Unless
    `repeatable`, it is invoked at most once: tried again only if it certainly did not run. The
    coordinator may be called any number of times to the same effect, so calls of it are repeatable.

    Raises:
        FunctionFailed, NoAnswer, ServiceError (such as ResourceNotFoundException, AccessDeniedException)
    """
    service = Service("lambda", region)
    try:
        reply = service.post(
            f"/2015-03-31/functions/{encoded(function)}/invocations",
            {"Content-Type": "application/json"},
            json.dumps(payload).encode(),
            timeout=timeout,
            repeatable=repeatable,
        )
    finally:
        service.close()
    if "x-amz-function-error" in reply.headers:
        error: Mapping[str, Any] = (
            cast("Mapping[str, Any]", reply.document) if isinstance(reply.document, Mapping) else {}
        )
        raise FunctionFailed(function, str(error.get("errorMessage", "no message")), str(error.get("errorType", "")))
    return reply.document
