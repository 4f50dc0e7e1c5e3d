"""A counter is deleted: callers see none at once, what is left goes later, and one of its name begins above."""

import time
from types import SimpleNamespace
from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.deletion import GRACE
from coordinate.protocol.operations import ReadDeleted

from tests.lambda_.coordinate.interrupted_runs import crash_before, short_of_time
from tests.lambda_.coordinator_calls import AS_DEPLOYED, REGIONS, create, item, laid_out, register, scheduled_run, send
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import everything


def delete(*counters: str) -> dict[str, Any]:
    return send({"delete": list(counters)})


def is_left(stack: Stack, counter: str = "orders") -> list[str]:
    """Where something of a counter is left that a scan reads."""
    home = everything(stack)
    left = [table for table in ("layouts", "mirror") for found in home[table] if found["counter"]["S"] == counter]
    return left + [region for region in REGIONS if item(stack, region, counter) is not None]


@pytest.fixture
def an_hour_passes(monkeypatch: pytest.MonkeyPatch) -> Any:
    """`an_hour_passes()` sets the coordinator's clock forward."""
    return lambda: monkeypatch.setattr(
        "coordinate.handler.time", SimpleNamespace(time=lambda: time.time() + GRACE, perf_counter=time.perf_counter)
    )


def minted(ask: Ask) -> list[int]:
    """Mint an integer of orders in each region."""
    return [ask("POST", "/orders", region)["document"]["integer"] for region in REGIONS]


@pytest.mark.parametrize("later", [True, False])
def test_it_is_gone_and_begins_above(stack: Stack, ask: Ask, an_hour_passes: Any, later: bool) -> None:
    laid_out(counters=AS_DEPLOYED)
    create("orders")
    assert minted(ask) == [1, 2, 3]
    before = register(stack, "orders")
    assert before is not None

    assert delete("orders") == {"deleted": ["orders"]}
    assert "unknown" not in scheduled_run()

    assert [ask("POST", "/orders", region)["statusCode"] for region in REGIONS] == [404] * 3
    assert ask("POST", "/orders?count=2")["statusCode"] == ask("GET", "/orders/1")["statusCode"] == 404
    assert len(is_left(stack)) == 2 + 3, "a late write may still be under way"
    if later:
        an_hour_passes()
        assert "unknown" not in scheduled_run()
        assert is_left(stack) == []
        assert ask("POST", "/orders")["statusCode"] == 404
    reply = create("orders")
    assert (reply["created"], reply["counters"]["orders"]["base"]) == (["orders"], before.limit + 1)
    assert minted(ask) == [before.limit + 1, before.limit + 2, before.limit + 3]
    assert ask("POST", "/")["document"]["integer"] == 1, "others go on"


def test_there_is_no_such_counter(stack: Stack) -> None:
    laid_out()

    with pytest.raises(CoordinatorError, match=r"^nope: there is no such counter\.$"):
        delete("nope")
    create("orders")
    with pytest.raises(CoordinatorError, match=r"^nope: there is no such counter\.\nDeleted: orders\.$"):
        delete("orders", "nope")


def test_time_runs_out(stack: Stack) -> None:
    laid_out()
    create("orders", "invoices")

    with pytest.raises(CoordinatorError, match=r"1 of 2 counters are deleted; time ran out\. Send it again\."):
        send({"delete": ["orders", "invoices"]}, short_of_time(1))


def test_without_a_deletion_no_mark_is_read(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    crash_before(ReadDeleted, monkeypatch)

    assert create("orders")["created"] == ["orders"]
