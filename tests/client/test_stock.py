"""How much is leased, when, and for how long."""

import threading
from itertools import islice

import pytest
from global_integers.answers import Block
from global_integers.stock import GROWTH, SPLIT, Locked, Stock

from tests.client.clients import Clock


class Supply:
    """Takes integers from a stock, and fetches blocks for it."""

    def __init__(self, most: int = 1000, lifetime: float = 60) -> None:
        self.clock = Clock()
        self.stock = Stock(most, lifetime, self.clock)
        self.first = 1
        self.sizes: list[int] = []

    def next(self) -> int:
        integer = self.stock.take()
        if self.stock.is_low() and integer:
            self.fetch(keep_first=True)
        return integer or self.fetch()

    def fetch(self, *, keep_first: bool = False) -> int:
        size = self.stock.next_size()
        self.sizes.append(size)
        block = Block("a", self.first, 3, size)
        self.first += 3 * size
        self.stock.add(block, keep_first=keep_first)
        return block.first


def test_every_integer_is_handed_out_once_and_in_order() -> None:
    supply = Supply()
    taken = [supply.next() for _ in range(5000)]

    assert taken == list(range(1, 15_001, 3))


def test_an_idle_process_takes_single_integers() -> None:
    supply = Supply()
    for _ in range(20):
        supply.next()
        supply.clock.now += 10

    assert set(supply.sizes) == {1}


def test_a_busy_process_takes_ever_larger_blocks() -> None:
    supply = Supply(most=1000)
    for _ in range(20_000):
        supply.next()
        supply.clock.now += 0.0001

    assert supply.sizes[:5] == [1, GROWTH, GROWTH**2, GROWTH**3, GROWTH**4]
    assert max(supply.sizes) == 1000
    assert len(supply.sizes) < 35


def test_a_block_lasts_some_seconds() -> None:
    supply = Supply(most=100_000)
    for _ in range(5000):
        supply.next()
        supply.clock.now += 0.01  # 100 a second

    assert 100 <= supply.sizes[-1] <= 250


def test_the_next_block_is_fetched_ahead() -> None:
    stock = Stock(1000, 60, Clock())
    stock.next_size()
    stock.add(Block("a", 1, 1, 1000), keep_first=True)

    assert not stock.is_low()
    list(islice(iter(stock.take, 0), 1000 // SPLIT))
    assert not stock.is_low()
    stock.take()
    assert stock.is_low()
    assert stock.left() == 1000 - 1000 // SPLIT - 1


def test_small_blocks_are_not_fetched_ahead() -> None:
    stock = Stock(1000, 60, Clock())
    stock.add(Block("a", 1, 1, SPLIT - 1), keep_first=False)
    stock.take()

    assert not stock.is_low()


def test_what_is_left_after_the_lifetime_is_dropped() -> None:
    supply = Supply(lifetime=60)
    supply.stock.add(Block("a", 1, 3, 100), keep_first=False)
    assert supply.stock.take() == 4
    supply.clock.now += 60

    assert supply.stock.take() == 0
    assert supply.stock.next_size() <= 2, "what was used of it is all that is wanted"


def test_a_clock_that_was_set_back_ends_the_lease() -> None:
    supply = Supply()
    supply.stock.add(Block("a", 1, 3, 100), keep_first=False)
    supply.clock.now -= 1

    assert supply.stock.take() == 0


def test_many_are_taken_from_memory() -> None:
    stock = Stock(1000, 60, Clock())
    stock.add(Block("a", 1, 1, 50), keep_first=True)

    assert stock.take_many(20) == list(range(1, 21))
    assert stock.take_many(100) == list(range(21, 51))
    assert stock.take_many(1) == []


def test_who_has_a_lease_gets_nothing_once_it_is_dropped() -> None:
    stock = Stock(1000, 60, Clock())
    stock.add(Block("a", 1, 1, 50), keep_first=True)
    stock.take()
    integers, *_ = stock.lease
    stock.drop()

    assert next(integers, None) is None
    assert stock.take() == 0


@pytest.mark.parametrize("iterator", [iter, Locked])
def test_threads_share_an_iterator(iterator: type[Locked]) -> None:
    shared = iterator(range(50_000))
    taken: list[list[int]] = [[] for _ in range(8)]
    threads = [threading.Thread(target=mine.extend, args=(shared,)) for mine in taken]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(n for mine in taken for n in mine) == list(range(50_000))
