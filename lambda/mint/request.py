"""What a Function URL's event asks for. No I/O: what is wrong is refused before anything is minted."""

import re
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any, NamedTuple, cast

from components.names import COUNTER_NAME

from .answer import Problem

MOST = 1000
"""Integers in one block."""

METHODS = ("GET", "POST")
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


class Health(NamedTuple):
    """Does the table answer?"""


Request = Mint | Health


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
    if len(str(event.get("body") or "")) > LONGEST_BODY:
        raise Problem(
            HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"the body, which is ignored, has more than {LONGEST_BODY} characters"
        )
    if path == "/-/health":
        _only(method, ("GET",))
        return Health()
    _only(method, METHODS)
    counter = _counter(path, default)
    return Mint(counter, _count(str(event.get("rawQueryString") or "")), _key(headers), _wants_text(headers))


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


def _count(query: str) -> int | None:
    if not query:
        return None
    from urllib.parse import parse_qsl  # 2.6 ms, and a query is seldom given

    counts = [value for name, value in parse_qsl(query, keep_blank_values=True, errors="replace") if name == "count"]
    if not counts:
        return None
    if len(counts) > 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"count is given {len(counts)} times; it may be given once")
    if not re.fullmatch(r"[1-9][0-9]{0,3}", counts[0], re.ASCII) or int(counts[0]) > MOST:
        raise Problem(HTTPStatus.BAD_REQUEST, f"count {counts[0][:40]!r} is not an integer from 1 to {MOST}")
    return int(counts[0])


def _key(headers: Mapping[str, str]) -> str | None:
    """Bare, or quoted as a string of RFC 8941 (section 3.3.3), in which \\" and \\\\ stand for themselves."""
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


def _wants_text(headers: Mapping[str, str]) -> bool:
    """`Accept: text/plain`, unless JSON is wanted at least as much (RFC 9110, section 12.5.1)."""
    wanted = headers.get("accept", "*/*")
    return _quality(wanted, "text", "plain") > _quality(wanted, "application", "json")


def _quality(accept: str, kind: str, subtype: str) -> float:
    """How much a media type is wanted, 0 to 1: the most specific range that matches decides."""
    best = (-1, 0.0)
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        specificity = {f"{kind}/{subtype}": 2, f"{kind}/*": 1, "*/*": 0}.get(media, -1)
        quality = 1.0
        for parameter in parameters:
            if re.fullmatch(r"q=(?:0(?:\.\d{0,3})?|1(?:\.0{0,3})?)", parameter, re.ASCII):
                quality = float(parameter[2:])
        if specificity > best[0]:
            best = (specificity, quality)
    return best[1] if best[0] >= 0 else 0.0


def _mapping(value: Any) -> Mapping[str, Any]:
    return cast("Mapping[str, Any]", value) if isinstance(value, Mapping) else {}
