"""One deployment on this machine for all tests of the client, and proxies to its regions."""

import json
from collections.abc import Callable, Generator
from typing import Any

import pytest
from global_integers import Integers, command_line
from global_integers.testing import Stack

from tests.client.clients import Clock, Tasks, wait_for_background
from tests.client.commands import Command, Done
from tests.client.region_proxies import HANG, PATIENT, Names, RegionProxy, forwarded_to, proxies_to
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


@pytest.fixture
def command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Command:
    """`command("mint", "-n", "4", urls=...)`: in this process, however long the regions take."""

    def patient(urls: Any, **options: Any) -> Integers:
        return Integers(urls, **{**options, **(PATIENT if options["timeout"] > 0 else {})})

    monkeypatch.setattr(command_line, "Integers", patient)
    monkeypatch.setattr(command_line, "SLOW", HANG)

    def run(*arguments: str, urls: object = None) -> Done:
        monkeypatch.delenv("GLOBAL_INTEGERS_URLS", raising=False)
        if urls is not None:
            monkeypatch.setenv("GLOBAL_INTEGERS_URLS", urls if isinstance(urls, str) else json.dumps(urls))
        capsys.readouterr()
        try:
            status = command_line.main(arguments)
        except SystemExit as exited:  # argparse refuses an option
            status = exited.code
        printed = capsys.readouterr()
        return Done(status, printed.out, printed.err)

    return run


@pytest.fixture
def in_memory(command: Command, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Stack]:
    """`in_memory(max_counters=9)`: a stack in memory, which the command calls whatever its URLs are."""

    def stack(**options: Any) -> Stack:
        made = Stack(**options)

        def client(_: object, **options: Any) -> Integers:
            return made.integers(**options)

        monkeypatch.setattr(command_line, "Integers", client)
        return made

    return stack
