"""A function's archive: its own `.py` files and their version, the same every time."""

import tomllib
from pathlib import Path
from typing import cast

import pulumi
import pytest

from components.archive import VERSION, archive, version, version_in
from local.paths import ROOT


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
    """The source files of an archive by their names in it."""
    assets = cast("dict[str, pulumi.FileAsset]", made.assets)
    return {name: Path(asset.path).read_text() for name, asset in assets.items() if name != VERSION}


def said(made: pulumi.AssetArchive) -> str:
    """The version that an archive says it is."""
    return cast("dict[str, pulumi.StringAsset]", made.assets)[VERSION].text


@pytest.mark.usefixtures("repository")
def test_only_source_files_of_the_function_and_of_integers_are_in_it() -> None:
    made = contents(archive("greet"))

    assert set(made) == {"greet/__init__.py", "greet/handler.py", "integers/names.py"}
    assert made["greet/handler.py"] == "# lambda/greet/handler.py\n"


@pytest.mark.usefixtures("repository")
def test_the_version_that_a_check_expects_is_the_one_that_the_function_reads() -> None:
    made = archive("greet")

    assert version_in(made) == said(made).strip()


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


def test_its_version_is_the_projects_and_tells_every_change_of_a_file(repository: Path) -> None:
    before = said(archive("greet"))
    assert said(archive("greet")) == before
    assert said(archive("greet", "shared")) != before

    source = repository / "lambda/greet/handler.py"
    source.write_text("# changed\n")
    changed = said(archive("greet"))
    source.rename(source.with_name("renamed.py"))
    renamed = said(archive("greet"))

    assert len({before, changed, renamed}) == 3
    number = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert {text.partition("+")[0] for text in (before, changed, renamed)} == {number}


def test_the_version_of_given_files_is_the_same_on_every_machine(tmp_path: Path) -> None:
    names = {"greet/b.py": "b", "greet/a.py": "a"}
    for number, order in enumerate((names, dict(reversed(names.items())))):
        folder = tmp_path / str(number)
        folder.mkdir()
        files = {name: folder / text for name, text in order.items()}
        for name, text in order.items():
            files[name].write_text(text)

        # sha256 of "greet/a.py <sha256 of a>\ngreet/b.py <sha256 of b>\n", by sha256sum
        assert version(files).partition("+")[2] == "08e4977c8772"


@pytest.mark.usefixtures("repository")
def test_a_function_without_python_files_is_an_error_and_no_empty_archive() -> None:
    with pytest.raises(FileNotFoundError, match=r"lambda/missing has no \.py files"):
        archive("missing")


def test_a_packages_pages_are_in_it(repository: Path) -> None:
    (repository / "lambda/greet/page.html").write_text("<p>\n")

    assert contents(archive("greet"))["greet/page.html"] == "<p>\n"
