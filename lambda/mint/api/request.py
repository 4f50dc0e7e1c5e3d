"""Read an event of payload format 2.0. No I/O: an invalid request is refused before anything is minted."""

from collections.abc import Mapping, Sequence
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from integers.names import CHECK_COUNTER

from .parameters import (
    MAX_BLOCK,
    MAX_LIMIT,
    after_parameter,
    counter_name,
    counter_parameter,
    idempotency_key,
    integer_parameter,
    owned_integer,
    query_of,
)
from .reply import Problem

if TYPE_CHECKING:
    from .accept import Format

DEFAULT_LIMIT = 100
"""Counters on one page of the list if the request has no limit."""

MAX_PATH = 1024
MAX_BODY = 64 * 1024
"""Characters. The body is ignored, but a large one is probably a mistake and is reported."""

ANYTHING = "*/*"
READ = ("GET", "HEAD")
MINT = ("GET", "POST")

PREFETCH = "prefetch"
"""The value of `Sec-Purpose` if a browser, or a server for it, loads what may be needed later (MDN, "Sec-Purpose")."""


class MintRequest(NamedTuple):
    """Mint a block of `count` integers, 1 to 100,000, or a single integer if `count` is None."""

    counter: str
    count: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    key: str | None = None
    """The Idempotency-Key."""
    form: "Format" = "json"


class Page(NamedTuple):
    """Send the page for browsers."""

    counter: str
    https: bool = False
    """Whether the request came over https."""


class HealthRequest:
    """Check that the table responds."""


class Status(NamedTuple):
    """Say how a counter stands in this region, as a page or as JSON."""

    counter: str
    html: bool = False
    https: bool = False
    """Whether the request came over https."""


class OwnerOf(NamedTuple):
    """Say which region owns an integer, 1 to 2^53 − 1, and whether it was minted, as a page or as JSON."""

    counter: str
    integer: int
    html: bool = False
    https: bool = False
    """Whether the request came over https."""


class CreateCounter(NamedTuple):
    """Create a counter in every region."""

    counter: str


class ListCounters(NamedTuple):
    """List up to `limit` counters, 1 to 1,000, after the key `after`."""

    limit: int
    after: str | None


Request = MintRequest | Page | HealthRequest | Status | OwnerOf | CreateCounter | ListCounters


def method_of(event: Mapping[str, Any]) -> str:
    """Return the request's method."""
    return str(mapping_of(mapping_of(event.get("requestContext")).get("http")).get("method", ""))


def request_of(event: Mapping[str, Any], default: str) -> Request:
    """Read an event (payload format 2.0).

    The path may begin with several slashes: `$URL` ends with one, so many people write `$URL/orders`. It is taken as
    it is. An HTTP API puts its stage's name before it, unless the stage is `$default`; what is a stage and what is a
    counter can't be told apart.

    Args:
        event: Lambda's event.
        default: the counter at `/`.

    Raises:
        Problem: 400, 404, 405, 413 or 414, with what is allowed; 503, it is a prefetch that would mint.
    """
    method, path = method_of(event), str(event.get("rawPath") or "/")
    if len(path) > MAX_PATH:
        raise Problem(HTTPStatus.REQUEST_URI_TOO_LONG, f"the path has more than {MAX_PATH} characters")
    _check_body(event)
    query = query_of(str(event.get("rawQueryString") or ""))
    match path.lstrip("/").split("/"):
        case ["-", "health"]:
            _check_method(method, READ)
            return HealthRequest()
        case ["-", "status"]:
            _check_method(method, READ)
            return Status(counter_parameter(query) or default, wants_html(event), is_https(event))
        case ["-", "counters"]:
            _check_method(method, READ)
            return ListCounters(integer_parameter(query, "limit", MAX_LIMIT) or DEFAULT_LIMIT, after_parameter(query))
        case [name, ""]:
            raise Problem(
                HTTPStatus.NOT_FOUND,
                f"the path ends with a slash; the counter is at /{name[:63]}, an integer's owner at "
                f"/{name[:63]}/{{integer}}",
            )
        case [name, integer]:
            _check_method(method, READ)
            return OwnerOf(counter_name(name), owned_integer(integer), wants_html(event), is_https(event))
        case [""]:
            _check_method(method, MINT)
            counter = default
        case [name]:
            _check_method(method, (*MINT, "PUT"))
            counter = name if _is_check(event, method, name) else counter_name(name)
        case _:
            raise Problem(HTTPStatus.NOT_FOUND, "there is no such path; it is /{counter} or /{counter}/{integer}")
    if method == "PUT":
        return CreateCounter(counter)
    headers = _headers(event)
    accepted = _accepted(headers.get("accept", ANYTHING), html=method == "GET")
    if accepted == "html":
        return Page(counter, is_https(event))
    if PREFETCH in headers.get("sec-purpose", ""):
        raise Problem(HTTPStatus.SERVICE_UNAVAILABLE, "this request is a prefetch (Sec-Purpose), which mints nothing")
    return MintRequest(counter, integer_parameter(query, "count", MAX_BLOCK), idempotency_key(headers), accepted)


def is_https(event: Mapping[str, Any]) -> bool:
    """Return whether the request came over https."""
    return _headers(event).get("x-forwarded-proto") == "https"


def wants_html(event: Mapping[str, Any]) -> bool:
    """Return whether a response that mints nothing is to be a page: the request only reads, and prefers HTML."""
    return method_of(event) in READ and _accepted(_headers(event).get("accept", ANYTHING), html=True) == "html"


def root_of(event: Mapping[str, Any]) -> str:
    """Return where the API begins, relative to the request's path."""
    return "../" * str(event.get("rawPath") or "/").lstrip("/").count("/") or "./"


def _is_check(event: Mapping[str, Any], method: str, name: str) -> bool:
    """Return whether the coordinator checks this region."""
    return name == CHECK_COUNTER and method == "POST" and invoked_directly(event)


def invoked_directly(event: Mapping[str, Any]) -> bool:
    """Return whether the function itself was invoked, as the coordinator does.

    Only who may invoke it sends an event without a domain name: Function URLs and API Gateway add it.
    """
    return "domainName" not in mapping_of(event.get("requestContext"))


def _headers(event: Mapping[str, Any]) -> dict[str, str]:
    """Return the request's headers. Their names are in lower case."""
    return {str(name).lower(): str(value) for name, value in mapping_of(event.get("headers")).items()}


def _accepted(accept: str, *, html: bool) -> "Format":
    if accept == ANYTHING:
        return "json"
    from .accept import preferred  # most clients accept anything

    return preferred(accept, html=html)


def _check_method(method: str, allowed: Sequence[str]) -> None:
    if method not in allowed:
        allow = ", ".join(allowed)
        raise Problem(
            HTTPStatus.METHOD_NOT_ALLOWED, f"{method[:20]} is not possible here; use {allow}", {"Allow": allow}
        )


def _check_body(event: Mapping[str, Any]) -> None:
    body = str(event.get("body") or "")
    length = len(body)
    if event.get("isBase64Encoded") is True:
        length = length * 3 // 4 - body[-2:].count("=")  # the padding is no content
    if length > MAX_BODY:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body, which is ignored, has more than {MAX_BODY} characters"
        )


def mapping_of(value: Any) -> Mapping[str, Any]:
    """Return a part of an event, empty if it is missing or something else."""
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
