"""The requests of the API, and how their responses are read (docs/api.md)."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Generic, TypeVar

import httpx

from .answers import Block, Failure, Kind, Owner, Unreadable, document_of, failure_of, integer
from .names import MAX_BLOCK, REGION, checked_counter, key_header

BLOCK = "application/vnd.global-integers.block+json"
"""The media type of a block's short form: its first and last integer and its stride."""

T = TypeVar("T")


@dataclass(frozen=True)
class Call(Generic[T]):
    """One request, which may be sent to any region.

    Attributes:
        subject: what it is about, for messages, such as "counter 'orders'".
        read: returns what a region's successful response says, or raises `Unreadable`.
        count: the size of the block to mint, 0 if nothing is minted.
        keyed: whether it has an `Idempotency-Key`.
    """

    subject: str
    method: str
    path: str
    read: Callable[[str, httpx.Response, int], T]
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    count: int = 0
    keyed: bool = False

    def url(self, base: str) -> str:
        """Return the request's URL in the region whose own URL is `base`, which ends with a slash."""
        return f"{base}{self.path}?count={self.count}" if self.count else base + self.path

    def with_count(self, count: int) -> "Call[T]":
        """Return the same request for another number of integers."""
        return replace(self, count=count)

    def answer(self, region: str, response: httpx.Response) -> T | Failure:
        """Return the response's answer, or why there is none."""
        if not 200 <= response.status_code < 300:
            return failure_of(response)
        try:
            return self.read(region, response, self.count)
        except Unreadable as unreadable:
            return Failure(Kind.TRANSIENT, str(unreadable), response.status_code)


def mint(counter: str, count: int = 1, key: str | None = None) -> Call[Block]:
    """Return the request to mint a block from a counter, "" for the default one.

    Raises:
        ValueError: the name, the count or the key is not allowed.
    """
    if type(count) is not int or not 1 <= count <= MAX_BLOCK:
        raise ValueError(f"count {count} is not within 1 to {MAX_BLOCK:,}, the most that one request can mint")
    headers = {"Accept": BLOCK} | ({"Idempotency-Key": key_header(key)} if key is not None else {})

    def read(region: str, response: httpx.Response, asked: int) -> Block:
        replayed = "idempotency-replayed" in response.headers
        return _block(region, _document(region, response, counter), asked, replayed=replayed)

    return Call(_subject(counter), "POST", _path(counter), read, headers, count, keyed=key is not None)


def owner(counter: str, number: int) -> Call[tuple[Owner, str | None]]:
    """Return the request for an integer's owner. Its answer is the owner, and the region that knows more, if any.

    Raises:
        ValueError: the name is not allowed.
    """

    def read(_: str, response: httpx.Response, __: int) -> tuple[Owner, str | None]:
        return _owner(number, _document("", response, counter))

    return Call(f"{number} of {_subject(counter)}", "GET", f"{checked_counter(counter)}/{number}", read)


def create(counter: str) -> Call[bool]:
    """Return the request to create a counter. Its answer is whether the counter is new.

    Raises:
        ValueError: the name is not allowed.
    """

    def read(_: str, response: httpx.Response, __: int) -> bool:
        _document("", response, counter)  # any region may say that all have it
        return response.status_code == 201

    return Call(_subject(counter), "PUT", checked_counter(counter), read)


def health() -> Call[bool]:
    """Return the request that asks whether a region can mint. Its answer is True."""

    def read(region: str, response: httpx.Response, _: int) -> bool:
        document = _document(region, response, "")
        if document.get("status") != "ok":
            raise Unreadable(f"status is {document.get('status')!r} in the response")
        return True

    return Call("health", "GET", "-/health", read)


def document(path: str) -> Call[Mapping[str, Any]]:
    """Return the request for the JSON document at a path that mints nothing."""
    return Call(path, "GET", path, lambda _, response, __: document_of(response))


def _path(counter: str) -> str:
    return checked_counter(counter) if counter else ""


def _subject(counter: str) -> str:
    return f"counter {counter!r}" if counter else "the default counter"


def _document(region: str, response: httpx.Response, counter: str) -> Mapping[str, Any]:
    """Return the response's document, of this region and counter. An address, or no region (""), may be any of them.

    Raises:
        Unreadable: it is another region's or another counter's, or no document at all.
    """
    document = document_of(response)
    answers = document.get("region")
    if REGION.fullmatch(region) and answers != region:
        raise Unreadable(f"the response is of the region {answers!r}")
    if counter and document.get("counter") != counter:
        raise Unreadable(f"the response is about counter {document.get('counter')!r}")
    return document


def _block(region: str, document: Mapping[str, Any], asked: int, *, replayed: bool) -> Block:
    first, last = integer(document, "first"), integer(document, "last")
    stride, count = integer(document, "stride", 64), integer(document, "count", MAX_BLOCK)
    if last != first + (count - 1) * stride or count != asked:
        raise Unreadable(f"{count} integers from {first} to {last}, {stride} apart, are not the {asked} requested")
    return Block(region, first, stride, count, replayed)


def _owner(number: int, document: Mapping[str, Any]) -> tuple[Owner, str | None]:
    if document.get("integer") != number:
        raise Unreadable(f"the response is about {document.get('integer')!r}")
    minted, ask = document.get("minted"), document.get("ask")
    owner = Owner(
        str(document.get("counter")),
        integer(document, "integer"),
        str(document.get("region")),
        integer(document, "offset", 64),
        integer(document, "stride", 64),
        integer(document, "epoch"),
        minted if isinstance(minted, bool) else None,
    )
    return owner, ask if isinstance(ask, str) else None
