"""While a counter is fenced, a request waits, but not for long."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from collections.abc import Callable
from types import SimpleNamespace

import mint.table as mint_table
import pytest
from aws_client.service import set_deadline
from mint import minting
from mint.model import CeilingReached

BLOCK = mint_table.Block(7, 3, 1)
FENCED = CeilingReached(mint_table.CounterItem(10, 3, 10, 1, fenced=True, attributes={}))


def minted_by(monkeypatch: pytest.MonkeyPatch, mint: Callable[[], mint_table.Block]) -> mint_table.Block:
    """Return what is minted from a table whose writes are calls of `mint`."""
    monkeypatch.setattr("mint.minting.minter", lambda: SimpleNamespace(mint=lambda _: mint()))
    return minting.mint("integers", None)[0]


def test_it_retries_until_the_fence_is_gone(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("mint.minting.time", SimpleNamespace(sleep=waits.append, monotonic=lambda: sum(waits)))
    monkeypatch.setattr("random.uniform", lambda _, most: most)
    results = iter([FENCED] * 6)

    def mint() -> mint_table.Block:
        if error := next(results, None):
            raise error
        return BLOCK

    assert minted_by(monkeypatch, mint) == BLOCK
    assert waits == pytest.approx([0.05, 0.1, 0.2, 0.4, 0.4, 0.4])


def test_it_does_not_wait_longer_than_it_may(monkeypatch: pytest.MonkeyPatch) -> None:
    waits: list[float] = []
    monkeypatch.setattr("mint.minting.time", SimpleNamespace(sleep=waits.append, monotonic=lambda: sum(waits)))
    monkeypatch.setattr("random.uniform", lambda _, most: most)

    def mint() -> mint_table.Block:
        assert len(waits) < 100
        raise FENCED

    with pytest.raises(CeilingReached):
        minted_by(monkeypatch, mint)
    assert minting.MAX_WAIT - minting.MAX_PAUSE < sum(waits) <= minting.MAX_WAIT


def test_it_stops_at_once_when_the_counter_is_used_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint.minting.time.sleep", lambda _: None)
    calls: list[None] = []

    def mint() -> mint_table.Block:
        calls.append(None)
        raise CeilingReached(mint_table.CounterItem(10, 3, 10, 1, fenced=len(calls) == 1, attributes={}))

    with pytest.raises(CeilingReached):
        minted_by(monkeypatch, mint)
    assert len(calls) == 2


def test_it_does_not_outlast_the_invocation(credentials: None, monkeypatch: pytest.MonkeyPatch) -> None:
    set_deadline(SimpleNamespace(get_remaining_time_in_millis=lambda: 0))
    results = iter([FENCED])

    def mint() -> mint_table.Block:
        raise next(results, None) or pytest.fail("there is no time to mint again")

    with pytest.raises(CeilingReached) as reached:
        minted_by(monkeypatch, mint)
    assert reached.value.item.fenced
