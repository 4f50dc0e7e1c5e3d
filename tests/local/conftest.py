"""Deployments on this machine: one that many tests look at, and fresh ones."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from local import process
from local.ports import any_free_port
from tests.local.machine import Machine


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[], Machine]]:
    made: list[Machine] = []

    def make() -> Machine:
        made.append(Machine(tmp_path_factory.mktemp("local"), any_free_port()))
        return made[-1]

    yield make
    for machine in made:
        machine.end()


@pytest.fixture
def fresh(machines: Callable[[], Machine]) -> Generator[Machine]:
    """A machine on which nothing runs yet."""
    machine = machines()
    yield machine
    machine.end()


@pytest.fixture(scope="module")
def deployed(machines: Callable[[], Machine]) -> Generator[Machine]:
    """Stack `dev`, deployed."""
    machine = machines()
    result = machine.up()
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The state folder of this process, empty."""
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(tmp_path))
    yield tmp_path
    for child in process._children:
        child.poll()  # a process that `python -m local down` ended: Python would warn of it
