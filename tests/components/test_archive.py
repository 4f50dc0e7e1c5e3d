"""A function's archive: its own `.py` files, the same every time."""

from pathlib import Path
from typing import cast

import pulumi
import pytest

from components.archive import archive


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A repository with a function `greet`, and other files in its folder."""
    files = [
        "lambda/greet/__init__.py",
        "lambda/greet/handler.py",
        "lambda/greet/notes.md",
        "lambda/greet/settings.json",
        "lambda/greet/__pycache__/handler.cpython-314.pyc",
        "lambda/greet/handler.pyc",
        "lambda/greet/tests/test_handler.py",
        "lambda/other/handler.py",
        "lambda/shared/__init__.py",
        "integers/names.py",
        "integers/__pycache__/names.cpython-314.pyc",
        "components/settings.py",
    ]
    for name in files:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {name}\n")
    for name, folder in {"ROOT": "", "FUNCTIONS": "lambda", "SHARED": "integers"}.items():
        monkeypatch.setattr(f"components.archive.{name}", tmp_path / folder)
    return tmp_path


def contents(made: pulumi.AssetArchive) -> dict[str, str]:
    """The files of an archive by their names in it."""
    assets = cast("dict[str, pulumi.FileAsset]", made.assets)
    return {name: Path(asset.path).read_text() for name, asset in assets.items()}


@pytest.mark.usefixtures("repository")
def test_only_source_files_of_the_function_and_of_integers_are_in_it() -> None:
    made = contents(archive("greet"))

    assert set(made) == {"greet/__init__.py", "greet/handler.py", "integers/names.py"}
    assert made["greet/handler.py"] == "# lambda/greet/handler.py\n"


@pytest.mark.usefixtures("repository")
def test_a_shared_folder_is_added_under_its_own_name() -> None:
    made = contents(archive("greet", "shared"))

    assert set(made) == {"greet/__init__.py", "greet/handler.py", "shared/__init__.py", "integers/names.py"}


@pytest.mark.usefixtures("repository")
def test_it_is_the_same_in_whatever_order_the_disk_lists_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    listed = Path.rglob
    made: list[list[tuple[str, str]]] = []
    for backwards in (False, True):

        def rglob(path: Path, pattern: str, backwards: bool = backwards) -> list[Path]:
            return sorted(listed(path, pattern), reverse=backwards)

        monkeypatch.setattr(Path, "rglob", rglob)
        made.append(list(contents(archive("greet", "shared")).items()))

    assert made[0] == made[1]


def test_it_changes_when_one_of_its_files_does(repository: Path) -> None:
    before = contents(archive("greet"))
    (repository / "lambda/greet/handler.py").write_text("# changed\n")

    assert contents(archive("greet")) == before | {"greet/handler.py": "# changed\n"}


@pytest.mark.usefixtures("repository")
def test_a_function_without_python_files_is_an_error_and_no_empty_archive() -> None:
    with pytest.raises(FileNotFoundError, match=r"lambda/missing has no \.py files"):
        archive("missing")


def test_a_packages_pages_are_in_it(repository: Path) -> None:
    (repository / "lambda/greet/page.html").write_text("<p>\n")

    assert contents(archive("greet"))["greet/page.html"] == "<p>\n"
