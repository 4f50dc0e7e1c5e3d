"""Refuses tests with the same id, of which xdist would run only one, without a word."""

from collections import Counter

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Refuse tests with the same id."""
    if not hasattr(config, "workerinput"):  # in a worker of xdist, the error wouldn't be shown
        different = {id(item): item.nodeid for item in items}  # a test that the command line names twice is one
        _refuse_repeated(list(different.values()))


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_node_collection_finished(ids: list[str]) -> None:
    """Refuse tests with the same id, as a worker has collected them."""
    _refuse_repeated(ids)


def _refuse_repeated(ids: list[str]) -> None:
    repeated = [test for test, count in Counter(ids).items() if count > 1]
    if repeated:
        raise pytest.UsageError("several tests have the same id:\n" + "\n".join(repeated))
