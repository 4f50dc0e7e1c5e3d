"""Inputs that `ignore_changes` names."""

from typing import Any

import pytest

from local.engine.inputs import with_kept
from local.paths import LocalError

BEFORE: dict[str, Any] = {"description": "first", "tags": {"owner": "a", "cost center": "1"}, "list": [{"x": 1}, 2]}
NOW: dict[str, Any] = {"description": "second", "tags": {"owner": "b", "cost center": "2"}, "list": [{"x": 3}, 4]}


@pytest.mark.parametrize(
    ("path", "changed"),
    [
        ("description", {"description": "first"}),
        ("tags", {"tags": BEFORE["tags"]}),
        ("tags.owner", {"tags": {"owner": "a", "cost center": "2"}}),
        ('tags["cost center"]', {"tags": {"owner": "b", "cost center": "1"}}),
        ("list[0].x", {"list": [{"x": 1}, 4]}),
        ("list[1]", {"list": [{"x": 3}, 2]}),
        ("list[2]", {}),
        ("tags.nonesuch", {}),
        ("description.below", {}),
    ],
)
def test_what_is_named_keeps_its_value_and_nothing_else_does(path: str, changed: dict[str, Any]) -> None:
    assert with_kept(NOW, BEFORE, [path]) == {**NOW, **changed}


def test_a_restored_table_is_exactly_as_it_was() -> None:
    assert with_kept({"a": 1, "b": 2}, {"b": 3, "c": 4}, ["a", "c"]) == {"b": 2, "c": 4}
    assert with_kept({"tags": {"a": 1}}, {"tags": {}}, ["tags.a"]) == {"tags": {}}


def test_what_is_given_is_left_as_it_is() -> None:
    now = {"tags": {"owner": "b"}}
    kept = with_kept(now, BEFORE, ["tags.owner"])

    kept["tags"]["owner"] = "c"
    assert (now, BEFORE["tags"]["owner"]) == ({"tags": {"owner": "b"}}, "a")


@pytest.mark.parametrize("path", ["*", "tags.*", "tags[", 'tags["a]'])
def test_a_path_that_cannot_be_read_is_refused(path: str) -> None:
    with pytest.raises(LocalError, match="ignore_changes: "):
        with_kept(NOW, BEFORE, [path])
