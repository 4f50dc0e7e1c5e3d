"""Invoke another Lambda function and wait for its result (Lambda API, "Invoke")."""

import json
from collections.abc import Mapping
from typing import Any

from .connection import NoResponse
from .request import encoded
from .service import Service, ServiceError


class InvocationFailed(Exception):
    """The function raised an error, was killed or timed out. The message is its errorMessage, `kind` its errorType."""

    def __init__(self, kind: str, message: str) -> None:
        super().__init__(message)
        self.kind = kind


class NotAllowed(Exception):
    """There is no such function, or it may not be invoked. A retry can only help if a new role is `unaccepted` yet."""

    def __init__(self, message: str, *, unaccepted: bool = False) -> None:
        super().__init__(message)
        self.unaccepted = unaccepted


class NotReached(Exception):
    """The error is transient, or no response came in time. The function may have run or may still run."""


def invoke(function: str, payload: Mapping[str, Any], timeout: float, *, idempotent: bool = False) -> dict[str, Any]:
    """Invoke a function and return its result. The connection is closed afterwards, since this is rare.

    `function` is an ARN, in whichever region, or a name in this region. `timeout` is in seconds for each attempt;
    `idempotent` as of `Service.post`. It raises InvocationFailed, NotAllowed or NotReached.
    """
    service = Service("lambda", function.split(":")[3] if function.startswith("arn:") else None)
    try:
        result, headers = service.post(
            f"/2015-03-31/functions/{encoded(function)}/invocations",
            {"Content-Type": "application/json"},
            json.dumps(payload).encode(),
            timeout=timeout,
            idempotent=idempotent,
        )
    except ServiceError as error:
        if error.transient:
            raise NotReached(str(error)) from error
        raise NotAllowed(str(error), unaccepted=error.unaccepted) from error
    except NoResponse as error:
        raise NotReached(str(error)) from error
    finally:
        service.close()
    document: dict[str, Any] = result if isinstance(result, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if "x-amz-function-error" in headers:
        raise InvocationFailed(str(document.get("errorType", "")), str(document.get("errorMessage", "no message")))
    return document
