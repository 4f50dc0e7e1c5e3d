"""Counters' names, and the records' keys and attributes."""

import json
from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from global_integers_core.lattice import MAX_INTEGER, Layout
from global_integers_core.names import COUNTER_NAME
from global_integers_core.records import (
    ADMITTED_KEY,
    ASKED_KEY,
    HOME_KEY,
    RECORD_KEY,
    RUN_LOCK_KEY,
    counter_of,
    history_of,
    history_text,
    layouts_key,
    regions_attribute,
    regions_of,
)

regions = st.lists(st.text(min_size=1, max_size=20), max_size=5).map(tuple)
layouts = st.lists(st.builds(Layout, st.integers(1, 10**6), st.integers(1, MAX_INTEGER), regions), max_size=5).map(
    tuple
)


@given(layouts)
def test_layouts_are_read_as_they_were_written(written: tuple[Layout, ...]) -> None:
    assert history_of(history_text(written)) == written


def test_names_of_regions_are_written_once() -> None:
    same = tuple(Layout(epoch, epoch * 10**15, tuple(f"region-{n}" for n in range(30))) for epoch in range(1, 42))

    assert len(history_text(same)) < 2_000


@given(regions)
def test_regions_are_read_as_they_were_written(written: tuple[str, ...]) -> None:
    assert regions_of(regions_attribute(written)) == written


@given(st.from_regex(COUNTER_NAME, fullmatch=True))
def test_only_an_items_key_is_a_counters(name: str) -> None:
    assert counter_of(name) == name
    assert counter_of(layouts_key(name)) is None
    for key in (ADMITTED_KEY, ASKED_KEY, HOME_KEY, RECORD_KEY, RUN_LOCK_KEY):
        assert not key.startswith(name)
        assert counter_of(key) is None


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
