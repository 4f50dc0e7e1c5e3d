"""Sends a minting function the event of a request, as its Function URL would, and reads the response."""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from aws.invocation import InvocationFailed, NotAllowed, NotReached, invoke

TIMEOUT = 35
"""Seconds for each attempt. A minting function runs for at most 30."""

MOST = 300
"""Characters of a response that are shown."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    text: str
    """For people."""
    status: int = 0
    """The HTTP status; 0 if there is no response."""
    document: Mapping[str, Any] = field(default_factory=dict[str, Any])
    """The response's JSON object; empty if it is none."""
    passing: bool = False
    """Whether it is an error that ends by itself, so that asking again may help."""


def ask(function: str, method: str, path: str) -> Answer:
    """Return the answer of the minting function with this ARN. The function may run more than once."""
    try:
        return answer_of(invoke(function, _event(method, path), TIMEOUT, idempotent=True))
    except InvocationFailed as failed:
        return Answer(": ".join(filter(None, ["an error of the function", failed.kind, str(failed)]))[:MOST])
    except NotAllowed as refused:  # AWS may not know the coordinator's new policy yet
        return Answer(str(refused)[:MOST], passing=refused.unaccepted)
    except NotReached as lost:
        return Answer(str(lost)[:MOST], passing=True)


def answer_of(response: Mapping[str, Any]) -> Answer:
    """Read a response (payload format 2.0). It may be anything, since a bad build wrote it."""
    status, body = response.get("statusCode"), response.get("body")
    if not isinstance(status, int):
        return Answer(f"no HTTP response: {json.dumps(response)}"[:MOST])
    headers: Any = response.get("headers")
    names = [str(name).lower() for name in cast("Mapping[Any, Any]", headers)] if isinstance(headers, dict) else []
    passing = status == 429 or (status == 503 and "retry-after" in names)
    return Answer(f"{status} {body}"[:MOST], status, _object(body), passing)


def _object(body: object) -> Mapping[str, Any]:
    try:
        found: Any = json.loads(body) if isinstance(body, str) else None
    except ValueError:
        return {}
    return cast("Mapping[str, Any]", found) if isinstance(found, dict) else {}


def _event(method: str, path: str) -> dict[str, Any]:
    """Return the event. It has no domain name. By this the function knows that no caller sent it."""
    agent = "global-integers-check"
    return {
        "version": "2.0",
        "routeKey": "$default",
        "rawPath": path,
        "rawQueryString": "",
        "headers": {"accept": "*/*", "user-agent": agent},
        "requestContext": {
            "http": {
                "method": method,
                "path": path,
                "protocol": "HTTP/1.1",
                "sourceIp": "127.0.0.1",
                "userAgent": agent,
            },
            "routeKey": "$default",
            "stage": "$default",
            "timeEpoch": int(time.time() * 1000),
        },
        "isBase64Encoded": False,
    }
