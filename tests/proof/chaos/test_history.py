"""What counts as handed out twice, and what is excepted."""

from collections.abc import Sequence

import pytest

from proof.chaos.history import History, RecordedMint, Restoration
from proof.chaos.proxy import Write


def history_of(*integers: Sequence[int], counter: str = "orders") -> History:
    history = History()
    for each in integers:
        history.mints.append(RecordedMint("eu-west-1", "function", counter, each, 10, 11))
    return history


@pytest.mark.parametrize(
    ("integers", "twice"),
    [
        ([(1,), (4, 7, 10), (7,)], [7]),
        ([(1, 4, 4)], [4]),
        ([(1,), (4,)], []),
    ],
)
def test_what_two_requests_got_is_a_duplicate(integers: list[Sequence[int]], twice: list[int]) -> None:
    history = history_of(*integers)
    history.mints.append(RecordedMint("us-east-1", "function", "another", (1, 4, 7, 10), 10, 11))

    assert [found.integer for found in history.duplicates(history.excepted([]))] == twice


def write(began: float, ended: float, first: int = 1, region: str = "eu-west-1") -> Write:
    return Write(region, "orders", range(first, first + 1), began, ended)


@pytest.mark.parametrize(
    ("writes", "duplicates"),
    [
        ([write(18, 19)], 1),
        ([write(21, 22)], 0),
        ([write(29.9, 31)], 0),
        ([write(30.1, 31)], 1),
        ([write(21, 22, region="us-east-1")], 1),
        ([write(21, 22, first=4)], 1),
    ],
)
def test_only_writes_to_a_restored_table_are_excepted(writes: list[Write], duplicates: int) -> None:
    """Each of them explains one request."""
    for requests, more in ((2, 0), (3, 1)):
        history = history_of(*[(1,)] * requests)
        history.restorations.append(Restoration("eu-west-1", 20, 30))
        assert len(history.duplicates(history.excepted(writes))) == max(duplicates, more)


def test_a_key_that_gets_another_answer_is_a_contradiction() -> None:
    history = history_of((1,))
    history.replayed("a", (1,), (1,))
    history.replayed("a", (1,), (4,))

    assert history.contradictions == ["Idempotency-Key a: [1], then [4]"]
