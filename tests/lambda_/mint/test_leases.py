"""Leases: few writes for a busy counter, and never an integer twice."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import mint.minting
import pytest
from coordinate.protocol.model import Item
from mint.leases import LIFETIME, Leases
from mint.model import CeilingReached
from mint.table import CounterTable

from tests.lambda_.coordinator_calls import HOME, REGIONS, deploy, item, put_item
from tests.lambda_.fixtures import Ask, Stack


def function(stack: Stack, max_size: int = 100, clock: Callable[[], float] = time.time) -> Leases:
    """Return the leases of a cold function."""
    return Leases(CounterTable(stack.counters), max_size, clock)


def issued(stack: Stack, counter: str = "integers") -> int:
    found = item(stack, HOME, counter)
    assert found is not None
    return found.issued


def mints(leases: Leases, count: int, counter: str = "integers") -> list[int]:
    return [n for _ in range(count) for n in leases.mint(counter).integers()]


def test_the_block_doubles_while_it_is_used_up_within_a_second(stack: Stack) -> None:
    deploy("us-east-1")
    leases = function(stack)

    assert mints(leases, 300) == list(range(1, 301))
    # 1, 2, 4, … 64 are 127; then 100 at a time: nine writes for 300 integers.
    assert issued(stack) == 127 + 2 * 100


def test_the_block_halves_when_it_is_not_used_up(stack: Stack) -> None:
    deploy("us-east-1")
    now = 1000.0
    leases = function(stack, 8, lambda: now)
    assert mints(leases, 15) == list(range(1, 16))  # 1, 2, 4, 8
    taken: list[int] = []
    for n in range(16, 26):
        now += 1.5
        assert mints(leases, 1) == [n]
        taken.append(issued(stack))

    assert taken == [19, 19, 19, 19, 21, 21, 22, 23, 24, 25]


def test_a_lease_ends_so_that_a_floor_is_past_it(stack: Stack) -> None:
    deploy("us-east-1")
    now = 1000.0
    leases = function(stack, clock=lambda: now)
    mints(leases, 127 + 1)
    deploy("us-east-1", floors={"integers": 50_000})

    assert mints(leases, 2) == [129, 130], "within its time a lease is served, whatever has changed"
    now += LIFETIME
    assert mints(leases, 1) == [50_000]
    now -= 2 * LIFETIME  # a clock that was set back
    assert mints(leases, 1)[0] > 50_000


def test_near_the_ceiling_the_last_ones_are_minted_singly(stack: Stack) -> None:
    deploy("us-east-1")
    leases = function(stack)
    put_item(stack, HOME, Item(0, 1, 5, 1))

    assert mints(leases, 5) == [1, 2, 3, 4, 5]
    with pytest.raises(CeilingReached):
        leases.mint("integers")


def test_a_function_keeps_no_more_than_so_many(stack: Stack) -> None:
    stack.monkeypatch.setattr("mint.leases.MAX_COUNTERS", 2)
    deploy("us-east-1", counters=["a", "b", "c"])
    leases = function(stack)

    assert [mints(leases, 2, name) for name in "abc"] == [[1, 2]] * 3
    assert [issued(stack, name) for name in "abc"] == [3] * 3, "each has another integer leased"
    assert [mints(leases, 1, name) for name in "cba"] == [[3], [3], [4]], "the oldest lease was dropped"


def test_functions_through_three_layouts_and_no_duplicate(stack: Stack) -> None:
    """Between any two calls of the coordinator, each of four functions uses up some leases, unless it is fenced."""
    deploy(*REGIONS[:2], window=3000)
    functions = [function(stack, 50) for _ in range(4)]
    integers: list[int] = []
    refused: set[bool] = set()

    def meanwhile(_region: str, _operation: str, request: dict[str, Any]) -> None:
        if "issued = issued +" in request.get("UpdateExpression", ""):
            return  # that is a function
        for leases in functions:
            try:
                integers.extend(mints(leases, 10))
            except CeilingReached as reached:
                refused.add(reached.item.fenced)

    stack.monkeypatch.setattr(stack.aws, "answer", meanwhile)
    for regions in (REGIONS, REGIONS[::-1], REGIONS[:1]):
        deploy(*regions, window=3000)

    assert len(integers) == len(set(integers)) > 1000
    assert True in refused


def test_threads_of_one_function_never_get_the_same(stack: Stack) -> None:
    deploy("us-east-1")
    leases = function(stack, 1000)

    with ThreadPoolExecutor(8) as pool:
        integers = [n for made in pool.map(lambda _: mints(leases, 200), range(8)) for n in made]

    assert len(integers) == len(set(integers)) == 1600


def test_blocks_and_receipts_by_the_function_itself(stack: Stack, ask: Ask) -> None:
    stack.monkeypatch.setenv("LEASE", "100")
    deploy("us-east-1")
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
