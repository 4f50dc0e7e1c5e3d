"""One deployment on this machine, and proxies ("ways") to its regions."""

from collections.abc import Callable, Generator

import pytest

from tests.client.ways import Way, ways_to
from tests.local.conftest import fresh as fresh  # the fixtures
from tests.local.conftest import machines as machines
from tests.local.machine import Machine

SETTINGS = ('counters=["integers", "orders"]', "openCounters=true")


@pytest.fixture(scope="module")
def stack(machines: Callable[[], Machine]) -> Generator[Machine]:
    """Stack `dev` with the counter `orders`, whose callers may create counters."""
    machine = machines()
    result = machine.up(settings=SETTINGS)
    assert result.returncode == 0, result.stderr
    yield machine
    machine.end()


@pytest.fixture(scope="module")
def direct(stack: Machine) -> dict[str, str]:
    """The regions' own URLs."""
    return stack.outputs()["urls"]


@pytest.fixture
def ways(direct: dict[str, str]) -> Generator[dict[str, Way]]:
    """A proxy to each region. Delays make the first region the nearest and the last one the farthest."""
    with ways_to(direct) as made:
        for number, way in enumerate(made.values()):
            way.delay = 0.04 * number
        yield made


@pytest.fixture
def urls(ways: dict[str, Way]) -> dict[str, str]:
    """The URLs of the proxies."""
    return {region: way.url for region, way in ways.items()}
