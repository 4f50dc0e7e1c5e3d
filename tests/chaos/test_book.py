"""What counts as handed out twice, what is excepted, and what is a gap."""

from chaos.book import Book, Mint, Restoration
from chaos.calls import Write


def mint(*integers: int, counter: str = "orders", region: str = "eu-west-1") -> Mint:
    return Mint(region, "function", counter, integers, len(integers) > 1, 10, 11)


def write(first: int, began: float, ended: float, count: int = 1, region: str = "eu-west-1") -> Write:
    return Write(region, "orders", first, 3, count, began, ended)


def book_of(*mints: Mint) -> Book:
    book = Book()
    for entry in mints:
        book.got(entry)
    return book


def test_an_integer_that_two_requests_got_is_a_duplicate() -> None:
    book = book_of(mint(1), mint(4, 7, 10), mint(7, region="us-east-1"))

    (found,) = book.duplicates(book.excepted([]))

    assert (found.counter, found.integer) == ("orders", 7)
    assert {entry.region for entry in found.mints} == {"eu-west-1", "us-east-1"}


def test_counters_are_apart() -> None:
    book = book_of(mint(1), mint(1, counter="invoices"))

    assert book.duplicates(book.excepted([])) == []


def test_an_integer_twice_in_one_block_is_a_duplicate() -> None:
    book = book_of(mint(1, 4, 4))

    assert [found.integer for found in book.duplicates(book.excepted([]))] == [4]


def test_only_writes_to_a_restored_table_are_excepted() -> None:
    book = book_of(mint(1), mint(1))
    book.restorations.append(Restoration("eu-west-1", 20, 30))

    before, during, across, after = write(1, 18, 19), write(1, 21, 22), write(1, 29.9, 31), write(1, 30.1, 31)
    elsewhere = write(1, 21, 22, region="us-east-1")

    assert [bool(book.excepted([one])) for one in (before, during, across, after, elsewhere)] == [
        False,
        True,
        True,
        False,
        False,
    ]
    assert book.duplicates(book.excepted([during])) == []
    assert len(book.duplicates(book.excepted([before, after, elsewhere]))) == 1
    assert len(book.duplicates(book.excepted([write(4, 21, 22)]))) == 1


def test_each_excepted_write_explains_one_request() -> None:
    book = book_of(mint(1), mint(1), mint(1))
    book.restorations.append(Restoration("eu-west-1", 20))

    assert len(book.duplicates(book.excepted([write(1, 21, 22)]))) == 1
    assert book.duplicates(book.excepted([write(1, 21, 22), write(1, 40, 41)])) == []


def test_all_of_a_block_in_a_restored_table_is_excepted() -> None:
    book = book_of(mint(1, 4, 7), mint(4), mint(7))
    book.restorations.append(Restoration("eu-west-1", 20, 30))

    assert book.duplicates(book.excepted([write(4, 21, 22, count=2)])) == []
    assert book.excepted([write(4, 21, 22, count=2)]) == {("orders", 4): 1, ("orders", 7): 1}


def test_a_repeated_key_must_get_the_same() -> None:
    book = book_of(mint(1))
    book.replayed("a", (1,), (1,))
    assert book.contradictions == []

    book.replayed("a", (1,), (4,))

    assert book.contradictions == ["Idempotency-Key a: [1], then [4]"]
    assert (book.requests, book.replays, book.integers) == (3, 2, 1)


def test_gaps_are_counted_from_1_and_per_counter() -> None:
    book = book_of(mint(2), mint(3), mint(10), mint(1, counter="invoices"))

    assert book.gaps() == (6, 7)
    assert Book().gaps() == (0, 0)


def test_blocks_and_single_integers_are_counted_apart() -> None:
    book = book_of(mint(1), mint(4, 7, 10), mint(13))

    assert (book.single, book.in_blocks, book.integers) == (2, 3, 5)
