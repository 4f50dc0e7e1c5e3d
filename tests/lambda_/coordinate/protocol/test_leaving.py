"""Regions that leave: out of the layout and closed at once, and back if they are wanted again."""

import pytest

from tests.lambda_.coordinator_calls import HOME, REGIONS, create, deploy, item, items, laid_out, scheduled_run
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import cut_off

EU = "eu-west-1"
STAYING = (HOME, "ap-southeast-2")


def mint(ask: Ask, *regions: str, path: str = "/") -> list[int]:
    return [ask("POST", path, region)["document"]["integer"] for region in regions for _ in range(3)]


def closed(stack: Stack, region: str, counter: str = "integers") -> bool:
    found = item(stack, region, counter)
    return found is not None and found.fenced and found.ceiling == found.issued


def test_a_region_that_leaves_is_closed_and_can_come_back(stack: Stack, ask: Ask) -> None:
    laid_out()
    create("invoices")
    minted = mint(ask, *REGIONS)

    reply = deploy(*STAYING, leaving=[EU])
    assert (reply["pending"], reply["counters"]["integers"]["regions"].keys()) == ([], {*STAYING})
    assert closed(stack, EU)
    assert closed(stack, EU, "invoices")
    minted += mint(ask, *STAYING)

    reply = deploy()
    assert [found.epoch for found in items(stack) if found] == [3, 3, 3]
    minted += mint(ask, *REGIONS)
    assert len({*minted}) == len(minted)
    assert len({*mint(ask, *REGIONS, path="/invoices")}) == 9


def test_a_region_that_leaves_while_unreachable_is_closed_later(stack: Stack, ask: Ask) -> None:
    laid_out()
    minted = mint(ask, *REGIONS)
    with pytest.MonkeyPatch.context() as patch:
        cut_off(patch, EU)
        assert deploy(*STAYING, leaving=[EU])["pending"] == [EU]
        minted += mint(ask, *REGIONS)

    assert scheduled_run()["pending"] == []
    assert closed(stack, EU)
    minted += mint(ask, *STAYING)
    assert len({*minted}) == len(minted)


def test_a_dropped_region_stops_after_the_headroom(stack: Stack) -> None:
    laid_out(headroom=50)
    deploy(*STAYING, headroom=50)

    left = item(stack, EU)
    assert left is not None
    assert (left.fenced, left.epoch, left.ceiling) == (True, 1, -1 + 3 * 50)


def test_a_later_counter_has_nothing_in_a_leaving_region(stack: Stack) -> None:
    laid_out(*STAYING, leaving=[EU])
    create("invoices")

    assert item(stack, EU, "invoices") is None
    assert scheduled_run()["pending"] == []
