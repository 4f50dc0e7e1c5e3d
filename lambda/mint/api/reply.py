"""Responses: integers as JSON or text, errors as problem documents (RFC 9457)."""

import json
import os
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from ..model import Block, CounterItem
from .formats import JSON, Minted, written
from .request import MintRequest, Problem, Received

Response = dict[str, Any]
"""A Function URL's response, payload format 2.0 (Lambda guide, "Invoking function URLs")."""

RETRY_AFTER = {"Retry-After": "1"}
"""The header of transient errors, in seconds."""

RETRY_LATER = {"Retry-After": "5"}
"""The header of errors that the coordinator's next scheduled run ends, within minutes."""

STRICT_TRANSPORT = {"Strict-Transport-Security": "max-age=31536000"}
"""For a year, browsers use https only for this host. Its subdomains may be somebody else's, and aren't included."""


def minted_response(request: MintRequest, region: str, block: Block, *, replayed: bool) -> Response:
    """Return the minted integers, in the format that the request prefers.

    They are `replayed` if an earlier request with the same Idempotency-Key minted them.
    """
    media_type, body = written(Minted(request.counter, region, block, request.count is not None), request.accepted)
    headers = {"Vary": "Accept", **({"Idempotency-Replayed": "true"} if replayed else {})}
    return response_with(HTTPStatus.OK, media_type, body, headers)


def json_response(
    document: Mapping[str, Any], status: HTTPStatus = HTTPStatus.OK, headers: Mapping[str, str] | None = None
) -> Response:
    """Return a JSON document."""
    return response_with(status, JSON, json.dumps(document), headers or {})


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
    return response_with(problem.status, "application/problem+json", json.dumps(document), problem.headers)


def finished(response: Response, sent: Received) -> Response:
    """Return the response to a request that has minted nothing, as it is sent.

    To HEAD, it is the same as to GET, without the body (RFC 9110, section 9.3.2). Only over https, a page may tell the
    browser to use nothing else (RFC 6797, section 7.2).
    """
    if sent.https and response["headers"]["Content-Type"].startswith("text/html"):
        response = {**response, "headers": {**response["headers"], **STRICT_TRANSPORT}}
    return {**response, "body": ""} if sent.method == "HEAD" else response


def regions_instead(item: CounterItem | None) -> list[str]:
    """Return the regions to go to if this region leaves the layout and its item is fenced or missing, else none."""
    leaving = os.environ.get("LEAVING", "")
    return leaving.split(",") if leaving and (item is None or item.fenced) else []


def response_with(status: HTTPStatus, media_type: str, body: str, headers: Mapping[str, str]) -> Response:
    """Return a response that nobody may keep."""
    return {
        "statusCode": status.value,
        "headers": {"Content-Type": media_type, "Cache-Control": "no-store", **headers},
        "body": body,
        "isBase64Encoded": False,  # a REST API wants it
    }
