"""The file names a baseline, and its files are found, also from a shallow clone."""

import subprocess
from pathlib import Path

import pytest

from tests.upgrade.baseline import NotHere, files_of, named


@pytest.fixture
def origin(tmp_path: Path) -> Path:
    """A repository with two commits; the first has the tag v1.0.0."""
    origin = tmp_path / "origin"
    origin.mkdir()
    git(origin, "init", "--quiet")
    for text in ("before", "now"):
        (origin / "file").write_text(text)
        git(origin, "add", "file")
        git(origin, "-c", "user.name=A", "-c", "user.email=a@example.com", "commit", "--quiet", "--message", text)
    git(origin, "tag", "v1.0.0", "HEAD~")
    return origin


@pytest.fixture
def shallow(origin: Path, tmp_path: Path) -> Path:
    """A clone with the last commit only."""
    git(tmp_path, "clone", "--quiet", "--depth=1", "--no-tags", origin.as_uri(), "shallow")
    return tmp_path / "shallow"


def git(folder: Path, *arguments: str) -> str:
    done = subprocess.run(["git", *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_the_file_names_a_commit_or_a_release() -> None:
    assert named()


@pytest.mark.parametrize("name", ["", "main", "v1", "1.0.0", "d0b8e64", "d" * 41])
def test_a_name_that_may_move_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "baseline.txt").write_text(f"{name}\n")
    with pytest.raises(ValueError, match="neither a full commit hash"):
        named(tmp_path / "baseline.txt")


@pytest.mark.parametrize("by", ["hash", "tag"])
@pytest.mark.parametrize("whole", [True, False])
def test_the_baselines_files_come_from_git(whole: bool, by: str, origin: Path, shallow: Path, tmp_path: Path) -> None:
    clone = origin if whole else shallow
    name = "v1.0.0" if by == "tag" else git(origin, "rev-parse", "v1.0.0")
    (tmp_path / "a").mkdir()

    assert (files_of(name, tmp_path / "a", clone) / "file").read_text() == "before"
    assert git(clone, "status", "--short") == ""
    assert git(shallow, "rev-list", "--count", "--all") == "1", "the clone stays as it is"


def test_what_to_do_is_said_where_it_cannot_be_fetched(origin: Path, shallow: Path, tmp_path: Path) -> None:
    name = git(origin, "rev-parse", "v1.0.0")
    (tmp_path / "no clone").mkdir()
    (tmp_path / "a").mkdir()
    origin.rename(tmp_path / "gone")

    for clone in (shallow, tmp_path / "no clone"):
        with pytest.raises(NotHere, match=rf"{name} .*can't be fetched from its origin: .*git fetch origin {name}"):
            files_of(name, tmp_path / "a", clone)
