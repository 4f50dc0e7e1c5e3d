"""Reads responses: the answer, or why the region failed."""

import json
from collections.abc import Mapping
from contextlib import suppress
from enum import Enum
from typing import Any, NamedTuple, cast

import httpx

from .names import MAX_INTEGER


class Kind(Enum):
    """What a failure means for the caller."""

    SILENT = "no response"
    TRANSIENT = "it may pass: 408, 429, 3xx, 5xx, or a response that isn't this API's"
    ABSENT = "404: there is no such counter, or no known owner"
    GONE = "410: the region has left the layout"
    REFUSED = "401 or 403: this region doesn't allow it"
    WRONG = "any other 4xx: no region would allow it"


class Failure(NamedTuple):
    """Why one attempt failed.

    `retry_after` (seconds) and `available` (the largest block that could be minted now) are 0 if unknown.
    """

    kind: Kind
    reason: str
    status: int = 0
    retry_after: float = 0.0
    available: int = 0
    problem: Mapping[str, Any] = {}


class Block(NamedTuple):
    """`count` integers of one region, from `first` on, `stride` apart."""

    region: str
    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    replayed: bool = False
    """Whether an earlier request with the same key minted them."""

    def integers(self) -> range:
        """Return the integers, the smallest first."""
        return range(self.first, self.first + self.count * self.stride, self.stride)


class Owner(NamedTuple):
    """The region that mints an integer.

    `minted` says whether it has been minted, and is None if the region that answered doesn't know.
    """

    counter: str
    integer: int
    region: str
    offset: int
    stride: int
    epoch: int
    minted: bool | None


class Unreadable(Exception):
    """The body of a response isn't this API's."""


def document_of(response: httpx.Response) -> Mapping[str, Any]:
    """Return the response's JSON object.

    Raises:
        Unreadable: it has none.
    """
    try:
        document: object = json.loads(response.content)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Unreadable(f"the response is not this API's: {response.content[:60].decode('ascii', 'replace')!r}")
    return cast("dict[str, Any]", document)


def integer(document: Mapping[str, Any], name: str, maximum: int = MAX_INTEGER) -> int:
    """Return a member that is an integer from 1 to `maximum`.

    Raises:
        Unreadable: it is not.
    """
    value = document.get(name)
    if type(value) is not int or not 1 <= value <= maximum:
        raise Unreadable(f"{name} is {value!r} in the response")
    return value


def failure_of(response: httpx.Response) -> Failure:
    """Return what an error response says."""
    status = response.status_code
    problem: Mapping[str, Any] = {}
    with suppress(Unreadable):
        problem = document_of(response)
    detail = problem.get("detail") or problem.get("message") or problem.get("Message") or response.reason_phrase
    return Failure(
        _kind_of(status),
        f"{status}: {str(detail)[:300]}",
        status,
        _seconds(response.headers.get("retry-after", "")),
        problem["available"] if type(problem.get("available")) is int else 0,
        problem,
    )


def _kind_of(status: int) -> Kind:
    kinds = {401: Kind.REFUSED, 403: Kind.REFUSED, 404: Kind.ABSENT, 408: Kind.TRANSIENT, 410: Kind.GONE}
    if status in kinds:
        return kinds[status]
    return Kind.WRONG if 400 <= status < 500 and status != 429 else Kind.TRANSIENT


def _seconds(retry_after: str) -> float:
    """Return the header's seconds, at most a minute. This API sends no dates in it."""
    return min(float(retry_after), 60.0) if retry_after.isascii() and retry_after.isdigit() else 0.0
