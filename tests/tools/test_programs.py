"""Programs that tests need are installed where that is possible; without one, its tests are skipped and say so."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools import programs
from tools.programs import MARIADB, ON_A_MAC, PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
BIG = ("chromium", "mariadb")

COMMAND = """#!/bin/sh
echo "$@" >> "{log}"
case "$*" in *" install "*)
  for name in {installs}; do echo "#!/bin/sh" > "{folder}/$name"; /bin/chmod +x "{folder}/$name"; done;;
esac
exit {code}
"""
SUDO = """#!/bin/sh
shift
exec "$@"
"""


def run_files(path: Path, ci: str | None) -> "subprocess.CompletedProcess[str]":
    """Run the tests that need a big program where `PATH` has none."""
    if any(path.exists() for path in ON_A_MAC.values()):
        pytest.skip("a browser that PATH doesn't hide")
    marks = {f'pytest.mark.needs("{program}")' for program in BIG}
    folders = (ROOT / "tests" / name for name in ("local", "recipes"))
    tests = {file: file.read_text() for folder in folders for file in folder.rglob("test_*.py")}
    files = {file: mark for file, text in tests.items() for mark in marks if mark in text}
    assert {*files.values()} == marks
    environment = {name: value for name, value in os.environ.items() if name != "CI" and "PYTEST" not in name}
    environment |= {"PATH": str(path)} | ({"CI": ci} if ci else {})
    command = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", "-m", "needs", *map(str, files)]
    return subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)


@pytest.mark.long
def test_without_a_program_its_tests_are_skipped(tmp_path: Path) -> None:
    result = run_files(tmp_path, ci=None)

    header, _, rest = result.stdout.partition("collected")
    assert result.returncode == 0, result.stdout
    for program in BIG:
        reason = f"{PROGRAMS[program].title} is not installed (Debian and Ubuntu: apt-get install "
        assert f"missing: {reason}" in header
        assert reason in rest.partition("SKIPPED")[2]
    assert "passed" not in rest.splitlines()[-1]


@pytest.mark.long
def test_where_ci_is_set_they_fail(tmp_path: Path) -> None:
    result = run_files(tmp_path, ci="true")

    assert result.returncode == 1, result.stdout
    for program in BIG:
        assert f"{PROGRAMS[program].title} is not installed" in result.stdout
    assert "skipped" not in result.stdout.splitlines()[-1]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are found; of these three, MariaDB is the only one that is missing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("chromium", "make"):
        command(folder, name)
    (folder / "env").symlink_to("/usr/bin/env")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(programs, "SERVERS", ())
    monkeypatch.setattr(programs, "PROGRAMS", {name: PROGRAMS[name] for name in ("chromium", "mariadb", "make")})
    monkeypatch.setattr(programs, "ON_A_MAC", {})
    return folder


def command(folder: Path, name: str, code: int = 0, installs: tuple[str, ...] = ()) -> Path:
    """Put a command into a folder that installs others. Returns the file that gets its arguments."""
    log = folder.parent / f"{name}.log"
    (folder / name).write_text(COMMAND.format(log=log, folder=folder, installs=" ".join(installs), code=code))
    (folder / name).chmod(0o755)
    return log


def as_user(monkeypatch: pytest.MonkeyPatch, number: int) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: number)


@pytest.mark.parametrize("user", [0, 1000], ids=["root", "sudo"])
def test_what_is_missing_is_installed(
    user: int, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    as_user(monkeypatch, user)
    log = command(folder, "apt-get", installs=("mariadb", "mariadbd", "mariadb-install-db"))
    if user:
        (folder / "sudo").write_text(SUDO)
        (folder / "sudo").chmod(0o755)
        (folder / "true").symlink_to("/bin/true")

    programs.main()

    update, install = log.read_text().splitlines()
    assert update.endswith(" update")
    assert install.endswith(" install -y --no-remove --no-install-recommends mariadb-server-core mariadb-client-core")
    assert MARIADB.missing is None
    assert capfd.readouterr().out == ""


def test_what_apt_refuses_is_reported(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    as_user(monkeypatch, 0)
    command(folder, "apt-get", code=100)

    programs.main()

    assert capfd.readouterr().out == f"{MARIADB.missing}: the tests that need it are skipped\n"


@pytest.mark.parametrize("sudo", [True, False])
def test_who_may_not_install_is_told_so(
    sudo: bool, folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    as_user(monkeypatch, 1000)
    log = command(folder, "apt-get")
    if sudo:
        command(folder, "sudo", code=1)

    programs.main()

    assert not log.exists()
    refused, skipped = capfd.readouterr().out.splitlines()
    assert refused == "not installed: MariaDB: only root may install, and sudo needs a password or is missing"
    assert skipped == f"{MARIADB.missing}: the tests that need it are skipped"


def test_without_apt_it_says_so(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CI", "true")

    programs.main()

    refused, failed = capfd.readouterr().out.splitlines()
    assert refused == "not installed: MariaDB: there is no apt-get here"
    assert failed == f"{MARIADB.missing}: the tests that need it fail"


def test_where_nothing_is_missing_nothing_is_run(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    for name in ("mariadb", "mariadbd", "mariadb-install-db"):
        command(folder, name)
    log = command(folder, "apt-get")

    programs.main()

    assert not log.exists()
    assert capfd.readouterr().out == ""
