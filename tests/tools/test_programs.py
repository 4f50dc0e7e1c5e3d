"""Where a program that tests need is missing, they are skipped and say so, or fail."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tools.programs import PROGRAMS

ROOT = Path(__file__).resolve().parents[2]
BIG = ("chromium", "mariadb")


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
