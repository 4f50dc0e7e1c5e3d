"""How much is leased, when, and for how long."""

import ctypes
import threading
from collections.abc import Callable
from itertools import count

import pytest
from global_integers.minting.api import MintedBlock
from global_integers.minting.lease_buffer import UNUSED, FetchTurn, LeaseBuffer, Locked

from tests.client.clients import Bell, Clock, Lines, in_a_child
from tests.client.region_proxies import HANG

CALLERS = count(1)
"""Each caller has a number of its own."""


def filled(*counts: int, most: int = 1000, clock: Callable[[], float] | None = None) -> LeaseBuffer:
    """Return a buffer for which blocks of so many integers were fetched: from 1 on, one stride apart."""
    buffer = LeaseBuffer(most, 60, clock or Clock())
    first = 1
    for size in counts:
        turn = FetchTurn(next(CALLERS), Bell())
        turn.own, turn.size = 0, size
        buffer.add(MintedBlock("a", first, 1, size), turn)
        first += size
    return buffer


class Supply:
    """One caller that takes integers from a buffer, and fetches blocks for it."""

    def __init__(self, most: int = 1000, lifetime: float = 60) -> None:
        self.clock = Clock()
        self.buffer = LeaseBuffer(most, lifetime, self.clock)
        self.me = next(CALLERS)
        self.first = 1
        self.sizes: list[int] = []

    def next(self) -> int:
        turn = FetchTurn(self.me, Bell())
        self.buffer.begin(turn)
        self.fetch(turn)
        if self.buffer.is_low:
            ahead = FetchTurn(next(CALLERS), Bell())
            self.buffer.begin_ahead(ahead)
            self.fetch(ahead)
        return turn.integer

    def fetch(self, turn: FetchTurn) -> None:
        if turn.size:
            self.sizes.append(turn.size)
            block = MintedBlock("a", self.first, 3, turn.size)
            self.first += 3 * turn.size
            self.buffer.add(block, turn)
        self.buffer.end(turn)


def test_a_block_lasts_some_seconds() -> None:
    supply = Supply(most=100_000)
    for _ in range(5000):
        supply.next()
        supply.clock.now += 0.01  # 100 a second

    assert 100 <= supply.sizes[-1] <= 250


@pytest.mark.parametrize(("size", "ahead"), [(9, False), (10, True), (1000, True)])
def test_the_next_block_is_fetched_ahead_unless_it_is_small(size: int, ahead: bool) -> None:
    buffer = filled(size)

    assert not buffer.is_low
    buffer.take_many(size // 10)
    assert not buffer.is_low
    buffer.take_many(1)
    assert buffer.is_low == ahead
    assert buffer.left == size - size // 10 - 1
    turns = [FetchTurn(next(CALLERS), Bell()) for _ in range(2)]
    for turn in turns:
        buffer.begin_ahead(turn)
    assert [turn.size > 0 for turn in turns] == [ahead, False], "once"


@pytest.mark.parametrize(("seconds", "most"), [(60, 2), (-1, 1000)], ids=["it is over", "the clock was set back"])
def test_what_is_left_after_the_lifetime_is_dropped(seconds: int, most: int) -> None:
    clock = Clock()
    buffer = filled(100, clock=clock)
    assert buffer.take_many(1) == [1]
    clock.now += seconds

    turn = FetchTurn(next(CALLERS), Bell())
    buffer.begin(turn)
    assert turn.integer == 0
    assert 1 <= turn.size <= most, "what was used of it is all that is wanted"


def test_many_are_taken_from_memory() -> None:
    buffer = filled(50)

    assert buffer.take_many(20) == list(range(1, 21))
    assert buffer.take_many(100) == list(range(21, 51))
    assert buffer.take_many(1) == []


def test_who_has_a_lease_gets_nothing_once_it_is_dropped() -> None:
    buffer = filled(50)
    buffer.take_many(1)
    integers, *_ = buffer.lease
    buffer.drop()

    assert next(integers, None) is None
    assert buffer.take_many(1) == []


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


class Crowd:
    """Callers that find nothing, by their numbers."""

    def __init__(self, callers: int, most: int = 1000, used: int = 0, seconds: float = 0.001) -> None:
        """Let a block of so many have been used up in this time, and all callers arrive."""
        self.clock = Clock()
        self.buffer = filled(*[used] if used else [], most=most, clock=self.clock)
        self.buffer.take_many(used)
        self.clock.now += seconds
        self.arrive(callers)

    def arrive(self, callers: int) -> None:
        self.bells = [Bell() for _ in range(callers)]
        self.turns = [FetchTurn(next(CALLERS), bell) for bell in self.bells]
        for turn in self.turns:
            self.buffer.begin(turn)

    @property
    def sizes(self) -> dict[int, int]:
        """Who fetches how many."""
        return {number: turn.size for number, turn in enumerate(self.turns) if turn.size}

    @property
    def woken(self) -> list[bool]:
        return [bell.rung for bell in self.bells]

    def all_of(self, number: int) -> list[int]:
        """Return all that a caller has, of its turn and of its share."""
        turn = self.turns[number]
        found = [turn.integer] if turn.integer else []
        return found + list(self.buffer.shares[turn.caller][0] if turn.caller in self.buffer.shares else ())


def test_a_crowd_waits_for_one_block_that_has_enough() -> None:
    crowd = Crowd(10)
    assert crowd.sizes == {0: 1}
    assert [turn.waits for turn in crowd.turns] == [False] + [True] * 9
    crowd.buffer.add(MintedBlock("a", 1, 1, 1), crowd.turns[0])
    assert crowd.turns[0].integer == 1
    assert crowd.woken == [False] + [True] * 9

    crowd.arrive(9)
    assert crowd.sizes == {0: 9}


def test_a_crowd_of_more_than_a_lease_fetches_several_blocks() -> None:
    crowd = Crowd(10, most=2)
    crowd.buffer.add(MintedBlock("a", 1, 1, 1), crowd.turns[0])

    crowd.arrive(9)
    assert crowd.sizes == {0: 2, 2: 2, 4: 2, 6: 2, 8: 2}
    for number in range(0, 9, 2):
        crowd.buffer.add(MintedBlock("a", 2 + number, 1, 2), crowd.turns[number])
        assert crowd.turns[number].integer == 2 + number
    assert [crowd.all_of(number)[0] for number in range(1, 9, 2)] == [3, 5, 7, 9]


def test_a_block_is_shared_out_evenly_among_those_who_wait() -> None:
    crowd = Crowd(7, used=250, seconds=0.1)
    ((number, size),) = crowd.sizes.items()

    crowd.buffer.add(MintedBlock("a", 1001, 1, size), crowd.turns[number])

    shares = [crowd.all_of(number) for number in range(7)]
    assert sorted(integer for share in shares for integer in share) == list(range(1001, 1001 + size))
    assert {len(share) for share in shares} <= {size // 7, size // 7 + 1}
    assert crowd.woken == [False] + [True] * 6
    assert crowd.buffer.take_many(1) == []


def test_if_a_block_does_not_come_those_who_wait_try_again() -> None:
    crowd = Crowd(4, used=1)

    crowd.buffer.end(crowd.turns[0])

    assert crowd.woken == [False] + [True] * 3
    assert [crowd.all_of(number) for number in range(4)] == [[]] * 4
    crowd.arrive(1)
    assert crowd.sizes, "nobody waits for what doesn't come"


def test_if_two_of_several_blocks_do_not_come_one_tries_again() -> None:
    crowd = Crowd(10, most=2)
    crowd.buffer.add(MintedBlock("a", 1, 1, 1), crowd.turns[0])
    crowd.arrive(9)
    crowd.buffer.end(crowd.turns[0])
    crowd.buffer.end(crowd.turns[2])

    assert len(crowd.sizes) == 5, "three blocks come, with an integer each for others, of whom there are four"
    assert crowd.woken == [False, True] + [False] * 7


def test_a_smaller_block_serves_those_who_wait_longest() -> None:
    crowd = Crowd(4, used=1)
    assert crowd.sizes == {0: 4}

    crowd.buffer.add(MintedBlock("a", 5, 1, 2), crowd.turns[0])

    assert [crowd.all_of(number) for number in range(4)] == [[5], [6], [], []]
    assert crowd.woken == [False] + [True] * 3


@pytest.mark.parametrize("first", ["used up", "expired"])
def test_who_comes_later_gets_the_oldest_share_that_has_integers(first: str) -> None:
    crowd = Crowd(2, used=2)
    began = crowd.clock.now
    crowd.buffer.add(MintedBlock("a", 11, 1, 6), crowd.turns[0])
    if first == "used up":
        crowd.all_of(0)
        early = FetchTurn(next(CALLERS), Bell())
        crowd.buffer.begin(early)
        assert early.size, "it fetches, since both may come back"
        crowd.buffer.end(early)
        crowd.clock.now = began + UNUSED
    else:
        crowd.clock.now = began + 59.5
        crowd.arrive(2)  # they get the first two shares
        crowd.arrive(2)
        crowd.buffer.add(MintedBlock("a", 101, 1, 6), next(turn for turn in crowd.turns if turn.size))
        crowd.clock.now = began + 60

    me, mine = next(CALLERS), list[int]()
    for _ in range(2):
        turn = FetchTurn(me, Bell())
        crowd.buffer.begin(turn)
        mine.append(turn.integer)

    assert mine == ([14, 15] if first == "used up" else [102, 103])


def test_what_nobody_else_waits_for_is_for_everyone() -> None:
    crowd = Crowd(1, used=5)
    crowd.buffer.add(MintedBlock("a", 11, 1, 4), crowd.turns[0])

    assert (crowd.turns[0].integer, crowd.buffer.take_many(9)) == (11, [12, 13, 14])


def test_who_fetches_does_not_wait_for_itself() -> None:
    """As a signal handler would that interrupts it."""
    crowd = Crowd(1, used=5)
    handler = FetchTurn(crowd.turns[0].caller, Bell())

    crowd.buffer.begin(handler)

    assert handler.size > 0
    assert not handler.waits


@pytest.mark.parametrize("at", range(1, 40))
def test_a_handler_never_waits_while_its_thread_is_in_the_buffer(at: int) -> None:
    """Whoever fetches could not bring the block: its thread would wait for the handler's."""
    crowd = Crowd(2, used=5)
    handler, inside = FetchTurn(next(CALLERS), Bell()), list[bool]()

    def interrupt() -> None:
        inside.append(crowd.buffer._is_inside())
        crowd.buffer.begin(handler)

    mine = FetchTurn(next(CALLERS), Bell())
    with Lines(at, interrupt):
        crowd.buffer.begin(mine)
        crowd.buffer.take_many(1)
        crowd.buffer.end(mine)
    assert not (inside == [True] and handler.waits)
    if handler.alone:
        crowd.buffer.add(MintedBlock("a", 1001, 1, 1), handler)
        assert (handler.size, handler.integer) == (1, 1001)
    crowd.buffer.end(handler)
    again = FetchTurn(crowd.turns[0].caller, Bell())
    crowd.buffer.begin(again)
    assert again.size == crowd.turns[0].size, "the handler's block says nothing of the demand"
    crowd.buffer.end(again)

    crowd.buffer.add(MintedBlock("a", 2001, 1, crowd.turns[0].size), crowd.turns[0])
    assert crowd.turns[0].integer >= 2001


def test_a_turn_whose_call_is_gone_is_waited_for_no_longer() -> None:
    """As if a call was interrupted while it cleaned up."""
    crowd = Crowd(1, used=5)
    crowd.turns.clear()
    crowd.arrive(1)

    assert crowd.sizes


def test_a_turn_that_was_interrupted_leaves_nothing_behind() -> None:
    crowd = Crowd(3, used=5)
    for turn in crowd.turns:
        crowd.buffer.end(turn)
        crowd.buffer.end(turn)

    crowd.arrive(1)
    assert crowd.sizes


def test_a_forked_child_neither_waits_nor_hands_anything_out() -> None:
    """C code forks, without Python's hooks, while another thread is in the buffer: its lock stays locked."""
    inside, go_on = threading.Event(), threading.Event()

    def clock() -> float:
        if threading.current_thread().name == "other":
            inside.set()
            go_on.wait(HANG)
        return 1000.0

    buffer, turn = filled(50, clock=clock), FetchTurn(next(CALLERS), Bell())
    other = threading.Thread(target=buffer.take_many, args=(1,), name="other")

    def use() -> list[object]:
        buffer.begin(turn)
        got = [turn.integer, turn.size, turn.waits]
        buffer.add(MintedBlock("a", 1001, 1, 3), turn)
        buffer.end(turn)
        return [*got, turn.integer, buffer.take_many(5)]

    other.start()
    inside.wait(HANG)
    assert in_a_child(ctypes.PyDLL(None).fork, use) == [0, 0, False, 1001, []]
    go_on.set()
    other.join()
