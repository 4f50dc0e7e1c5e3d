"""docs/architecture.md names files and folders that exist."""

import re

import pytest

from local.paths import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()

TABLE = re.findall(r"^\| `([\w/.]+)` \| ", PAGE, re.MULTILINE)
LIST = re.findall(r"^\d\. `([\w/.]+)`:", PAGE, re.MULTILINE)


def test_the_folders_are_all_listed() -> None:
    assert {"integers/", "components/", "lambda/mint/", "lambda/coordinate/", "local/", "tests/"} <= set(TABLE)
    assert len(LIST) == 3


@pytest.mark.parametrize("path", [*TABLE, *LIST])
def test_what_is_listed_exists(path: str) -> None:
    assert (ROOT / path).exists()


@pytest.mark.parametrize("folder", [path for path in TABLE if path.endswith("/")])
def test_the_files_named_in_a_row_are_in_its_folder(folder: str) -> None:
    (row,) = re.findall(rf"^\| `{folder}` \| (.*) \|$", PAGE, re.MULTILINE)

    named = [name for name in re.findall(r"`([\w/]+(?:\.\w+|/))`", row) if name != "__main__.py"]
    assert [name for name in named if not (ROOT / folder / name).exists()] == []
