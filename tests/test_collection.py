"""No two tests have the same id."""

import pytest

from tests.unique_ids import pytest_xdist_node_collection_finished


def test_tests_with_the_same_id_are_refused() -> None:
    with pytest.raises(pytest.UsageError, match=r"several tests have the same id:\ntest_x.py::test_one$"):
        pytest_xdist_node_collection_finished(["test_x.py::test_one", "test_x.py::test_two", "test_x.py::test_one"])
