"""Leases: few writes for a busy counter, and never an integer twice."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from concurrent.futures import ThreadPoolExecutor
from threading import Condition, Event
from typing import Protocol

import mint.minting
import pytest
from coordinate.protocol.model import Item
from mint.leases import LIFETIME, Leases
from mint.model import CeilingReached
from mint.table import CounterTable

from tests.lambda_.coordinator_calls import HOME, PATIENCE, REGIONS, deploy, item, laid_out, put_item
from tests.lambda_.fixtures import Ask, Stack


class Function(Protocol):
    def __call__(self, max_size: int = 100) -> Leases: ...


class Clock:
    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def function(stack: Stack, clock: Clock) -> "Function":
    """`function(100)` returns the leases of a cold function."""

    def function(max_size: int = 100) -> Leases:
        return Leases(CounterTable(stack.counters), max_size, clock)

    return function


def issued(stack: Stack, counter: str = "integers") -> int:
    found = item(stack, HOME, counter)
    assert found is not None
    return found.issued


def mints(leases: Leases, count: int, counter: str = "integers") -> list[int]:
    return [n for _ in range(count) for n in leases.mint(counter).integers()]


def test_the_block_doubles_while_it_is_used_up_within_a_second(stack: Stack, function: Function) -> None:
    laid_out("us-east-1")
    leases = function(100)

    assert mints(leases, 300) == list(range(1, 301))
    # 1, 2, 4, … 64 are 127; then 100 at a time: nine writes for 300 integers.
    assert issued(stack) == 127 + 2 * 100


def test_the_block_halves_when_it_is_not_used_up(stack: Stack, function: Function, clock: Clock) -> None:
    laid_out("us-east-1")
    leases = function(8)
    assert mints(leases, 15) == list(range(1, 16))  # 1, 2, 4, 8
    taken: list[int] = []
    for n in range(16, 26):
        clock.now += 1.5
        assert mints(leases, 1) == [n]
        taken.append(issued(stack))

    assert taken == [19, 19, 19, 19, 21, 21, 22, 23, 24, 25]


def test_a_lease_ends_so_that_a_floor_is_past_it(stack: Stack, function: Function, clock: Clock) -> None:
    laid_out("us-east-1")
    leases = function(100)
    mints(leases, 127 + 1)
    deploy("us-east-1", floors={"integers": 50_000})

    assert mints(leases, 2) == [129, 130], "within its time a lease is served, whatever has changed"
    clock.now += LIFETIME
    assert mints(leases, 1) == [50_000]
    clock.now -= 2 * LIFETIME  # a clock that was set back
    assert mints(leases, 1)[0] > 50_000


def test_near_the_ceiling_the_last_ones_are_minted_singly(stack: Stack, function: Function) -> None:
    laid_out("us-east-1")
    leases = function(100)
    put_item(stack, HOME, Item(0, 1, 5, 1))

    assert mints(leases, 5) == [1, 2, 3, 4, 5]
    with pytest.raises(CeilingReached):
        leases.mint("integers")


def test_counters_do_not_share_leases(stack: Stack, function: Function) -> None:
    laid_out("us-east-1", counters=["integers", "orders"])
    leases = function()

    assert [leases.mint(name).first for name in ("integers", "orders") * 5] == [n for n in range(1, 6) for _ in "ab"]


def test_a_function_keeps_no_more_than_so_many(stack: Stack, function: Function) -> None:
    stack.monkeypatch.setattr("mint.leases.MAX_COUNTERS", 2)
    laid_out("us-east-1", counters=["a", "b", "c"])
    leases = function()

    assert [mints(leases, 2, name) for name in "abc"] == [[1, 2]] * 3
    assert [issued(stack, name) for name in "abc"] == [3] * 3, "each has another integer leased"
    assert [mints(leases, 1, name) for name in "cba"] == [[3], [3], [4]], "the oldest lease was dropped"


def test_functions_through_three_layouts_and_no_duplicate(stack: Stack) -> None:
    laid_out(*REGIONS[:2])
    ended = Event()
    minted: list[list[int]] = [[] for _ in range(4)]
    some = Condition()

    def run(own: list[int]) -> None:
        leases = Leases(CounterTable(stack.counters), 50)
        while not ended.is_set():
            try:
                integer = leases.mint("integers").first
            except CeilingReached as reached:
                if not reached.item.fenced:
                    raise
                continue
            with some:
                own.append(integer)
                some.notify_all()

    def all_mint() -> None:
        """Wait until every function has minted something more, past what it has leased."""
        before = [len(own) for own in minted]
        with some:
            assert some.wait_for(
                lambda: all(len(own) > was + 50 for own, was in zip(minted, before, strict=True)) or failed(), PATIENCE
            )

    def failed() -> bool:
        return any(function.done() for function in functions)

    with ThreadPoolExecutor(4) as pool:
        functions = [pool.submit(run, own) for own in minted]
        try:
            for regions in (REGIONS, REGIONS[::-1], REGIONS[:1]):
                all_mint()
                deploy(*regions)
            all_mint()
        finally:
            ended.set()
        for function in functions:
            function.result()

    integers = [integer for own in minted for integer in own]
    assert len(integers) == len(set(integers))


def test_threads_of_one_function_never_get_the_same(stack: Stack) -> None:
    laid_out("us-east-1")
    leases = Leases(CounterTable(stack.counters), 1000)

    with ThreadPoolExecutor(8) as pool:
        integers = [n for made in pool.map(lambda _: mints(leases, 200), range(8)) for n in made]

    assert len(integers) == len(set(integers)) == 1600


def test_blocks_and_receipts_by_the_function_itself(stack: Stack, ask: Ask) -> None:
    stack.monkeypatch.setenv("LEASE", "100")
    laid_out("us-east-1")
    mint.minting.forget()
    mint.minting.prepare()
    assert issued(stack) == 0, "of an initialised function, a snapshot is started many times"
    singles = [ask("POST", "/", warm=True)["document"]["integer"] for _ in range(10)]
    block = ask("POST", "/?count=5", warm=True)["document"]["integers"]
    keyed = [ask("POST", "/", warm=True, idempotency_key="k")["document"]["integer"] for _ in range(2)]
    more = [ask("POST", "/", warm=True)["document"]["integer"] for _ in range(10)]

    assert singles == list(range(1, 11))
    assert block == list(range(16, 21)), "from the table: the lease goes up to 15"
    assert keyed == [11, 11]
    assert more == [12, 13, 14, 15, *range(21, 27)]
