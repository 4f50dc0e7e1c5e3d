"""What counts as handed out twice, what is excepted, and how much a change of layout skips."""

from collections.abc import Sequence

import pytest

from global_integers_core.lattice import Layout
from proof.chaos.history import History, RecordedMint, Restoration, beyond
from proof.chaos.proxy import Write


def history_of(*integers: Sequence[int], counter: str = "orders") -> History:
    history = History()
    for each in integers:
        history.got(RecordedMint("eu-west-1", "function", counter, each, 10, 11))
    return history


@pytest.mark.parametrize(
    ("integers", "twice"),
    [
        ([(1,), (4, 7, 10), (7,)], [7]),
        ([(1, 4, 4)], [4]),
        ([(1,), (4,)], []),
        ([range(7, 300_007, 3), range(1, 10, 3), range(300_007, 300_020, 3)], [7]),
    ],
)
def test_what_two_requests_got_is_a_duplicate(integers: list[Sequence[int]], twice: list[int]) -> None:
    history = history_of(*integers)
    history.got(RecordedMint("us-east-1", "function", "another", (1, 4, 7, 10), 10, 11))

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


@pytest.mark.parametrize(
    ("minted", "base", "epochs", "skipped"),
    [
        ([101, 1598], 3099, 1, 500),  # fenced 500 of 3 regions' integers above the last one
        ([101, 1598], 3100, 1, 501),
        ([101, 1598, 3099, 3102], 3099, 1, 500),  # what the next epoch mints says nothing of this one
        ([4], 300_100, 1, 100_000),  # of an earlier epoch
        ([], 100 + 500 * (3 + 5), 2, 500),  # each epoch between two layouts may skip as much
        ([97, 100], 100, 0, 0),
    ],
)
def test_a_change_skips_what_lies_above_what_was_minted(
    minted: list[int], base: int, epochs: int, skipped: int
) -> None:
    before = Layout(4, 100, ("a", "b", "c"))
    after = Layout(4 + epochs, base, ("c", "b", "a", "d", "e")) if epochs else before

    assert beyond(before, after, minted) == skipped
