"""Call Lambda's API about a function, above all to invoke it (Lambda API, "Invoke")."""

import base64
import json
from collections.abc import Mapping
from typing import Any

from .service import Service
from .signed_request import encoded


class InvocationFailed(Exception):
    """The function raised an error, was killed or timed out. The message is its errorMessage, `kind` its errorType.

    `log` is the end of its log, if that was asked for.
    """

    def __init__(self, kind: str, message: str, log: str = "") -> None:
        super().__init__(message)
        self.kind = kind
        self.log = log


def invoke(function: str, payload: Mapping[str, Any], timeout: float) -> dict[str, Any]:
    """Invoke the function with this ARN, and return its result. It may run more than once.

    `timeout` is in seconds for each attempt. The connection is closed afterwards, since this is rare.

    Raises:
        InvocationFailed: the function failed.
        NoResponse: the last attempt got no valid response. The function may still run.
        ServiceError: there is no such function, or it couldn't be invoked.
    """
    return _result(*_post(function, payload, timeout), "")


def invoke_with_log(function: str, payload: Mapping[str, Any], timeout: float) -> tuple[dict[str, Any], str]:
    """Do what `invoke` does, and return the end of the invocation's log beside its result: at most 4 KB.

    Raises:
        InvocationFailed, NoResponse, ServiceError: as `invoke`.
    """
    result, headers = _post(function, payload, timeout, {"X-Amz-Log-Type": "Tail"})
    log = base64.b64decode(headers.get("x-amz-log-result", "")).decode(errors="replace")
    return _result(result, headers, log), log


def _result(result: Any, headers: Mapping[str, str], log: str) -> dict[str, Any]:
    document: dict[str, Any] = result if isinstance(result, dict) else {}  # pyright: ignore[reportUnknownVariableType]
    if "x-amz-function-error" in headers:
        raise InvocationFailed(str(document.get("errorType", "")), str(document.get("errorMessage", "no message")), log)
    return document


def send(function: str, event: Mapping[str, Any], timeout: float) -> None:
    """Invoke the function with this ARN asynchronously. Return once Lambda has accepted the event.

    There is one attempt of `timeout` seconds.

    Raises:
        NoResponse: no valid response. The function may run.
        ServiceError: there is no such function, or it couldn't be invoked.
    """
    _post(function, event, timeout, {"X-Amz-Invocation-Type": "Event"}, attempts=1)


def _post(
    function: str,
    payload: Mapping[str, Any],
    timeout: float,
    more: Mapping[str, str] | None = None,
    *,
    attempts: int | None = None,
) -> tuple[Any, Mapping[str, str]]:
    region = function.split(":")[3]
    return about(function, region, "POST", "invocations", payload, more, timeout=timeout, attempts=attempts)


def about(
    function: str,
    region: str,
    method: str,
    path: str,
    document: Mapping[str, Any] | None = None,
    more: Mapping[str, str] | None = None,
    *,
    timeout: float,
    connect_timeout: float | None = None,
    attempts: int | None = None,
) -> tuple[Any, Mapping[str, str]]:
    """Send a region's Lambda a request about the function with this name or ARN. Return what `Service.request` does.

    `path` is below the function's own, `more` are further headers. The connection is closed afterwards.

    Raises:
        NoResponse, ServiceError: as `Service.request`.
    """
    service = Service("lambda", region)
    headers = {"Content-Type": "application/json", **(more or {})}
    body = b"" if document is None else json.dumps(document).encode()
    try:
        return service.request(
            method,
            f"/2015-03-31/functions/{encoded(function)}/{path}",
            headers,
            body,
            timeout=timeout,
            connect_timeout=connect_timeout,
            attempts=attempts,
        )
    finally:
        service.close()
