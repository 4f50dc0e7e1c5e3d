"""Wrong parts of a request are refused, and say what is allowed."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from mint.api.request import Problem, after_parameter, idempotency_key

from tests.lambda_.coordinator_calls import item, laid_out
from tests.lambda_.fixtures import Ask, Stack

COUNTS = (
    *("count=0", "count=-1", "count=100001", "count=1e3", "count=", "count", "count=1&count=2", "count=x", "count=01"),
    *("count=1.0", "count=%201", "count=+1", "count=٣", "count=9999999999999999999999", "count=1%00"),
)
KEYS = ("", " ", '""', '"', '"a', 'a"b\x7f', "a b", "é", "a" * 256, "\u00a0k", '"a\\b"', '"a"b"', "a\tb")


def test_a_wrong_count_or_key_mints_nothing(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = item(stack, "us-east-1")

    for query in COUNTS:
        response = ask("POST", f"/?{query}")
        assert response["statusCode"] == 400, query
        assert "count" in response["document"]["detail"], query
    for key in KEYS:
        assert ask("POST", "/", idempotency_key=key)["statusCode"] == 400, key
    assert item(stack, "us-east-1") == before
    assert ask("POST", "/", idempotency_key="~" * 255)["statusCode"] == 200


def test_bare_and_quoted_are_the_same_key(ask: Ask, stack: Stack) -> None:
    laid_out()

    assert ask("POST", "/", idempotency_key="k")["body"] == ask("POST", "/", idempotency_key='"k"')["body"]


def test_an_invalid_integer_is_not_found(stack: Stack, ask: Ask) -> None:
    laid_out()

    for n in ("0", "01", "-1", "1.0", "9007199254740992", "99999999999999999", "x", "", "%31", "١"):
        assert ask("GET", f"/integers/{n}")["statusCode"] == 404, n


@pytest.mark.parametrize("header", ["a, b", "a, a", '"a", "b"', '"a", b', "a,b", ",", "a,"])
def test_two_keys_are_refused_as_such(header: str) -> None:
    with pytest.raises(Problem, match="given more than once") as problem:
        idempotency_key({"idempotency-key": header})

    assert problem.value.status == 400


@pytest.mark.parametrize(("header", "key"), [('"a,b"', "a,b"), (r'"a\"b"', 'a"b'), (r'"a\\b"', r"a\b"), (" k ", "k")])
def test_a_quoted_key_may_hold_a_comma_a_quote_and_a_backslash(header: str, key: str) -> None:
    assert idempotency_key({"idempotency-key": header}) == key


def test_without_a_key_there_is_none() -> None:
    assert idempotency_key({}) is None


@given(st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255))
def test_every_key_can_be_sent_quoted(key: str) -> None:
    quoted = key.replace("\\", "\\\\").replace('"', '\\"')

    assert idempotency_key({"idempotency-key": f'"{quoted}"'}) == key


@pytest.mark.parametrize("after", ["orders", "orders/layouts", None])
def test_a_list_continues_after_what_a_page_gave(after: str | None) -> None:
    assert after_parameter([("after", after)] if after else []) == after


@pytest.mark.parametrize("after", ["", "Orders", "/standing", "a/b", "a/layouts/layouts"])
def test_a_list_does_not_continue_after_anything_else(after: str) -> None:
    with pytest.raises(Problem) as problem:
        after_parameter([("after", after)])

    assert problem.value.status == 400
