"""Programs that tests need are installed where that is possible; without one, its tests are skipped and say so."""

import os
import subprocess
import sys
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import pytest

from tools import programs
from tools.programs import MARIADB, PROGRAMS

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
SERVER = ("mariadb", "mariadbd", "mariadb-install-db")


@pytest.mark.long
@pytest.mark.parametrize("ci", [False, True])
def test_without_a_program_its_tests_are_skipped_or_fail(ci: bool, tmp_path: Path) -> None:
    """They fail where `CI` is set, and nothing but them."""
    marks = {f'pytest.mark.needs("{program}")' for program in BIG}
    folders = (ROOT / "tests" / name for name in ("local", "recipes"))
    tests = {file: file.read_text() for folder in folders for file in folder.rglob("test_*.py")}
    files = {file: mark for file, text in tests.items() for mark in marks if mark in text}
    assert {*files.values()} == marks
    environment = {name: value for name, value in os.environ.items() if name != "CI" and "PYTEST" not in name}
    environment |= {"PATH": str(tmp_path)} | ({"CI": "true"} if ci else {})
    command = [sys.executable, "-m", "pytest", "-n0", "-p", "no:cacheprovider", "-m", "needs", *map(str, files)]
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    header, _, rest = result.stdout.partition("collected")
    assert result.returncode == ci, result.stdout
    for program in BIG:
        reason = f"{PROGRAMS[program].title} is not installed (Debian and Ubuntu: apt-get install "
        assert f"missing: {reason}" in header
        assert reason in rest
    *_, last = rest.splitlines()
    assert "passed" not in last
    assert ("skipped" in last, "failed" in last or "error" in last) == (not ci, ci)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The only folder in which programs are found; of these three, MariaDB is the only one that is missing."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("chromium", "make"):
        command(folder, name)
    (folder / "env").symlink_to("/usr/bin/env")
    (folder / "true").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.delenv("CI", raising=False)
    monkeypatch.setattr(programs, "SERVERS", ())
    monkeypatch.setattr(programs, "PROGRAMS", {name: PROGRAMS[name] for name in ("chromium", "mariadb", "make")})
    return folder


def command(folder: Path, name: str, code: int = 0, installs: tuple[str, ...] = (), text: str = COMMAND) -> Path:
    """Put a command into a folder that installs others. Returns the file that gets its arguments."""
    log = folder.parent / f"{name}.log"
    (folder / name).write_text(text.format(log=log, folder=folder, installs=" ".join(installs), code=code))
    (folder / name).chmod(0o755)
    return log


@pytest.mark.parametrize("user", [0, 1000], ids=["root", "sudo"])
def test_what_is_missing_is_installed_once(user: int, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    log = command(folder, "apt-get", installs=SERVER)
    if user:
        command(folder, "sudo", text=SUDO)

    programs.main()
    programs.main()

    update, install = log.read_text().splitlines()
    assert update.endswith(" update")
    assert install.endswith(" install -y --no-remove --no-install-recommends mariadb-server-core mariadb-client-core")
    assert MARIADB.missing is None


NOT_ROOT = "not installed: MariaDB: only root may install, and sudo needs a password or is missing\n"


@pytest.mark.parametrize(
    ("user", "commands", "why"),
    [
        (0, {"apt-get": 100}, ""),
        (1000, {"apt-get": 0, "sudo": 1}, NOT_ROOT),
        (1000, {"apt-get": 0}, NOT_ROOT),
        (0, {}, "not installed: MariaDB: there is no apt-get here\n"),
    ],
)
def test_what_cannot_be_installed_is_reported(
    user: int, commands: dict[str, int], why: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: user)
    logs = [command(folder, name, code) for name, code in commands.items()]

    for ci, then in (("", "are skipped"), ("true", "fail")):
        monkeypatch.setenv("CI", ci)
        with redirect_stdout(StringIO()) as out:
            programs.main()
        assert out.getvalue() == f"{why}{MARIADB.missing}: the tests that need it {then}\n"
    assert not why or not logs or not logs[0].exists(), "apt is not asked"
