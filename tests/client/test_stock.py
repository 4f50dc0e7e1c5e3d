"""How much is leased, when, and for how long."""

import threading
from itertools import islice

import pytest
from global_integers.answers import Block
from global_integers.stock import GROWTH, SPLIT, UNUSED, Lease, Locked, Stock

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
            self.fetch(own=0)
        return integer or self.fetch()

    def fetch(self, *, own: int = 1) -> int:
        size = self.stock.begun("me", own=own)
        self.sizes.append(size)
        block = Block("a", self.first, 3, size)
        self.first += 3 * size
        share = self.stock.ended("me", size, block, own=own)
        return self.stock.take(share) if own else 0


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
    stock.add(Block("a", 1, 1, 1000))

    assert not stock.is_low()
    list(islice(iter(stock.take, 0), 1000 // SPLIT))
    assert not stock.is_low()
    stock.take()
    assert stock.is_low()
    assert stock.left() == 1000 - 1000 // SPLIT - 1


def test_small_blocks_are_not_fetched_ahead() -> None:
    stock = Stock(1000, 60, Clock())
    stock.add(Block("a", 1, 1, SPLIT - 1))
    stock.take()

    assert not stock.is_low()


def test_what_is_left_after_the_lifetime_is_dropped() -> None:
    supply = Supply(lifetime=60)
    supply.stock.add(Block("a", 1, 3, 100))
    assert supply.stock.take() == 1
    supply.clock.now += 60

    assert supply.stock.take() == 0
    assert supply.stock.next_size() <= 2, "what was used of it is all that is wanted"


def test_a_clock_that_was_set_back_ends_the_lease() -> None:
    supply = Supply()
    supply.stock.add(Block("a", 1, 3, 100))
    supply.clock.now -= 1

    assert supply.stock.take() == 0


def test_many_are_taken_from_memory() -> None:
    stock = Stock(1000, 60, Clock())
    stock.add(Block("a", 1, 1, 50))

    assert stock.take_many(20) == list(range(1, 21))
    assert stock.take_many(100) == list(range(21, 51))
    assert stock.take_many(1) == []


def test_who_has_a_lease_gets_nothing_once_it_is_dropped() -> None:
    stock = Stock(1000, 60, Clock())
    stock.add(Block("a", 1, 1, 50))
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


class Caller:
    """Waits for a block."""

    def __init__(self) -> None:
        self.share: Lease | None = None
        self.woken = False

    def wake(self) -> None:
        self.woken = True


class Crowd:
    """Callers of a stock, by their numbers."""

    def __init__(self, most: int, callers: int) -> None:
        self.clock = Clock()
        self.stock = Stock(most, 60, self.clock)
        self.callers = [Caller() for _ in range(callers)]

    def arrive(self) -> dict[int, int]:
        """Let all find nothing. Return who fetches how many."""
        sizes = {who: self.stock.claim(who, caller) for who, caller in enumerate(self.callers)}
        return {who: size for who, size in sizes.items() if size}

    def one_fetches(self, used: int, seconds: float = 0.001) -> tuple[int, int]:
        """Let a block of so many be used up in this time, and all find nothing. Return who fetches how many."""
        self.stock.add(Block("a", 1, 1, used))
        self.stock.take_many(used)
        self.clock.now += seconds
        ((who, size),) = self.arrive().items()
        return who, size


def taken(share: Lease | None) -> list[int]:
    """Return all of a share."""
    return [] if share is None else list(share[0])


def test_a_crowd_waits_for_one_block_that_has_enough() -> None:
    crowd = Crowd(most=1000, callers=10)
    assert crowd.arrive() == {0: 1}
    crowd.stock.ended(0, 1, Block("a", 1, 1, 1), own=1)
    assert [caller.woken for caller in crowd.callers] == [False] + [True] * 9

    crowd.callers = [Caller() for _ in range(9)]
    assert crowd.arrive() == {0: 9}


def test_a_crowd_of_more_than_a_lease_fetches_several_blocks_at_once() -> None:
    crowd = Crowd(most=2, callers=10)
    assert crowd.arrive() == {0: 1}
    crowd.stock.ended(0, 1, Block("a", 1, 1, 1), own=1)

    crowd.callers = [Caller() for _ in range(9)]
    assert crowd.arrive() == {0: 2, 2: 2, 4: 2, 6: 2, 8: 2}
    for who in range(0, 9, 2):
        mine = crowd.stock.ended(who, 2, Block("a", 2 + who, 1, 2), own=1)
        assert taken(mine) == [2 + who]
    assert [taken(crowd.callers[who].share) for who in range(1, 9, 2)] == [[3], [5], [7], [9]]


def test_a_block_is_shared_out_evenly_among_those_who_wait_for_it() -> None:
    crowd = Crowd(most=1000, callers=7)
    who, size = crowd.one_fetches(used=250, seconds=0.1)

    mine = crowd.stock.ended(who, size, Block("a", 1001, 1, size), own=1)

    shares = [taken(mine), *(taken(caller.share) for caller in crowd.callers[1:])]
    assert sorted(integer for share in shares for integer in share) == list(range(1001, 1001 + size))
    assert {len(share) for share in shares} <= {size // 7, size // 7 + 1}
    assert all(caller.woken for caller in crowd.callers[1:])
    assert crowd.stock.take() == 0


def test_if_a_block_does_not_come_those_who_wait_try_again() -> None:
    crowd = Crowd(most=1000, callers=4)
    who, size = crowd.one_fetches(used=1)

    assert crowd.stock.ended(who, size, None, own=1) is None
    assert [(caller.woken, caller.share) for caller in crowd.callers[1:]] == [(True, None)] * 3


def test_a_smaller_block_than_was_asked_for_serves_the_longest_waiting() -> None:
    crowd = Crowd(most=1000, callers=4)
    who, size = crowd.one_fetches(used=1)
    assert size == GROWTH

    mine = crowd.stock.ended(who, size, Block("a", 5, 1, 2), own=1)

    assert [taken(mine), *(taken(caller.share) for caller in crowd.callers[1:])] == [[5], [6], [], []]
    assert all(caller.woken for caller in crowd.callers[1:])


def test_a_share_that_nobody_uses_is_anothers_after_a_while() -> None:
    crowd = Crowd(most=1000, callers=2)
    who, size = crowd.one_fetches(used=2)
    crowd.stock.ended(who, size, Block("a", 11, 1, size), own=1)

    assert crowd.stock.unused() is None
    assert crowd.stock.left() == size
    crowd.clock.now += UNUSED
    assert taken(crowd.stock.unused()) + taken(crowd.stock.unused()) == list(range(11, 11 + size))
    assert crowd.stock.unused() is None


def test_who_fetches_does_not_wait_for_itself() -> None:
    """As a signal handler would that interrupts it."""
    crowd = Crowd(most=1000, callers=1)
    crowd.stock.add(Block("a", 1, 1, 5))
    crowd.stock.take_many(5)
    assert crowd.stock.begun(0, own=1) > 1

    assert crowd.stock.claim(0, crowd.callers[0]) > 0
