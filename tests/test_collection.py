"""No two tests have the same id, and each is marked by what it uses, so `make check` has only quick ones."""

from unittest.mock import Mock

import pytest

from tests import markers
from tests.unique_ids import pytest_xdist_node_collection_finished


def test_tests_with_the_same_id_are_refused() -> None:
    with pytest.raises(pytest.UsageError, match=r"several tests have the same id:\ntest_x.py::test_one$"):
        pytest_xdist_node_collection_finished(["test_x.py::test_one", "test_x.py::test_two", "test_x.py::test_one"])


@pytest.mark.parametrize(
    ("fixtures", "program", "marks"),
    [
        (["aws"], "make", ["server"]),
        (["machines", "small"], "make", ["server"]),
        (["machines", "fresh"], "make", ["server", "long"]),
        (["tmp_path"], "mariadb", ["long"]),
    ],
)
def test_a_test_is_marked_by_what_it_uses(fixtures: list[str], program: str, marks: list[str]) -> None:
    item = Mock(fixturenames=fixtures)
    item.iter_markers.return_value = [Mock(args=[program])]
    markers.pytest_collection_modifyitems([item])

    assert [call.args[0].name for call in item.add_marker.call_args_list] == marks
