"""`make check` leaves out each test that starts a server, a browser or a database, wherever its file is."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TESTS = """
import pytest

@pytest.fixture
def aws(): pass

@pytest.fixture
def table(aws): pass

@pytest.fixture
def machines(): pass

@pytest.fixture
def small(machines): pass

@pytest.fixture
def fresh(machines): pass

def test_pure(tmp_path): pass
def test_server(aws): pass
def test_server_by_another_fixture(table): pass
def test_shared(small): pass
def test_alone(fresh): pass

@pytest.mark.usefixtures("table")
def test_server_by_mark(): pass

@pytest.mark.needs("mariadb")
def test_database(): pass

@pytest.mark.needs("make")
def test_quick_program(): pass

@pytest.mark.slow
def test_search(): pass
"""
CONFTEST = """
def pytest_deselected(items):
    for item in items:
        marks = [mark.name for mark in item.iter_markers() if mark.name in ("server", "slow", "long")]
        print("left out:", item.name, *marks)
"""


def test_tests_are_marked_by_what_they_use(tmp_path: Path) -> None:
    (tmp_path / "test_some.py").write_text(TESTS)
    (tmp_path / "conftest.py").write_text(CONFTEST)
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers =\n  needs\n  server\n  slow\n  long\n")
    plugins = ["-pno:cacheprovider", "-ptests.markers", "-m", "not server and not slow and not long"]
    command = [sys.executable, "-B", "-m", "pytest", "--collect-only", "--strict-markers", "-q", *plugins, tmp_path]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # their imports take most of the time
    result = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True)

    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    assert {line.rpartition("::test_")[2] for line in lines if "::test_" in line} == {"pure", "quick_program"}
    assert {line.removeprefix("left out: test_") for line in lines if line.startswith("left out: ")} == {
        *("server server", "server_by_another_fixture server", "server_by_mark server", "shared server"),
        *("alone server long", "database long"),
        "search slow",
    }
