"""One deployment on this machine for all tests of the client, and proxies ("ways") to its regions."""

import threading
from collections.abc import Callable, Generator
from typing import Any

import pytest
from global_integers import Integers

from tests.client.clients import Clock, Tasks
from tests.client.ways import HANG, Names, Way, ways_to
from tests.local.machine import Machine, mint


@pytest.fixture(scope="session")
def outputs(opened: Machine) -> dict[str, Any]:
    """The stack's outputs."""
    return opened.outputs()


@pytest.fixture(scope="session")
def direct(outputs: dict[str, Any]) -> dict[str, str]:
    """The regions' own URLs."""
    for url in outputs["urls"].values():
        assert mint(url)[0] == 200
    return outputs["urls"]


@pytest.fixture
def ways(direct: dict[str, str]) -> Generator[dict[str, Way]]:
    """A proxy to each region."""
    with ways_to(direct) as made:
        yield made


@pytest.fixture
def urls(ways: dict[str, Way]) -> dict[str, str]:
    """The URLs of the proxies."""
    return {region: way.url for region, way in ways.items()}


@pytest.fixture
def names(ways: dict[str, Way]) -> Names:
    """Names of an address, which lead to the proxies."""
    return Names(ways)


@pytest.fixture(params=[Integers, Tasks], ids=["threads", "tasks"])
def client(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A client for threads, or one for tasks with the same interface."""
    return request.param


@pytest.fixture
def settle() -> Callable[[Any], None]:
    """`settle(integers)` waits until a client of this test does nothing in the background."""
    before = set(threading.enumerate())  # with threads of closed clients, which notice that after attempt_timeout

    def wait(integers: Any) -> None:
        if isinstance(integers, Tasks):
            integers.settle()
        for thread in set(threading.enumerate()) - before:
            if thread.name == "global-integers":
                thread.join(HANG)

    return wait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of leases, which stands still."""
    clock = Clock()
    for module in ("client", "integers", "async_integers"):
        monkeypatch.setattr(f"global_integers.{module}.time", clock)
    return clock
