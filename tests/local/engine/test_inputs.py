"""Inputs as JSON: equal ones are equal, whatever the files' times."""

import base64
import io
import os
import zipfile
from pathlib import Path

import pulumi
import pytest

from local.engine.inputs import as_json
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
