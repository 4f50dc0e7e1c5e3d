"""What a Function URL's event asks for. No I/O: what is wrong is refused before anything is minted."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, cast

from components.names import COUNTER_NAME

from .accept import preferred
from .answer import Problem

MOST = 1000
"""Integers in one block."""

MOST_NAMES = 1000
"""Counters on one page of the list; `USUAL_NAMES` where no limit is given."""

USUAL_NAMES = 100

LARGEST = 2**53 - 1
"""The largest integer that is ever minted."""

LONGEST_PATH = 1024
LONGEST_BODY = 64 * 1024
"""Characters. The body is ignored; a large one is somebody's mistake that is better told."""


class Mint(NamedTuple):
    """Mint one integer (`count` None) or a block of `count`, 1 to 1,000."""

    counter: str
    count: int | None = None  # pyright: ignore[reportIncompatibleMethodOverride]
    key: str | None = None
    """The Idempotency-Key."""
    as_text: bool = False


class Page(NamedTuple):
    """The page for browsers. It mints nothing."""

    counter: str


class Health(NamedTuple):
    """Does the table answer?"""


class Whose(NamedTuple):
    """Which region owns an integer, 1 to 2^53 − 1, and was it minted?"""

    counter: str
    integer: int


class Create(NamedTuple):
    """Create a counter in every region."""

    counter: str


class Names(NamedTuple):
    """List the counters: 1 to 1,000 of them, those after that key."""

    limit: int
    after: str | None


Query = list[tuple[str, str]]

Request = Mint | Page | Health | Whose | Create | Names


def request_of(event: Mapping[str, Any], default: str) -> Request:
    """Read an event (payload format 2.0); `default` is the counter at `/`.

    Raises:
        Problem: 400, 404, 405, 413 or 414, with what is allowed.
    """
    http = _mapping(_mapping(event.get("requestContext")).get("http"))
    method, path = str(http.get("method", "")), str(event.get("rawPath") or "/")
    headers = {str(k).lower(): str(v) for k, v in _mapping(event.get("headers")).items()}
    if len(path) > LONGEST_PATH:
        raise Problem(HTTPStatus.REQUEST_URI_TOO_LONG, f"the path has more than {LONGEST_PATH} characters")
    body = len(str(event.get("body") or ""))
    if (body * 3 // 4 if event.get("isBase64Encoded") is True else body) > LONGEST_BODY:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body, which is ignored, has more than {LONGEST_BODY} characters"
        )
    if path == "/-/health":
        _only(method, ("GET",))
        return Health()
    query = _query(str(event.get("rawQueryString") or ""))
    if path == "/-/counters":
        _only(method, ("GET",))
        return Names(_whole(query, "limit", MOST_NAMES) or USUAL_NAMES, _after(query))
    if path.count("/") == 2:
        _only(method, ("GET",))
        name, integer = path[1:].split("/")
        return Whose(_counter(f"/{name}", default), _integer(integer))
    _only(method, ("GET", "POST") if path == "/" else ("GET", "POST", "PUT"))
    counter = _counter(path, default)
    if method == "PUT":
        return Create(counter)
    wanted = preferred(headers.get("accept", "*/*"), page=method == "GET")
    if wanted == "html":
        return Page(counter)
    return Mint(counter, _whole(query, "count", MOST), _key(headers), wanted == "text")


def _query(text: str) -> Query:
    if not text:
        return []
    from urllib.parse import parse_qsl  # 2.6 ms, and a query is seldom given

    return parse_qsl(text, keep_blank_values=True, errors="replace")


def _only(method: str, methods: tuple[str, ...]) -> None:
    if method not in methods:
        allow = ", ".join(methods)
        raise Problem(
            HTTPStatus.METHOD_NOT_ALLOWED, f"{method[:20]} is not possible here; use {allow}", {"Allow": allow}
        )


def _counter(path: str, default: str) -> str:
    if path == "/":
        return default
    name = path.removeprefix("/")
    if not COUNTER_NAME.fullmatch(name):
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"no counter has this path; it is / or /{{counter}}, and a counter's name matches {COUNTER_NAME.pattern}",
        )
    return name


def _integer(text: str) -> int:
    if not re.fullmatch(r"[1-9][0-9]{0,15}", text, re.ASCII) or int(text) > LARGEST:
        raise Problem(HTTPStatus.NOT_FOUND, f"{text[:40]!r} is not an integer from 1 to {LARGEST}")
    return int(text)


def _whole(query: Query, name: str, most: int) -> int | None:
    """The integer from 1 to `most` that a parameter gives; None where there is none."""
    text = _single(query, name)
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text, re.ASCII) or int(text) > most:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} {text[:40]!r} is not an integer from 1 to {most}")
    return int(text)


def _after(query: Query) -> str | None:
    after = _single(query, "after")
    if after is not None and not COUNTER_NAME.fullmatch(after.removesuffix("/layouts")):
        raise Problem(HTTPStatus.BAD_REQUEST, f"after {after[:40]!r} is not what a list gave as next")
    return after


def _single(query: Query, name: str) -> str | None:
    values = [value for given, value in query if given == name]
    if len(values) > 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} is given {len(values)} times; it may be given once")
    return values[0] if values else None


def _key(headers: Mapping[str, str]) -> str | None:
    r"""Bare, or quoted as a string of RFC 8941 (section 3.3.3), in which \" and \\ stand for themselves."""
    given = headers.get("idempotency-key")
    if given is None:
        return None
    key = given.strip()
    if key.startswith('"'):
        if not re.fullmatch(r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"', key):
            raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not a quoted string as in RFC 8941")
        key = re.sub(r"\\(.)", r"\1", key[1:-1])
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not 1 to 255 visible ASCII characters")
    return key


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
