"""A function's archive: its own `.py` files, the same every time."""

from pathlib import Path
from typing import cast

import pulumi
import pytest

from components import archive as subject
from components.archive import archive


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with one function, `greet`, and things that lie about in its folder."""
    files = [
        "lambda/greet/__init__.py",
        "lambda/greet/handler.py",
        "lambda/greet/notes.md",
        "lambda/greet/settings.json",
        "lambda/greet/__pycache__/handler.cpython-314.pyc",
        "lambda/greet/handler.pyc",
        "lambda/greet/tests/test_handler.py",
        "lambda/other/handler.py",
        "components/names.py",
        "components/settings.py",
    ]
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    monkeypatch.setattr(subject, "ROOT", tmp_path)
    return tmp_path


def contents(made: pulumi.AssetArchive) -> dict[str, str]:
    """The files of an archive by their names in it."""
    assets = cast("dict[str, pulumi.FileAsset]", made.assets)
    return {name: Path(asset.path).read_text() for name, asset in assets.items()}


@pytest.mark.usefixtures("repository")
def test_only_the_functions_own_python_files_are_in_it() -> None:
    assert contents(archive("greet")) == {
        "greet/__init__.py": "# lambda/greet/__init__.py\n",
        "greet/handler.py": "# lambda/greet/handler.py\n",
    }


@pytest.mark.usefixtures("repository")
def test_a_shared_module_is_added_by_its_path_in_the_repository() -> None:
    made = contents(archive("greet", "components/names.py"))

    assert set(made) == {"greet/__init__.py", "greet/handler.py", "components/names.py"}
    assert made["components/names.py"] == "# components/names.py\n"


@pytest.mark.usefixtures("repository")
def test_it_is_the_same_in_whatever_order_the_disk_lists_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.glob
    made: list[list[tuple[str, str]]] = []
    for backwards in (False, True):

        def glob(path: Path, pattern: str, backwards: bool = backwards) -> list[Path]:
            return sorted(listed(path, pattern), reverse=backwards)

        monkeypatch.setattr(Path, "glob", glob)
        made.append(list(contents(archive("greet", "components/names.py")).items()))

    assert made[0] == made[1]


def test_it_changes_when_a_file_of_it_does(repository: Path) -> None:
    before = contents(archive("greet"))
    (repository / "lambda/greet/handler.py").write_text("# changed\n")

    assert contents(archive("greet")) == before | {"greet/handler.py": "# changed\n"}


@pytest.mark.usefixtures("repository")
def test_a_package_without_python_files_is_an_error_and_no_empty_archive() -> None:
    with pytest.raises(FileNotFoundError, match=r"lambda/missing has no \.py files"):
        archive("missing")


def test_a_packages_pages_are_in_it(repository: Path) -> None:
    (repository / "lambda/greet/page.html").write_text("<p>\n")

    assert contents(archive("greet"))["greet/page.html"] == "<p>\n"
