"""Calls another function and waits for its answer (Lambda reference, "Invoke")."""

import json
from collections.abc import Mapping
from typing import Any

from .failure import NoAnswer, ServiceError
from .service import Service
from .signature import encoded


class InvocationFailed(Exception):
    """The function ran and raised, was ended, or ran out of time: its errorMessage; `kind` is its errorType."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NotAllowed(Exception):
    """It can't be asked, and asking again won't help: it isn't there, or this function may not."""


class NotReached(Exception):
    """It was refused for now, or there is no answer in time or none at all: it may run nevertheless."""


def invoke(function: str, payload: Mapping[str, Any], timeout: float, *, repeatable: bool = False) -> dict[str, Any]:
    """`function`: an ARN, whose region is asked, or a name in this region. `timeout` in seconds, for an attempt.

    On a connection of its own, since it is seldom done. Unless `repeatable`, the function runs at most once:
    it is asked again only if it certainly did not run. The coordinator may be asked any number of times
    to the same effect, so asking it is repeatable.

    Raises:
        InvocationFailed, NotAllowed, NotReached
    """
    service = Service("lambda", function.split(":")[3] if function.startswith("arn:") else None)
    try:
        reply = service.post(
            f"/2015-03-31/functions/{encoded(function)}/invocations",
            {"Content-Type": "application/json"},
            json.dumps(payload).encode(),
            timeout=timeout,
            repeatable=repeatable,
        )
    except ServiceError as error:
        raise (NotReached if error.transient else NotAllowed)(str(error)) from error
    except NoAnswer as error:
        raise NotReached(str(error)) from error
    finally:
        service.close()
    document: dict[str, Any] = reply.document if isinstance(reply.document, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if "x-amz-function-error" in reply.headers:
        raise InvocationFailed(str(document.get("errorType", "")), str(document.get("errorMessage", "no message")))
    return document
