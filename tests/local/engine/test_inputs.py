"""Inputs as JSON: equal ones are equal, whatever the files' times. Those that `ignore_changes` names."""

import base64
import io
import os
import zipfile
from pathlib import Path
from typing import Any

import pulumi
import pytest

from local.engine.inputs import as_json, with_ignored
from local.paths import LocalError


def test_whole_numbers_are_integers_again() -> None:
    """They travel as doubles."""
    assert repr(as_json({"a": [1.0, 1.5, True], "b": {"c": 2.0}})) == "{'a': [1, 1.5, True], 'b': {'c': 2}}"


def test_an_archive_is_its_files_and_not_their_times(tmp_path: Path) -> None:
    for name in ("b.py", "a.py"):
        (tmp_path / name).write_text(name)

    def archive(*names: str) -> str:
        return as_json(pulumi.AssetArchive({f"mint/{name}": pulumi.FileAsset(tmp_path / name) for name in names}))

    before = archive("a.py", "b.py")
    os.utime(tmp_path / "a.py", (0, 0))

    assert archive("b.py", "a.py") == before
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(before))) as zipped:
        assert {name: zipped.read(name) for name in zipped.namelist()} == {"mint/a.py": b"a.py", "mint/b.py": b"b.py"}
    (tmp_path / "a.py").write_text("changed")
    assert archive("a.py", "b.py") != before


def test_a_text_in_an_archive_is_a_file_there() -> None:
    made = as_json(pulumi.AssetArchive({"version.txt": pulumi.StringAsset("1.0.0 – ü")}))

    with zipfile.ZipFile(io.BytesIO(base64.b64decode(made))) as zipped:
        assert zipped.read("version.txt").decode() == "1.0.0 – ü"


def test_an_archive_of_something_else_is_refused() -> None:
    with pytest.raises(LocalError, match=r"a\.py: only files and texts can be in a function's archive here"):
        as_json(pulumi.AssetArchive({"a.py": pulumi.RemoteAsset("https://example.com")}))


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
