"""The parts of a request: names, integers, query parameters and the Idempotency-Key, each checked."""

import re
from collections.abc import Mapping
from http import HTTPStatus

from integers.names import COUNTER_NAME

from .reply import Problem

MAX_BLOCK = 1000
"""Integers in one block."""

MAX_LIMIT = 1000
"""Counters on one page of the list."""

Query = list[tuple[str, str]]


def counter_name(segment: str) -> str:
    """Return the counter that a path segment names.

    Raises:
        Problem: 404, it is no counter's name.
    """
    if not COUNTER_NAME.fullmatch(segment):
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"no counter has this path; it is / or /{{counter}}, and a counter's name matches {COUNTER_NAME.pattern}",
        )
    return segment


def owned_integer(segment: str) -> int:
    """Return the integer that a path segment gives.

    Raises:
        Problem: 404, it is not one from 1 to 2^53 − 1.
    """
    from integers.lattice import MAX_INTEGER  # owners are seldom asked for

    if not re.fullmatch(r"[1-9][0-9]{0,15}", segment, re.ASCII) or int(segment) > MAX_INTEGER:
        raise Problem(HTTPStatus.NOT_FOUND, f"{segment[:40]!r} is not an integer from 1 to {MAX_INTEGER}")
    return int(segment)


def query_of(text: str) -> Query:
    """Return the parameters of a query string, in order."""
    if not text:
        return []
    from urllib.parse import parse_qsl  # 2.6 ms, and most requests have no query

    return parse_qsl(text, keep_blank_values=True, errors="replace")


def whole(query: Query, name: str, most: int) -> int | None:
    """Return the integer from 1 to `most` that a parameter gives, or None without that parameter.

    Raises:
        Problem: 400, it is not such an integer, or it is given twice.
    """
    text = _single(query, name)
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,3}", text, re.ASCII) or int(text) > most:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} {text[:40]!r} is not an integer from 1 to {most}")
    return int(text)


def after(query: Query) -> str | None:
    """Return the key after which a list of counters goes on, or None at its beginning.

    Raises:
        Problem: 400, it cannot be what a list gave as `next`.
    """
    key = _single(query, "after")
    if key is None:
        return None
    from integers.records import layouts_key  # lists are seldom asked for

    if not COUNTER_NAME.fullmatch(key.removesuffix(layouts_key(""))):
        raise Problem(HTTPStatus.BAD_REQUEST, f"after {key[:40]!r} is not what a list gave as next")
    return key


def _single(query: Query, name: str) -> str | None:
    values = [value for given, value in query if given == name]
    if len(values) > 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} is given {len(values)} times; it may be given once")
    return values[0] if values else None


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    r"""Return the Idempotency-Key, or None without one.

    It is bare, or quoted as a string of RFC 8941 (section 3.3.3), in which \" and \\ stand for themselves.
    Lambda joins repeated headers by a comma, so a bare key may not hold one.

    Raises:
        Problem: 400, it is no key, or it is given more than once.
    """
    given = headers.get("idempotency-key")
    if given is None:
        return None
    key = given.strip()
    if re.fullmatch(r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"', key):
        key = re.sub(r"\\(.)", r"\1", key[1:-1])
    elif "," in key:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            'the Idempotency-Key is given more than once; send it once (a key with a comma must be quoted: "a,b")',
        )
    elif key.startswith('"'):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not a quoted string as in RFC 8941")
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not 1 to 255 visible ASCII characters")
    return key
