"""Read and check the parts of a request: names, integers, query parameters and the Idempotency-Key."""

import re
from collections.abc import Mapping
from http import HTTPStatus

from integers.names import CHECK_COUNTER, COUNTER_NAME

from .reply import Problem

MAX_BLOCK = 100_000
"""The largest number of integers in one block. As JSON they are 1.8 MB; Lambda allows 6 MB."""

MAX_LIMIT = 1000
"""The largest number of counters on one page of the list."""

Query = list[tuple[str, str]]


def counter_name(segment: str) -> str:
    """Return the counter that a path segment names.

    Raises:
        Problem: 404, it isn't a counter's name.
    """
    if not COUNTER_NAME.fullmatch(segment):
        raise Problem(
            HTTPStatus.NOT_FOUND,
            f"not a counter's path: it is / or /{{counter}}, and a counter's name matches {COUNTER_NAME.pattern}",
        )
    return segment


def owned_integer(segment: str) -> int:
    """Return the integer in a path segment.

    Raises:
        Problem: 404, it is not an integer from 1 to 2^53 − 1.
    """
    from integers.lattice import MAX_INTEGER  # not needed to mint

    if not re.fullmatch(r"[1-9][0-9]{0,15}", segment, re.ASCII) or int(segment) > MAX_INTEGER:
        raise Problem(HTTPStatus.NOT_FOUND, f"{segment[:40]!r} is not an integer from 1 to {MAX_INTEGER}")
    return int(segment)


def query_of(text: str) -> Query:
    """Return the parameters of a query string, in order."""
    if not text:
        return []
    from urllib.parse import parse_qsl  # 2 ms, and most requests have no query string

    return parse_qsl(text, keep_blank_values=True, errors="replace")


def integer_parameter(query: Query, name: str, maximum: int) -> int | None:
    """Return a parameter's integer from 1 to `maximum`, or None if the parameter is absent.

    Raises:
        Problem: 400, it is not such an integer, or it is given twice.
    """
    text = _single(query, name)
    if text is None:
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,5}", text, re.ASCII) or int(text) > maximum:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} {text[:40]!r} is not an integer from 1 to {maximum}")
    return int(text)


def after_parameter(query: Query) -> str | None:
    """Return the key after which the list of counters continues, or None to start at its beginning.

    Raises:
        Problem: 400, it can't be the `next` of a page.
    """
    key = _single(query, "after")
    if key is None:
        return None
    from integers.records import layouts_key  # not needed to mint

    counter = key.removesuffix(layouts_key(""))
    if counter != CHECK_COUNTER and not COUNTER_NAME.fullmatch(counter):
        raise Problem(HTTPStatus.BAD_REQUEST, f"after {key[:40]!r} is not the next of a page of the list")
    return key


def counter_parameter(query: Query) -> str | None:
    """Return the counter that the query names, or None if it names none.

    Raises:
        Problem: 400, it isn't a counter's name.
    """
    name = _single(query, "counter")
    if name is not None and not COUNTER_NAME.fullmatch(name):
        raise Problem(HTTPStatus.BAD_REQUEST, f"counter {name[:63]!r} does not match {COUNTER_NAME.pattern}")
    return name


def _single(query: Query, name: str) -> str | None:
    values = [value for given, value in query if given == name]
    if len(values) > 1:
        raise Problem(HTTPStatus.BAD_REQUEST, f"{name} is given {len(values)} times; it may be given once")
    return values[0] if values else None


def idempotency_key(headers: Mapping[str, str]) -> str | None:
    r"""Return the Idempotency-Key, or None without one.

    A key is bare, or quoted as a string of RFC 8941 (section 3.3.3), in which \" is a quote and \\ a backslash.
    A bare key may have no comma, since repeated headers arrive joined with commas (API Gateway guide,
    "Create AWS Lambda proxy integrations for HTTP APIs", payload format 2.0, which Function URLs share).

    Raises:
        Problem: 400, the key is not valid, or given more than once.
    """
    given = headers.get("idempotency-key")
    if given is None:
        return None
    key = given.strip(" \t")  # HTTP's white space (RFC 9110, section 5.6.3)
    if re.fullmatch(r'"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"', key):
        key = re.sub(r"\\(.)", r"\1", key[1:-1])
    elif "," in key:
        raise Problem(
            HTTPStatus.BAD_REQUEST,
            'the Idempotency-Key is given more than once or contains a comma; send one, and quote a comma: "a,b"',
        )
    elif key.startswith('"'):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not a quoted string of RFC 8941")
    if not re.fullmatch(r"[\x21-\x7e]{1,255}", key):
        raise Problem(HTTPStatus.BAD_REQUEST, "the Idempotency-Key is not 1 to 255 visible ASCII characters")
    return key
