"""What an event asks for: that of a Function URL (payload format 2.0), and the same of a REST API (1.0)."""

from base64 import b64encode
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from mint.api.request import (
    CounterRequest,
    ListCounters,
    MintRequest,
    OwnerOf,
    Problem,
    Request,
    idempotency_key,
    received,
    request_of,
)

from tests.lambda_.fixtures import rest_event, url_event

Make = Callable[..., dict[str, Any]]


@pytest.fixture(params=[url_event, rest_event])
def event(request: pytest.FixtureRequest) -> Make:
    """Both formats."""
    return request.param


def read(sent: dict[str, Any]) -> Request:
    return request_of(received(sent), "integers")


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("POST", "/orders", "count=3", MintRequest("orders", 3)),
        ("POST", "/orders", "other=%26count%3D4&other=", MintRequest("orders")),
        ("POST", "/orders", "country=de&account=5&court=1&_=17", MintRequest("orders")),
        ("POST", "///", "", MintRequest("integers")),
        ("POST", "/" + "a" * 63, "", MintRequest("a" * 63)),
        ("HEAD", "//orders/9007199254740991", "", OwnerOf("orders", 2**53 - 1)),
        ("PUT", "/orders", "", CounterRequest("create", "orders")),
        ("GET", "/-/counters", "limit=250", ListCounters(250, None)),
        ("HEAD", "/-/counters", "after=-check", ListCounters(100, "-check")),
        ("GET", "/-/counters", "limit=5&after=a/layouts", ListCounters(5, "a/layouts")),
    ],
)
def test_an_event_is_read(event: Make, method: str, path: str, query: str, expected: object) -> None:
    assert read(event(method, path, query)) == expected


def brief(value: object) -> str:
    """Return a parameter in a test's id."""
    return str(value)[:40]


COUNTS = (
    *("count=0", "count=-1", "count=100001", "count=1e3", "count=", "count", "count=1&count=2", "count=x", "count=01"),
    *("count=1.0", "count=%201", "count=+1", "count=٣", "count=9999999999999999999999", "count=1%00", "count=1%2B1"),
)
KEYS = ("", " ", '""', '"', '"a', 'a"b\x7f', "a b", "é", "a" * 256, "\u00a0k", '"a\\b"', '"a"b"', "a\tb")
TWO_KEYS = ("a, b", "a, a", '"a", "b"', '"a", b', "a,b", ",", "a,", ["a", "b"], ["a", "a"])
INTEGERS = ("0", "01", "-1", "1.0", "9007199254740992", "99999999999999999", "x", "%31", "١")
NAMES = (
    *("/Orders", "/-x", "/..", "/" + "a" * 64, '/"', "/a b", "/é", "/%6Frders", "/orders%2F7", "/-check", "/-check/7"),
)


@pytest.mark.parametrize(
    ("path", "query", "key", "status", "said"),
    [
        *(("/", query, None, 400, "^count ") for query in COUNTS),
        *(("/", "", key, 400, "the Idempotency-Key is not") for key in KEYS),
        *(("/", "", key, 400, "the Idempotency-Key is given more than once") for key in TWO_KEYS),
        *((f"/integers/{n}", "", None, 404, "is not an integer from 1 to 9007199254740991") for n in INTEGERS),
        *((path, "", None, 404, "not a counter's path") for path in (*NAMES, "/a%20/b", "/-/1")),
        *((path, "", None, 404, "the path ends with a slash") for path in ("/orders/", "//orders/", "/-/")),
        ("/a/b/c", "", None, 404, "there is no such path"),
        # of a long text, only so much is repeated
        (f"/{'a' * 64}/", "", None, 404, f"the counter is at /{'a' * 63}, an integer's owner at /{'a' * 63}/"),
        (f"/integers/{'9' * 41}", "", None, 404, f"^'{'9' * 40}' is"),
        ("/", f"count={'9' * 41}", None, 400, f"^count '{'9' * 40}' is"),
        ("/-/status", f"counter={'A' * 64}", None, 400, f"^counter '{'A' * 63}' does"),
        ("/-/counters", f"after={'A' * 41}", None, 400, f"^after '{'A' * 40}' is"),
        ("/" + "a" * 1023, "", None, 404, "not a counter's path"),
        ("/" + "a" * 1024, "", None, 414, "more than 1024"),
        ("/-/status", "counter=Orders", None, 400, "^counter 'Orders' does not match"),
        ("/-/status", "counter=-check", None, 400, "^counter '-check' does not match"),
        ("/-/counters", "limit=251", None, 400, "^limit '251' is not an integer from 1 to 250"),
        *(
            ("/", f"_=1&{name}=3", None, 400, f"^there is no parameter '{name}'; did you mean count")
            for name in ("cuont", "Count", "COUNT")
        ),
        ("/-/status", "Counter=orders", None, 400, "did you mean counter"),
        ("/-/counters", "AFTER=a", None, 400, "did you mean after"),
        ("/-/counters", "Limit=5", None, 400, "did you mean limit"),
        *(
            ("/-/counters", f"after={after}", None, 400, "is not the next of a page")
            for after in ("", "Orders", "/standing", "a/b", "a/layouts/layouts")
        ),
    ],
    ids=brief,
)
def test_what_is_wrong_is_refused_and_said(
    event: Make, path: str, query: str, key: str | list[str] | None, status: int, said: str
) -> None:
    with pytest.raises(Problem, match=said) as problem:
        read(event("GET", path, query, **({} if key is None else {"Idempotency_Key": key})))

    assert problem.value.status == status


def test_headers_are_read_in_any_case(event: Make) -> None:
    sent = event("POST", "/", IDEMPOTENCY_KEY="k", Accept="text/plain")

    assert read(sent) == MintRequest("integers", None, "k", "text/plain")
    assert received(event(X_Forwarded_Proto="https")).https
    assert not received(event(X_Forwarded_Proto="http")).https


@pytest.mark.parametrize(
    ("query", "headers"),
    [("", {"X_Idempotency_Key": "a"}), ("", {"Idempotency_Token": "a"}), ("idempotencyKey=a", {})],
)
def test_a_key_that_nobody_reads_is_refused(event: Make, query: str, headers: dict[str, str]) -> None:
    with pytest.raises(Problem, match="' is not read; send the header Idempotency-Key") as problem:
        read(event("POST", "/", query, **headers))

    assert problem.value.status == 400
    assert read(event("POST", "/", query, **headers, Idempotency_Key="k")) == MintRequest("integers", None, "k")


def test_single_values_are_read_where_there_are_no_lists() -> None:
    """As of what stands for API Gateway in tests."""
    lists = dict.fromkeys(("multiValueHeaders", "multiValueQueryStringParameters"))
    sent = {"headers": {"Idempotency-Key": "k"}, "queryStringParameters": {"count": "3"}}

    assert read(rest_event("POST") | lists | sent) == MintRequest("integers", 3, "k")


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255))
@example("~" * 255)
def test_every_key_can_be_sent_quoted(key: str) -> None:
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')

    assert idempotency_key({"idempotency-key": f'"{quoted}"'}) == key
    if not {",", '"'} & set(key):
        assert idempotency_key({"idempotency-key": f" {key} "}) == key


@pytest.mark.parametrize(("size", "refused"), [(64 * 1024, False), (64 * 1024 + 1, True)])
@pytest.mark.parametrize("encoded", [True, False])
def test_a_body_is_measured_as_it_was_sent(event: Make, size: int, encoded: bool, refused: bool) -> None:
    body = b64encode(b"x" * size).decode() if encoded else "x" * size
    sent = event("POST") | {"body": body, "isBase64Encoded": encoded}

    assert received(sent).size == size
    if refused:
        with pytest.raises(Problem) as problem:
            read(sent)
        assert problem.value.status == 413
    else:
        assert read(sent) == MintRequest("integers")


@pytest.mark.parametrize("odd", [None, 1, "x", [], {}, {"a": None}, {"a": 1}, {"a": [None, "\ud800"]}])
@pytest.mark.parametrize(
    "member", ["path", "requestContext", "multiValueHeaders", "multiValueQueryStringParameters", "body", "httpMethod"]
)
def test_an_odd_event_is_read_or_refused(member: str, odd: Any) -> None:
    with suppress(Problem):
        assert isinstance(read(rest_event() | {member: odd}), MintRequest)
