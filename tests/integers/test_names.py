"""The rule for counter names."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from integers.names import COUNTER_NAME


@pytest.mark.parametrize("name", ["a", "0", "integers", "a-b_c", "9-", "a" * 63])
def test_a_name(name: str) -> None:
    assert COUNTER_NAME.fullmatch(name)


@pytest.mark.parametrize("name", ["", "-a", "_a", "A", "a b", "a/b", "a.b", "é", "٣", "a\n", "a" * 64])
def test_no_name(name: str) -> None:
    assert not COUNTER_NAME.fullmatch(name)


@given(st.from_regex(COUNTER_NAME, fullmatch=True))
def test_a_name_needs_no_escaping(name: str) -> None:
    assert quote(name, safe="") == name
    assert json.dumps(name) == f'"{name}"'
