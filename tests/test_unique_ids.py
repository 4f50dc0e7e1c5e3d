"""The check that no two tests have the same id."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from local.paths import ROOT

CONFTEST = """
import pytest
pytest_plugins = ["tests.unique_ids"]

def pytest_pycollect_makeitem(collector, name, obj):
    if name == "test_several":
        return [pytest.Function.from_parent(collector, name=name, callobj=obj) for _ in range(2)]
"""


def run(folder: Path, *arguments: str) -> "subprocess.CompletedProcess[str]":
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").touch()
    return subprocess.run(
        [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-p", "xdist", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        capture_output=True,
        text=True,
        timeout=120,
    )


@pytest.mark.long
@pytest.mark.parametrize("workers", [(), ("-n1", "--dist=loadfile")], ids=["alone", "with xdist"])
def test_tests_with_the_same_id_are_refused(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "test_x.py").write_text("def test_several(): pass\ndef test_one(): pass\n")

    result = run(tmp_path, *workers)

    assert result.returncode != 0
    assert "several tests have the same id:\n" in result.stdout + result.stderr
    assert "test_x.py::test_several" in result.stdout + result.stderr
    assert "passed" not in result.stdout


@pytest.mark.long
@pytest.mark.parametrize("workers", [(), ("-n1", "--dist=loadfile")], ids=["alone", "with xdist"])
def test_a_test_that_is_named_twice_is_run(tmp_path: Path, workers: tuple[str, ...]) -> None:
    (tmp_path / "test_x.py").write_text("def test_one(): pass\n")

    result = run(tmp_path, *workers, "test_x.py", "test_x.py::test_one", "test_x.py::test_one")

    assert result.returncode == 0, result.stdout + result.stderr
