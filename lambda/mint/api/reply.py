"""Responses: integers as JSON or text, errors as problem documents (RFC 9457)."""

import json
from collections.abc import Mapping
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..table import Block
    from .accept import Format

Response = dict[str, Any]
"""A Function URL's response, payload format 2.0 (Lambda guide, "Invoking function URLs")."""

BLOCK = "application/vnd.global-integers.block+json"
"""The media type of a block in short: as short for 100,000 integers as for one."""

RETRY_AFTER = {"Retry-After": "1"}
"""The header of transient errors, in seconds."""

RETRY_LATER = {"Retry-After": "5"}
"""The header of errors that the next run of the coordinator's schedule ends, within minutes."""


class Problem(Exception):
    """The reason why a request fails, with its HTTP status, further headers and members of the document."""

    def __init__(
        self,
        status: HTTPStatus,
        detail: str,
        headers: Mapping[str, str] | None = None,
        members: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(detail)
        self.status = status
        self.detail = detail
        self.headers = dict(headers or {})
        self.members = dict(members or {})


def minted_response(
    counter: str, region: str, block: "Block", *, form: "Format", single: bool, headers: Mapping[str, str]
) -> Response:
    """Return the minted integers.

    Args:
        counter: their counter.
        region: the region that minted them.
        block: the integers.
        form: "text" for one integer per line, "block" for the first, the last and their stride, otherwise all as JSON.
        single: whether one integer was requested. JSON has a list otherwise, even of one integer.
        headers: further headers of the response.
    """
    vary = {"Vary": "Accept", **headers}
    integers = block.integers()
    if form == "text":
        return _response(HTTPStatus.OK, "text/plain; charset=utf-8", "".join(f"{n}\n" for n in integers), vary)
    document: dict[str, Any] = {"counter": counter, "region": region}
    if form == "block":
        document |= {"first": integers[0], "last": integers[-1], "stride": block.stride, "count": block.count}
        return _response(HTTPStatus.OK, BLOCK, json.dumps(document), vary)
    document |= {"integer": block.first} if single else {"integers": list(integers)}
    return _response(HTTPStatus.OK, "application/json", json.dumps(document), vary)


def json_response(
    document: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a JSON document."""
    return _response(status, "application/json", json.dumps(document), headers or {})


def problem_response(problem: Problem, region: str) -> Response:
    """Return a problem document, which says the region that answers."""
    document = {
        "type": "about:blank",  # the status says enough (RFC 9457, section 4.2.1)
        "title": problem.status.phrase,
        "status": problem.status.value,
        "detail": problem.detail,
        "region": region,
        **problem.members,
    }
    return _response(problem.status, "application/problem+json", json.dumps(document), problem.headers)


def without_body(response: Response) -> Response:
    """Return the response to a HEAD request: the same as to GET, without the body (RFC 9110, section 9.3.2)."""
    return {**response, "body": ""}


def _response(status: HTTPStatus, media_type: str, body: str, headers: Mapping[str, str]) -> Response:
    return {
        "statusCode": status.value,
        "headers": {"Content-Type": media_type, "Cache-Control": "no-store", **headers},
        "body": body,
    }
