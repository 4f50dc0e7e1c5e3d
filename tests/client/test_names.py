"""Names and keys that the API would refuse are refused before anything is sent."""

import pytest
from global_integers import names
from global_integers.names import checked_counter, key_header

from integers.names import COUNTER_NAME


def test_a_counters_name_is_what_the_api_takes() -> None:
    assert names.COUNTER_NAME.pattern == COUNTER_NAME.pattern
    assert checked_counter("orders-2026_x") == "orders-2026_x"
    for wrong in ("", "Orders", "-", "a/b", "a" * 64, "a\n"):
        with pytest.raises(ValueError, match="not a counter's name"):
            checked_counter(wrong)


@pytest.mark.parametrize(
    ("key", "header"),
    [("order-17", "order-17"), ("a,b", '"a,b"'), ('"', '"\\""'), ("a\\,b", '"a\\\\,b"'), ("a\\b", "a\\b")],
)
def test_a_key_is_quoted_where_a_bare_one_is_ambiguous(key: str, header: str) -> None:
    assert key_header(key) == header


@pytest.mark.parametrize("key", ["", "a b", "ä", "k" * 256, "a\r\nX: y"])
def test_a_wrong_key_is_refused(key: str) -> None:
    with pytest.raises(ValueError, match="visible ASCII"):
        key_header(key)
