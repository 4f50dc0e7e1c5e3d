"""Deployments on this machine: some that many tests look at, and fresh ones."""

from collections.abc import Callable, Generator
from pathlib import Path

import pytest

from local import process
from tests.local.machine import Machine


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[], Machine]]:
    made: list[Machine] = []

    def make() -> Machine:
        made.append(Machine(tmp_path_factory.mktemp("local")))
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


@pytest.fixture(scope="session")
def deployed(machines: Callable[[], Machine]) -> Machine:
    """Stack `dev`, deployed. A test that changes it sets it back."""
    return up(machines())


@pytest.fixture(scope="session")
def small(machines: Callable[[], Machine]) -> Machine:
    """Stack `dev` with one region. A test that changes it sets it back."""
    return up(machines(), "us-east-1")


@pytest.fixture(scope="session")
def opened(machines: Callable[[], Machine]) -> Machine:
    """Stack `dev` with the counters `integers` and `orders`, to which callers may add others. No test changes it."""
    return up(machines(), settings=('counters=["integers", "orders"]', "openCounters=true"))


def up(machine: Machine, *regions: str, settings: tuple[str, ...] = ()) -> Machine:
    """Deploy to a machine, and return it."""
    result = machine.up(*regions, settings=settings)
    assert result.returncode == 0, result.stderr
    return machine


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Generator[Path]:
    """The state folder of this process, empty."""
    monkeypatch.setenv("GLOBAL_INTEGERS_LOCAL", str(tmp_path))
    yield tmp_path
    for child in process._children:
        child.poll()  # a process that `python -m local down` ended: Python would warn of it
