"""While a counter is fenced, a request waits, but not for long."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from types import SimpleNamespace

import pytest
from aws_client.service import set_deadline
from mint import minting
from mint.model import Block, CeilingReached, CounterItem

BLOCK = Block(7, 3, 1)
FENCED = CeilingReached(CounterItem(10, 3, 10, 1, fenced=True, attributes={}))
USED_UP = CeilingReached(CounterItem(10, 3, 10, 1, fenced=False, attributes={}))


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The seconds that a request waits before each retry, which are as many as they may be."""
    waits: list[float] = []
    monkeypatch.setattr("mint.minting.time", SimpleNamespace(sleep=waits.append, monotonic=lambda: sum(waits)))
    monkeypatch.setattr("random.uniform", lambda _, most: most)
    return waits


def minted(monkeypatch: pytest.MonkeyPatch, *results: CeilingReached | Block) -> Block:
    """Return what is minted from a table whose writes have these results. A further write is an IndexError."""
    left = list(results)

    def mint(_: str) -> Block:
        result = left.pop(0)
        if isinstance(result, CeilingReached):
            raise result
        return result

    monkeypatch.setattr("mint.minting.minter", lambda: SimpleNamespace(mint=mint))
    monkeypatch.setattr("mint.minting.table", lambda: SimpleNamespace(low={}))
    return minting.mint("integers", None)[0]


def test_it_retries_until_the_fence_is_gone(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    assert minted(monkeypatch, *[FENCED] * 6, BLOCK) == BLOCK
    assert waits == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.4, 0.4])


def test_it_does_not_wait_longer_than_it_may(monkeypatch: pytest.MonkeyPatch, waits: list[float]) -> None:
    with pytest.raises(CeilingReached):
        minted(monkeypatch, *[FENCED] * 100)
    assert minting.MAX_WAIT - minting.MAX_PAUSE < sum(waits) <= minting.MAX_WAIT


@pytest.mark.parametrize(
    ("results", "leaving", "milliseconds", "waited"),
    [([FENCED, USED_UP], "", 9000, 1), ([FENCED], "eu-west-1", 9000, 0), ([FENCED], "", 0, 0)],
    ids=["the counter is used up", "the region leaves", "the invocation ends"],
)
def test_it_stops_at_once_where_waiting_is_in_vain(
    credentials: None, monkeypatch: pytest.MonkeyPatch, waits: list[float],
    results: list[CeilingReached], leaving: str, milliseconds: int, waited: int,
) -> None:  # fmt: skip
    monkeypatch.setenv("LEAVING", leaving)
    set_deadline(SimpleNamespace(get_remaining_time_in_millis=lambda: milliseconds))
    with pytest.raises(CeilingReached) as reached:
        minted(monkeypatch, *results)
    assert (reached.value, len(waits)) == (results[-1], waited)
