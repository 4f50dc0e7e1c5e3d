"""A local AWS server that the tests share, on a free port and in a folder of its own."""

import gc
import signal
import tempfile
from collections.abc import Generator
from pathlib import Path
from random import Random
from typing import Any

import hypothesis
import pytest
from xdist.scheduler import LoadFileScheduling  # pyright: ignore[reportMissingTypeStubs]

from local.aws_clients import Aws
from local.server import aws_server, process

pytest_plugins = [
    "global_integers.pytest_plugin",
    "tests.dynamodb_local",
    "tests.lambda_.fixtures",
    "tests.local.machine",
    "tests.markers",
    "tests.unique_ids",
]


LONGEST = (
    "proof/simulation/test_interleavings",
    "proof/simulation/test_losses",
    "client/test_integers",
    "proof/simulation/test_schedule",
    "proof/chaos/",
    "upgrade/",
    "docs/test_site",
    "docs/test_tasks",
    "local/",
    "recipes/",
)
"""What takes longest, which is begun first. Otherwise one process would still be at it when the others have ended."""


SHARING = {
    "opened, by clients": (
        "tests/client/test_domain_signing.py",
        "tests/client/test_command_line.py",
        "tests/client/test_integers.py",
        "tests/client/test_scenarios.py",
        "tests/client/test_testing.py",
        "tests/client/test_testing_region.py",
    ),
    "opened": (
        "tests/local/stacks/test_open_counters.py",
        "tests/local/stacks/test_openapi.py",
        "tests/local/stacks/test_page.py",
    ),
    "deployed and small": (
        "tests/local/test_command_line.py",
        "tests/local/test_environment.py",
        "tests/local/test_interrupt.py",
        "tests/local/test_operator_commands.py",
        "tests/local/engine/test_preview.py",
        "tests/local/stacks/test_minting_together.py",
        "tests/local/server/test_aws_server.py",
    ),
    "of the recipes": ("tests/recipes/",),
}
"""Deployments (local/machine.py), and the files of tests that share one. One process runs them."""


ALONE = ("tests/proof/simulation/",)
"""Where each test stands for itself: several processes run those of one file."""


class _Scheduling(LoadFileScheduling):
    """Gives each process whole files of tests, and all that share a deployment to the same one."""

    def _split_scope(self, nodeid: str) -> str:
        if nodeid.startswith(ALONE):
            return nodeid
        return next((shared for shared, files in SHARING.items() if nodeid.startswith(files)), nodeid.split("::")[0])


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Scheduling:
    """Decide which process runs which tests."""
    return _Scheduling(config, log)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add an option for `tools/flaky.py`."""
    parser.addoption("--file-order", type=int, metavar="N", help="take the files in another order, which N decides")


hypothesis.settings.register_profile(
    "any machine", deadline=None, suppress_health_check=[hypothesis.HealthCheck.too_slow]
)
hypothesis.settings.load_profile("any machine")


def pytest_configure() -> None:
    """Take Ctrl-C also where it is ignored (`make test &` in a script): what the tests start would ignore it, too.

    A time limit ends the tests in the same way, so no server of theirs stays behind.
    """
    for sign in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(sign) in (signal.SIG_IGN, signal.SIG_DFL):
            signal.signal(sign, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Look for cycles seldom: otherwise this takes a fifth of the time of all tests that run the program."""
    gc.freeze()
    gc.set_threshold(100_000, 50, 50)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the longest files, unless another order is asked for. Each is run by one process."""
    order: int | None = config.getoption("--file-order")
    paths = sorted({item.path.as_posix() for item in items})
    if order is None:
        paths.sort(
            key=lambda path: next((n for n, part in enumerate(LONGEST) if f"tests/{part}" in path), len(LONGEST))
        )
    else:
        Random(order).shuffle(paths)
    items.sort(key=lambda item: paths.index(item.path.as_posix()))


def pytest_sessionfinish() -> None:
    """Ask for the end of processes that tests have killed. Python warns of one that nobody has asked for."""
    for child in process._children:
        child.poll()


@pytest.fixture(scope="session")
def aws() -> Generator[Aws]:
    """The server's clients, with root's test keys. It ends with the tests, whatever happens in them."""
    with tempfile.TemporaryDirectory() as folder:
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("GLOBAL_INTEGERS_LOCAL", folder)
            started = aws_server.start(0)
        try:
            yield Aws(started.endpoint)
        finally:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("GLOBAL_INTEGERS_LOCAL", folder)
                aws_server.SERVICE.stop()
                assert not aws_server.SERVICE.alive(started.pid)
            assert not list(Path(folder).glob("server.json"))
