"""Inputs that `ignore_changes` names."""

from typing import Any

import pytest

from local.engine.inputs import with_ignored
from local.paths import LocalError

BEFORE: dict[str, Any] = {"description": "first", "tags": {"owner": "a"}}
NOW: dict[str, Any] = {"description": "second", "tags": {"owner": "b"}}


@pytest.mark.parametrize("name", ["description", "tags"])
def test_what_is_named_keeps_its_value_and_nothing_else_does(name: str) -> None:
    assert with_ignored(NOW, BEFORE, [name]) == {**NOW, name: BEFORE[name]}


def test_a_restored_table_is_exactly_as_it_was() -> None:
    assert with_ignored({"a": 1, "b": 2}, {"b": 3, "c": 4}, ["a", "c"]) == {"b": 2, "c": 4}


def test_what_is_given_is_left_as_it_is() -> None:
    merged = with_ignored(NOW, BEFORE, ["tags"])

    merged["tags"]["owner"] = "c"
    assert (NOW["tags"]["owner"], BEFORE["tags"]["owner"]) == ("b", "a")


@pytest.mark.parametrize("path", ["*", "tags.owner", "list[0]", "tags["])
def test_a_path_into_an_input_is_refused(path: str) -> None:
    with pytest.raises(LocalError, match="ignore_changes: "):
        with_ignored(NOW, BEFORE, [path])
