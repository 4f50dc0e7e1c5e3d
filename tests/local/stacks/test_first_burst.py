"""Many callers at once, of counters that nobody has used: windows are still the smallest ones."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from global_integers import Counter, Integers

from tests.local.machine import HANGING, Machine, up

CALLERS = 200

SINGLE, BLOCK, LEASE = 10, 1000, 100_000


def singles(counter: Counter) -> list[int]:
    return [counter.next() for _ in range(SINGLE)]


def block(counter: Counter) -> list[int]:
    return counter.take(BLOCK)


@pytest.mark.long
def test_no_caller_of_a_fresh_counter_gets_an_error(fresh: Machine) -> None:
    """However busy the machine is: a caller waits within its own time."""
    up(fresh, "us-east-1", settings=('counters=["singles", "blocks", "leases"]', "defaultCounter=singles"))
    urls = fresh.outputs()["urls"]
    for name, mint, lease in (("singles", singles, 1), ("blocks", block, 1), ("leases", block, LEASE)):
        with (
            Integers(urls, lease=lease, timeout=HANGING, attempt_timeout=HANGING) as integers,
            ThreadPoolExecutor(CALLERS) as pool,
        ):
            minted = [integer for got in pool.map(mint, [integers[name]] * CALLERS) for integer in got]

        assert len(minted) == len({*minted}) == CALLERS * (SINGLE if mint is singles else BLOCK)
