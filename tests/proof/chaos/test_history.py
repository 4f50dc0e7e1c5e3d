"""What counts as handed out twice, what is excepted, what is a gap, and how much a change of layout skips."""

import pytest

from global_integers_core.lattice import Layout
from proof.chaos.history import History, RecordedMint, Restoration, beyond
from proof.chaos.proxy import Write


def mint(*integers: int, counter: str = "orders", region: str = "eu-west-1") -> RecordedMint:
    return RecordedMint(region, "function", counter, integers, 10, 11)


def write(first: int, began: float, ended: float, count: int = 1, region: str = "eu-west-1") -> Write:
    return Write(region, "orders", range(first, first + 3 * count, 3), began, ended)


def book_of(*mints: RecordedMint) -> History:
    history = History()
    for entry in mints:
        history.got(entry)
    return history


def test_an_integer_that_two_requests_got_is_a_duplicate() -> None:
    history = book_of(mint(1), mint(4, 7, 10), mint(7, region="us-east-1"), mint(1, counter="invoices"))

    (found,) = history.duplicates(history.excepted([]))

    assert (found.counter, found.integer) == ("orders", 7)
    assert {entry.region for entry in found.mints} == {"eu-west-1", "us-east-1"}


def test_an_integer_twice_in_one_block_is_a_duplicate() -> None:
    history = book_of(mint(1, 4, 4))

    assert [found.integer for found in history.duplicates(history.excepted([]))] == [4]


def test_only_writes_to_a_restored_table_are_excepted() -> None:
    history = book_of(mint(1), mint(1))
    history.restorations.append(Restoration("eu-west-1", 20, 30))

    before, during, across, after = write(1, 18, 19), write(1, 21, 22), write(1, 29.9, 31), write(1, 30.1, 31)
    elsewhere = write(1, 21, 22, region="us-east-1")

    excepted = [bool(history.excepted([one])) for one in (before, during, across, after, elsewhere)]
    assert excepted == [False, True, True, False, False]
    assert history.duplicates(history.excepted([during])) == []
    assert len(history.duplicates(history.excepted([before, after, elsewhere]))) == 1
    assert len(history.duplicates(history.excepted([write(4, 21, 22)]))) == 1


def test_each_excepted_write_explains_one_request() -> None:
    history = book_of(mint(1), mint(1), mint(1))
    history.restorations.append(Restoration("eu-west-1", 20))

    assert len(history.duplicates(history.excepted([write(1, 21, 22)]))) == 1
    assert history.duplicates(history.excepted([write(1, 21, 22), write(1, 40, 41)])) == []


def test_all_of_a_block_in_a_restored_table_is_excepted() -> None:
    history = book_of(mint(1, 4, 7), mint(4), mint(7))
    history.restorations.append(Restoration("eu-west-1", 20, 30))

    assert history.duplicates(history.excepted([write(4, 21, 22, count=2)])) == []
    assert history.excepted([write(4, 21, 22, count=2)]) == {("orders", 4): 1, ("orders", 7): 1}


def test_a_repeated_key_must_get_the_same() -> None:
    history = book_of(mint(1))
    history.replayed("a", (1,), (1,))
    assert history.contradictions == []

    history.replayed("a", (1,), (4,))

    assert history.contradictions == ["Idempotency-Key a: [1], then [4]"]
    assert (history.requests, history.replays, history.integers) == (3, 2, 1)


def test_a_pause_is_between_two_requests_at_one_url() -> None:
    history = book_of(*(mint(n)._replace(ended=ended) for n, ended in ((1, 10), (4, 12.5))))
    history.got(mint(7)._replace(entry="gateway", ended=20))
    history.failed("eu-west-1", "no connection")

    assert history.pauses("eu-west-1") == (3, 2.5)
    assert history.pauses("us-east-1") == (0, 0)
    assert history.requests == 4


def test_gaps_are_counted_from_1_and_per_counter() -> None:
    history = book_of(mint(2), mint(3), mint(10), mint(1, counter="invoices"))

    assert history.gaps() == [1, 6]
    assert History().gaps() == []


def test_blocks_and_single_integers_are_counted_apart() -> None:
    history = book_of(mint(1), mint(4, 7, 10), mint(13))

    assert (history.single, history.integers) == (2, 5)


def large(first: int, last: int, counter: str = "bulk") -> RecordedMint:
    return RecordedMint("eu-west-1", "function", counter, range(first, last + 1, 3), 10, 11)


def test_the_largest_blocks_are_looked_at_but_not_counted() -> None:
    history = book_of(large(300_001, 600_000), large(1, 300_000), mint(1, 4))

    assert (len(history.mints), history.integers, history.requests) == (1, 2, 3)
    assert history.gaps() == [2]
    assert history.repeated() == []


def test_largest_blocks_that_share_integers_are_duplicates() -> None:
    history = book_of(large(7, 300_006), large(1, 9), large(2, 20, "another"), large(300_005, 300_020))

    found = history.duplicates(history.excepted([]))

    assert [(duplicate.counter, duplicate.integer) for duplicate in found] == [("bulk", 7)]


@pytest.mark.parametrize(
    ("minted", "base", "skipped"),
    [
        ([101, 1598], 3099, 500),  # fenced 500 of 3 regions' integers above the last one
        ([101, 1598], 3100, 501),
        ([101, 1598, 3099, 3102], 3099, 500),  # what the next epoch mints says nothing of this one
        ([], 1600, 500),
        ([4], 1600, 500),  # of an earlier epoch
        ([], 300_100, 100_000),
    ],
)
def test_a_change_skips_what_lies_above_all_that_was_minted(minted: list[int], base: int, skipped: int) -> None:
    before, after = Layout(4, 100, ("a", "b", "c")), Layout(5, base, ("c", "b", "a", "d", "e"))

    assert beyond(before, after, minted) == skipped


def test_each_epoch_between_two_layouts_may_skip_as_much() -> None:
    before, after = Layout(4, 100, ("a", "b", "c")), Layout(6, 100 + 500 * (3 + 5), ("c", "b", "a", "d", "e"))

    assert beyond(before, after, []) == 500
    assert beyond(before, before, [97, 100, 103]) == 0, "there is none"
