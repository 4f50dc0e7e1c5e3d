"""Inputs as JSON: equal ones are equal, whatever the files' times. Those that `ignore_changes` names."""

import io
import os
import zipfile
from pathlib import Path

import pulumi
import pytest

from local.engine.inputs import as_json, with_ignored
from local.paths import LocalError
from local.resources.lambda_ import ARCHIVES


def test_whole_numbers_are_integers_again() -> None:
    """They travel as doubles."""
    assert repr(as_json({"a": [1.0, 1.5, True], "b": {"c": 2.0}})) == "{'a': [1, 1.5, True], 'b': {'c': 2}}"


def test_an_archive_is_its_files_and_texts_and_not_their_times(tmp_path: Path) -> None:
    for name in ("b.py", "a.py"):
        (tmp_path / name).write_text(name)

    def archive(*names: str) -> str:
        files = {f"mint/{name}": pulumi.FileAsset(tmp_path / name) for name in names}
        return as_json(pulumi.AssetArchive({**files, "version.txt": pulumi.StringAsset("1.0.0 – ü")}))

    before = archive("a.py", "b.py")
    os.utime(tmp_path / "a.py", (0, 0))

    assert archive("b.py", "a.py") == before
    with zipfile.ZipFile(io.BytesIO(ARCHIVES[before])) as zipped:
        assert {name: zipped.read(name).decode() for name in zipped.namelist()} == {
            "mint/a.py": "a.py",
            "mint/b.py": "b.py",
            "version.txt": "1.0.0 – ü",
        }
    (tmp_path / "a.py").write_text("changed")
    assert archive("a.py", "b.py") != before


def test_what_is_ignored_is_exactly_as_it_was() -> None:
    before = {"b": 3, "c": {"d": 4}}

    inputs = with_ignored({"a": 1, "b": 2}, before, ["a", "c"])

    assert inputs == {"b": 2, "c": {"d": 4}}
    inputs["c"]["d"] = 5
    assert before["c"] == {"d": 4}


@pytest.mark.parametrize("path", ["*", "tags.owner", "list[0]"])
def test_a_path_into_an_input_is_refused(path: str) -> None:
    with pytest.raises(LocalError, match="ignore_changes: "):
        with_ignored({}, {}, [path])
