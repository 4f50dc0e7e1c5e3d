"""The API's requests, and how their responses are read (docs/api.md). No I/O.

Wrong names, keys and sizes are refused before anything is sent, with a `ValueError`. Of a response, only what belongs
to its request is believed: the region, the counter, the integer and the size must be those that were asked for.
"""

import json
import re
import reprlib
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Generic, NamedTuple, TypeVar, cast
from urllib.parse import quote

from ..errors import FailedEverywhere, UnknownCounter, UnknownOwner

COUNTER_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,62}")
KEY = re.compile(r"[\x21-\x7e]{1,255}")

REGION = re.compile(r"[a-z]+(-[a-z]+)+-[1-9][0-9]?")
"""AWS's names of regions, like eu-west-1."""

PROBLEM = "application/problem+json"
"""The media type of this API's errors (RFC 9457). Lambda, API Gateway and other servers send others."""

OUTDATED = (
    "The URLs may be from an earlier deployment. Take them from the stack's outputs again: `pulumi stack output "
    "--json`, or on one machine `.venv/bin/python -m local outputs --json`"
)
"""The hint if a URL leads to no region of the stack."""

PAUSED = "the region is paused, or it has too many requests"
"""The reason if AWS answers instead of the function: Lambda with 429, API Gateway at a domain with 500 or 503."""

UNSIGNED = (
    "The request wasn't signed, and a stack with `authorization: AWS_IAM` requires that (docs/api.md#who-may-call). "
    "Signing needs botocore (`pip install botocore`) and credentials; with sign=True, or --sign on the command line, "
    "the error names what is missing"
)
"""The hint if AWS refuses a request without a signature."""

DENIED = (
    "The signer may not call this stack, or the credentials are wrong or have expired, or an opt-in region refuses a "
    "token of STS's global endpoint (docs/api.md#who-may-call)"
)
"""The hint if AWS refuses a request with a signature."""

NOWHERE = f"Or the URL leads nowhere, which AWS answers likewise. {OUTDATED}"
"""The rest of the hint if that may be why."""

CLOSED = (
    "It needs the setting `openCounters`: run `pulumi config set openCounters true` and `pulumi up`; on one machine, "
    "`.venv/bin/python -m local up` with the options of the last time and `-c openCounters=true`"
)
"""The hint if callers may not create counters."""

MAX_INTEGER = 2**53 - 1
"""The largest integer that is ever minted."""

MAX_BLOCK = 100_000
"""The largest number of integers that one request mints."""

BLOCK = "application/vnd.global-integers.block+json"
"""The media type of a block's short form: its first and last integer and its stride."""

T = TypeVar("T")


def checked_counter(name: str) -> str:
    """Return the name, or raise a `ValueError` if no counter can have it."""
    if not isinstance(name, str) or not COUNTER_NAME.fullmatch(name):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"{name!r} is not a counter's name; it must match {COUNTER_NAME.pattern}")
    return name


def key_header(key: str) -> str:
    """Return the value of the header `Idempotency-Key`: the key, quoted (RFC 8941) where a bare one is ambiguous."""
    if not isinstance(key, str) or not KEY.fullmatch(key):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ValueError(f"key {reprlib.repr(key)} is not 1 to 255 visible ASCII characters, without spaces")
    if "," not in key and not key.startswith('"'):
        return key
    return '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'


class FailureKind(Enum):
    """What a failure means for the caller."""

    SILENT = "no response"
    TRANSIENT = "it may pass, or another region may do better: 3xx, 5xx, most 4xx, or not this API's response"
    ABSENT = "404: there is no such counter, or no known owner; or 503 with `granted`: it can't know the owner yet"
    GONE = "410: the region has left the layout; or 404, and not from this API: the URL leads to no region"
    FORBIDDEN = "403 from AWS: the caller isn't allowed, or the URL leads nowhere"
    REFUSED = "401, or 403 from this API: this region doesn't allow it"
    WRONG = "400, 405, 413, 414, 415, 422: no region would allow it"


KINDS = {
    **dict.fromkeys((400, 405, 413, 414, 415, 422), FailureKind.WRONG),
    **dict.fromkeys((401, 403), FailureKind.REFUSED),
    404: FailureKind.ABSENT,
    410: FailureKind.GONE,
}
"""What a status says of the request. Any other one may pass, or comes from a server in between."""


class Failure(NamedTuple):
    """Why one attempt failed.

    `retry_after` (seconds), `available` (the largest block that could be minted now) and `max_block` (the largest one
    that ever can) are 0 if unknown. A message has the `hint` once, however many regions fail for the same reason.
    """

    kind: FailureKind
    reason: str
    status: int = 0
    retry_after: float = 0.0
    available: int = 0
    max_block: int = 0
    problem: Mapping[str, Any] = {}
    hint: str = ""


class MintedBlock(NamedTuple):
    """`count` integers of one region, from `first` on, and the counter that they are of.

    `replayed`: an earlier request with the same key minted them.
    """

    region: str
    first: int
    stride: int
    count: int  # pyright: ignore[reportIncompatibleMethodOverride]
    replayed: bool = False
    counter: str = ""

    @property
    def last(self) -> int:
        """The largest integer."""
        return self.first + (self.count - 1) * self.stride

    def integers(self) -> range:
        """Return them, the smallest first."""
        return range(self.first, self.first + self.count * self.stride, self.stride)


class Owner(NamedTuple):
    """The region that mints an integer. `minted` is None if that isn't known; `reason` says why, and what to do."""

    counter: str
    integer: int
    region: str
    offset: int
    stride: int
    epoch: int
    minted: bool | None
    reason: str = ""


class ApiResponse(NamedTuple):
    """A whole response of a region. The names of headers are compared in any case. `phrase` is the status in words."""

    region: str
    status: int
    headers: Mapping[str, str]
    body: bytes
    phrase: str = ""
    signed: bool = False


class Unreadable(Exception):
    """The body of a response isn't this API's."""


@dataclass(frozen=True)
class ApiRequest(Generic[T]):
    """One request, which may be sent to any region.

    Attributes:
        subject: what it is about, for messages, such as "counter 'orders'".
        read: returns what a successful response and its document say, or raises `Unreadable`.
        counter: the counter that the response must be about; "": any.
        own: whether the response must be the region's own. At a domain, any region may respond.
        count: the size of the block to mint, 0 if nothing is minted.
        key: the idempotency key, "" if there is none.
        nowhere: the caller's error if every region that responded says 404, or that it wasn't granted the integer.
    """

    subject: str
    method: str
    path: str
    read: Callable[[ApiResponse, Mapping[str, Any]], T]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    counter: str = ""
    own: bool = False
    count: int = 0
    key: str = ""
    nowhere: type[FailedEverywhere] = UnknownCounter

    def url(self, base: str) -> str:
        """Return the request's URL in the region whose own URL is `base`, which ends with a slash."""
        return f"{base}{self.path}?count={self.count}" if self.count else base + self.path

    def answer(self, response: ApiResponse) -> T | Failure:
        """Return what the response says, or why it is no answer."""
        if not 200 <= response.status < 300:
            return _failure(response)
        try:
            document = _document_of(response)
            region = document.get("region")
            if self.own and REGION.fullmatch(response.region) and region != response.region:
                raise Unreadable(f"the response is of the region {region!r}")
            if self.counter and document.get("counter") != self.counter:
                raise Unreadable(f"the response is about counter {document.get('counter')!r}")
            if self.count and document.get("count") != self.count:
                raise Unreadable(f"the response has count {document.get('count')!r}, not {self.count}")
            return self.read(response, document)
        except Unreadable as unreadable:
            return Failure(FailureKind.TRANSIENT, str(unreadable), response.status)


def mint(counter: str, count: int = 1, key: str | None = None) -> ApiRequest[MintedBlock]:
    """Return the request to mint a block from a counter, "" for the default one."""
    if type(count) is not int or not 1 <= count <= MAX_BLOCK:
        raise ValueError(f"count {count} is not within 1 to {MAX_BLOCK:,}, the most that one request can mint")
    headers = {"Accept": BLOCK} | ({"Idempotency-Key": key_header(key)} if key is not None else {})
    path = checked_counter(counter) if counter else ""
    return ApiRequest(subject(counter), "POST", path, _block, headers, counter, own=True, count=count, key=key or "")


def owner(counter: str, number: int) -> ApiRequest[tuple[Owner, str | None]]:
    """Return the request for an integer's owner. Its answer is the owner, and the region that knows more, if any."""
    if type(number) is not int or not 1 <= number <= MAX_INTEGER:
        raise ValueError(f"{number!r} is not an integer from 1 to {MAX_INTEGER}")

    def read(response: ApiResponse, document: Mapping[str, Any]) -> tuple[Owner, str | None]:
        if document.get("integer") != number:
            raise Unreadable(f"the response is about {document.get('integer')!r}")
        region, minted, ask = str(document.get("region")), document.get("minted"), document.get("ask")
        offset, stride = _integer(document, "offset", 64), _integer(document, "stride", 64)
        known = minted if isinstance(minted, bool) else None
        asked = ask if isinstance(ask, str) else None
        reason = _unknown(region, response.region, asked) if known is None else ""
        return Owner(counter, number, region, offset, stride, _integer(document, "epoch"), known, reason), asked

    path = f"{checked_counter(counter)}/{number}"
    return ApiRequest(f"{number} of {subject(counter)}", "GET", path, read, counter=counter, nowhere=UnknownOwner)


def _unknown(owner: str, answered: str, ask: str | None) -> str:
    """Return why it isn't known whether an integer was minted, and what to do. `answered`: the region, or a domain."""
    if ask is not None:
        return f"only {ask} knows, and it has not answered; ask again later"
    left, lost = f"{owner} has left the layout", f"the counters table of {owner} was lost, restored or deleted since"
    why = lost if answered == owner else f"{left}, or {lost}" if "." in answered else left
    return f"{why}, so no region knows; treat it as minted, and look for it in your own records"


def create(counter: str) -> ApiRequest[bool]:
    """Return the request to create a counter in all regions. Its answer is whether the counter is new."""
    path = checked_counter(counter)
    return ApiRequest(subject(counter), "PUT", path, lambda response, _: response.status == 201, counter=counter)


def health() -> ApiRequest[bool]:
    """Return the request that asks whether a region can mint. Its answer is True."""

    def read(_: ApiResponse, document: Mapping[str, Any]) -> bool:
        if document.get("status") != "ok":
            raise Unreadable(f"status is {document.get('status')!r} in the response")
        return True

    return ApiRequest("health", "GET", "-/health", read, own=True)


def status(counter: str = "") -> ApiRequest[Mapping[str, Any]]:
    """Return the request for the state of a counter, "" for the default one, in a region."""
    path = f"-/status?counter={checked_counter(counter)}" if counter else "-/status"
    return ApiRequest(path, "GET", path, lambda _, document: document)


def counters(after: str = "") -> ApiRequest[tuple[list[str], str | None]]:
    """Return the request for a page of a region's counters. Its answer is their names, and the next page's `after`."""

    def read(_: ApiResponse, document: Mapping[str, Any]) -> tuple[list[str], str | None]:
        found, following = document.get("counters"), document.get("next")
        names = cast("list[object]", found) if isinstance(found, list) else [None]
        listed = [name for name in names if isinstance(name, str) and COUNTER_NAME.fullmatch(name)]
        if len(listed) != len(names) or following == after:
            raise Unreadable("the response is no page of a list of counters")
        return listed, following if isinstance(following, str) else None

    path = "-/counters?limit=250" + (f"&after={quote(after, safe='')}" if after else "")
    return ApiRequest("the list of counters", "GET", path, read)


def default_counter() -> ApiRequest[str]:
    """Return the request for the name of the stack's default counter."""
    path = "-/status"
    return ApiRequest("the default counter's name", "GET", path, lambda _, document: _counter(document), own=True)


def regions(domain: str, counter: str) -> ApiRequest[list[str]]:
    """Return the request for the names of a domain's regions: none if the region doesn't know the counter.

    It must be one that the caller may use, or "" for the default one, without which a response is no answer.
    """

    def read(_: ApiResponse, document: Mapping[str, Any]) -> list[str]:
        found = document.get("regions")
        names = cast("list[object]", found) if isinstance(found, list) else []
        named = [name for name in names if isinstance(name, str) and REGION.fullmatch(name)]
        if not counter and not named:
            raise Unreadable("the status names no regions; does the counter exist?")
        return named

    return ApiRequest(f"the regions of {domain}", "GET", status(counter).path, read)


def _document_of(response: ApiResponse) -> Mapping[str, Any]:
    """Return the response's JSON object, or raise `Unreadable`."""
    try:
        document: object = json.loads(response.body)
    except (ValueError, RecursionError):
        document = None
    if not isinstance(document, dict):
        raise Unreadable(f"the response is not this API's: {response.body[:60].decode('ascii', 'replace')!r}")
    return cast("dict[str, Any]", document)


def subject(counter: str) -> str:
    """Return what a request about a counter is about, for messages."""
    return f"counter {counter!r}" if counter else "the default counter"


def _block(response: ApiResponse, document: Mapping[str, Any]) -> MintedBlock:
    first, last = _integer(document, "first"), _integer(document, "last")
    stride, count = _integer(document, "stride", 64), _integer(document, "count", MAX_BLOCK)
    if last != first + (count - 1) * stride:
        raise Unreadable(f"{count} integers, {stride} apart, are not those from {first} to {last}")
    replayed = "idempotency-replayed" in response.headers
    return MintedBlock(response.region, first, stride, count, replayed, _counter(document))


def _counter(document: Mapping[str, Any]) -> str:
    """Return the name of the counter that a response is about, or raise `Unreadable`."""
    name = document.get("counter")
    if not isinstance(name, str) or not COUNTER_NAME.fullmatch(name):
        raise Unreadable(f"counter is {name!r} in the response")
    return name


def _integer(document: Mapping[str, Any], name: str, maximum: int = MAX_INTEGER) -> int:
    """Return a member that is an integer from 1 to `maximum`, or raise `Unreadable`."""
    value = document.get(name)
    if type(value) is not int or not 1 <= value <= maximum:
        raise Unreadable(f"{name} is {value!r} in the response")
    return value


def _failure(response: ApiResponse) -> Failure:
    problem: Mapping[str, Any] = {}
    with suppress(Unreadable):
        problem = _document_of(response)
    kind = KINDS.get(response.status, FailureKind.TRANSIENT)
    if type(problem.get("granted")) is int:  # the integer whose owner is asked for is above that
        kind = FailureKind.ABSENT
    explained = not problem.keys().isdisjoint(("detail", "message", "Message"))
    detail = problem.get("detail") or problem.get("message") or problem.get("Message") or response.phrase
    status, hint = response.status, ""
    reason = f"{status}: {str(detail)[:300]}"
    own = response.headers.get("content-type", "").partition(";")[0].strip().lower() == PROBLEM
    if not own and status == 403:
        kind = FailureKind.FORBIDDEN
    elif not own and (status == 404 or (kind is FailureKind.WRONG and not explained)):  # AWS sends no such 4xx
        kind, reason = FailureKind.GONE, f"{reason}: the URL answers, but not as this API"
    if status == 429:
        limit = str(detail).partition("Rate Exceeded. ")[2]  # AWS says no more; a server on one machine does
        reason = f"429: {PAUSED}. {limit}" if limit else f"429: {PAUSED}"
    elif status in (500, 503) and explained and not own:
        reason = f"{status}: {PAUSED}, or its function failed"
    if kind is FailureKind.GONE:
        hint = OUTDATED
    elif kind is FailureKind.FORBIDDEN:
        hint = f"{DENIED if response.signed else UNSIGNED}. {NOWHERE}"
    elif kind is FailureKind.REFUSED:
        hint = CLOSED if own and "openCounters" in str(detail) else UNSIGNED if not own and not response.signed else ""
    available, most = (_known(problem, name) for name in ("available", "maxBlock"))
    after = response.headers.get("retry-after", "")
    seconds = min(float(after), 60.0) if after.isascii() and after.isdigit() else 0.0  # this API sends no dates
    return Failure(kind, reason, status, seconds, available, most, problem, hint)


def _known(problem: Mapping[str, Any], name: str) -> int:
    value = problem.get(name)
    return value if type(value) is int and value > 0 else 0
