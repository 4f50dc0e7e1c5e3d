"""The markers of tests: `needs("mariadb")`, `server`, `slow` and `long`.

`make check` runs what has none of the last three, `make test` all but `long`.
"""

import os

import pytest

from tools.programs import PROGRAMS

SERVERS = {"aws", "machines", "nothing_runs"}
"""Fixtures that start a local AWS server. Every test that uses one, even indirectly, gets the marker `server`."""


SHARED = {"deployed", "small", "opened"}
"""Deployments that many tests share (local/machine.py)."""


def needed(item: pytest.Item) -> list[str]:
    """Return the names of the programs that a test needs."""
    return [name for marker in item.iter_markers("needs") for name in marker.args]


@pytest.hookimpl(tryfirst=True)  # before `-m` chooses
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that start a server. Those are `long` that deploy for themselves, or may need an installation."""
    for item in items:
        fixtures: set[str] = {*getattr(item, "fixturenames", ())}
        if SERVERS & fixtures:
            item.add_marker(pytest.mark.server)
        alone = fixtures & {"machines", "nothing_runs"} and not SHARED & fixtures
        if alone or not all(PROGRAMS[name].quick for name in needed(item)):
            item.add_marker(pytest.mark.long)


def pytest_report_header(config: pytest.Config) -> list[str]:
    """Report at the start what is missing for the tests that were chosen."""
    short = "not long" in (config.getoption("markexpr") or "")
    wanted = [program for program in PROGRAMS.values() if program.quick or not short]
    return [f"missing: {program.missing}" for program in wanted if program.missing]


def pytest_runtest_setup(item: pytest.Item) -> None:
    """Skip a test whose program is missing. Where `CI` is set it fails instead, so no check is lost unnoticed."""
    for name in needed(item):
        reason = PROGRAMS[name].missing
        if reason and os.environ.get("CI"):
            pytest.fail(f"{reason}; with CI set it must be", pytrace=False)
        if reason:
            pytest.skip(reason)
