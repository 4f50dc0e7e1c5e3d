"""One deployment on this machine for all tests of the client, and proxies to its regions."""

from collections.abc import Callable, Generator
from typing import Any

import pytest
from global_integers import Integers

from tests.client.clients import Clock, Tasks, wait_for_background
from tests.client.region_proxies import Names, RegionProxy, forwarded_to, proxies_to
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
def proxies(direct: dict[str, str]) -> Generator[dict[str, RegionProxy]]:
    """A proxy to each region."""
    with proxies_to({region: forwarded_to(url) for region, url in direct.items()}) as made:
        yield made


@pytest.fixture
def urls(proxies: dict[str, RegionProxy]) -> dict[str, str]:
    """The URLs of the proxies."""
    return {region: proxy.url for region, proxy in proxies.items()}


@pytest.fixture
def names(proxies: dict[str, RegionProxy]) -> Names:
    """Names of a domain, which lead to the proxies."""
    return Names(proxies)


@pytest.fixture(params=[Integers, Tasks], ids=["threads", "tasks"])
def client(request: pytest.FixtureRequest) -> Callable[..., Any]:
    """A client for threads, or one for tasks with the same interface."""
    return request.param


@pytest.fixture
def wait_until_idle() -> Callable[[Any], None]:
    """`wait_until_idle(integers)` waits until a client of this test does nothing in the background."""

    def wait(integers: Any) -> None:
        if isinstance(integers, Tasks):
            integers.wait_until_idle()
        else:
            wait_for_background(integers)

    return wait


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    """The clock of leases, which stands still."""
    clock = Clock()
    for module in ("minting", "integers", "async_integers"):
        monkeypatch.setattr(f"global_integers.{module}.time", clock)
    return clock
