"""A counter is deleted: callers see none at once, it causes no work any more, and one of its name begins above."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.operations import HoldItem, OpenItem, Operation, WriteCopy

from global_integers_core.names import DELETED
from tests.lambda_.coordinate.interrupted_runs import Crash, crash_before, recorded, short_of_time
from tests.lambda_.coordinator_calls import (
    AS_DEPLOYED,
    DEPLOYMENTS,
    HOME,
    REGIONS,
    create,
    items,
    laid_out,
    register,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import backup, cut_off, everything, recreate, restore


def delete(*counters: str) -> dict[str, Any]:
    return send({"delete": list(counters)})


def held(stack: Stack) -> list[str | None]:
    """Return what holds the items of orders, region by region; None where there is no item."""
    return [item.held if item else None for item in items(stack, counter="orders")]


def minted(ask: Ask) -> list[int]:
    """Mint an integer of orders in each region."""
    return [ask("POST", "/orders", region)["document"]["integer"] for region in REGIONS]


def deleted(stack: Stack, ask: Ask) -> int:
    """Create orders, mint, and delete it. Return the limit up to which anything may have been minted."""
    laid_out(counters=AS_DEPLOYED)
    create("orders")
    assert minted(ask) == [1, 2, 3]
    before = register(stack, "orders")
    assert before is not None
    assert delete("orders") == {"deleted": ["orders"]}
    scheduled_run()
    return before.limit


def begins_above(limit: int, ask: Ask) -> None:
    """Create orders again."""
    reply = create("orders")
    assert (reply["created"], reply["counters"]["orders"]["base"]) == (["orders"], limit + 1)
    assert minted(ask) == [limit + 1, limit + 2, limit + 3]


def test_it_is_gone_and_begins_above(stack: Stack, ask: Ask) -> None:
    limit = deleted(stack, ask)

    assert [ask("POST", "/orders", region)["statusCode"] for region in REGIONS] == [404] * 3
    assert ask("POST", "/orders?count=2")["statusCode"] == ask("GET", "/orders/1")["statusCode"] == 404
    assert held(stack) == [DELETED] * 3
    assert ask("POST", "/")["document"]["integer"] == 1, "others go on"
    with pytest.raises(CoordinatorError, match=r"^orders: there is no such counter"):
        send({"grant": "orders"})
    begins_above(limit, ask)


def test_it_causes_no_work_and_is_in_no_list(stack: Stack, ask: Ask) -> None:
    deleted(stack, ask)
    stack.monkeypatch.setenv("OPEN_COUNTERS", "true")
    stack.monkeypatch.setenv("COORDINATOR", DEPLOYMENTS)
    before = everything(stack, *REGIONS)

    with pytest.MonkeyPatch.context() as patch:
        operations = recorded(patch)
        reply = scheduled_run()
    assert not [each for each in operations if getattr(each, "counter", "integers") == "orders"]
    assert (everything(stack, *REGIONS), reply["registered"], "unknown" in reply) == (before, 1, False)
    assert [*send({"counters": True})["counters"]] == ask("GET", "/-/counters")["document"]["counters"] == ["integers"]
    assert delete("orders") == {"deleted": ["orders"]}, "it may be deleted twice"
    assert everything(stack, *REGIONS) == before


@pytest.mark.parametrize("lost", ["layouts", "mirror"])
def test_a_table_at_home_is_lost_and_it_stays_deleted(stack: Stack, ask: Ask, lost: str) -> None:
    limit = deleted(stack, ask)

    recreate(stack, HOME, getattr(stack, lost))
    scheduled_run()
    assert ask("POST", "/orders")["statusCode"] == 404
    begins_above(limit, ask)


def test_a_restored_table_brings_it_back_for_a_moment(stack: Stack, ask: Ask) -> None:
    """What it mints then counts, and no region mints it again."""
    laid_out(counters=AS_DEPLOYED)
    create("orders")
    records = backup(stack, HOME, stack.counters)
    limit = deleted(stack, ask)
    restore(stack, HOME, stack.counters, records)
    assert ask("POST", "/orders")["document"]["integer"] == 1

    scheduled_run()
    assert ask("POST", "/orders")["statusCode"] == 404
    begins_above(limit, ask)


@pytest.mark.parametrize("last", [HoldItem, OpenItem, WriteCopy])
def test_it_is_deleted_and_created_though_runs_end_too_early(stack: Stack, ask: Ask, last: type[Operation]) -> None:
    def killed(run: Callable[[str], object]) -> None:
        with pytest.MonkeyPatch.context() as patch, suppress(Crash):
            crash_before(last, patch)
            run("orders")

    laid_out(counters=AS_DEPLOYED)
    create("orders")
    minted(ask)
    killed(delete)
    scheduled_run()
    assert held(stack) == [DELETED] * 3

    killed(create)
    assert create("orders")["counters"]["orders"]["pending"] == []
    assert minted(ask)[0] > 3


def test_a_region_that_is_cut_off_keeps_it(stack: Stack) -> None:
    laid_out()
    create("orders")
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, "eu-west-1")
        with pytest.raises(CoordinatorError, match="orders: eu-west-1 must answer"):
            delete("orders")
    assert held(stack) == [""] * 3


def test_there_is_no_such_counter(stack: Stack) -> None:
    laid_out()

    with pytest.raises(CoordinatorError, match=r"^nope: there is no such counter\. Nothing was changed for it\.$"):
        delete("nope")
    create("orders")
    with pytest.raises(CoordinatorError, match=r"^nope: there is no such counter\. Nothing was changed for it\.$"):
        delete("orders", "nope")
    with pytest.raises(
        CoordinatorError, match=r"^integers: the settings counters or floors have it.*\nDeleted: orders\.$"
    ):
        delete("orders", "integers")


def test_time_runs_out(stack: Stack) -> None:
    laid_out()
    create("orders", "invoices")

    with pytest.raises(CoordinatorError, match=r"1 of 2 counters are done; time ran out\. Send it again\."):
        send({"delete": ["orders", "invoices"]}, short_of_time(1))
