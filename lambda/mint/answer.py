"""What goes back over HTTP: integers as JSON or text, errors as problem documents (RFC 9457)."""

import json
from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import Any

Answer = dict[str, Any]
"""A Function URL's response, payload format 2.0 (Lambda guide, "Invoking function URLs")."""


class Problem(Exception):
    """A request that gets no integer, and why. `status` is the HTTP status, `headers` go with it."""

    def __init__(self, status: HTTPStatus, detail: str, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})


def minted(
    counter: str, region: str, integers: Sequence[int], *, block: bool, as_text: bool, headers: Mapping[str, str]
) -> Answer:
    """`block`: a list even of one. Text is the integers, one a line."""
    vary = {"Vary": "Accept", **headers}
    if as_text:
        return _answer(HTTPStatus.OK, "text/plain; charset=utf-8", "".join(f"{n}\n" for n in integers), vary)
    document: dict[str, Any] = {"counter": counter, "region": region}
    document |= {"integers": list(integers)} if block else {"integer": integers[0]}
    return _answer(HTTPStatus.OK, "application/json", json.dumps(document), vary)


def told(
    document: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Answer:
    """What was asked for, where that is no integer."""
    return _answer(status, "application/json", json.dumps(document), headers or {})


def problem(refusal: Problem) -> Answer:
    document = {
        "type": "about:blank",  # RFC 9457, section 4.2.1: the status says it all
        "title": refusal.status.phrase,
        "status": refusal.status.value,
        "detail": refusal.detail,
    }
    return _answer(refusal.status, "application/problem+json", json.dumps(document), refusal.headers)


def _answer(status: HTTPStatus, media_type: str, body: str, headers: Mapping[str, str]) -> Answer:
    return {
        "statusCode": status.value,
        "headers": {"Content-Type": media_type, "Cache-Control": "no-store", **headers},
        "body": body,
    }
