"""The coordinator's first layout, counters that are created later, and what is refused."""

from typing import Any

import pytest
from coordinate.handler import CoordinatorError, handler
from coordinate.model import Item
from coordinate.store import Store

from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.laying_out import (
    CONTEXT,
    REGIONS,
    create,
    delete_item,
    delete_register,
    deploy,
    item,
    items,
    put_item,
    put_register,
    register,
)


def test_every_region_opens_at_its_offset(stack: Stack) -> None:
    settled = deploy()

    assert [(i.issued, i.stride, i.epoch, i.fenced) for i in items(stack) if i] == [
        (-2, 3, 1, False),
        (-1, 3, 1, False),
        (0, 3, 1, False),
    ]
    places = {region: {"offset": n, "stride": 3} for n, region in enumerate(REGIONS, 1)}
    assert settled == {
        "counters": {"integers": {"epoch": 1, "base": 1, "regions": places}},
        "created": ["integers"],
        "registered": 1,
    }


def test_deploying_again_changes_nothing(stack: Stack, ask: Ask) -> None:
    deploy()
    ask()
    before = items(stack)

    assert deploy()["counters"]["integers"]["epoch"] == 1
    assert items(stack) == before


def test_a_counter_can_come_with_a_later_deployment_and_one_taken_out_goes_on(stack: Stack, ask: Ask) -> None:
    deploy()
    settled = deploy(counters=["orders"])

    assert set(settled["counters"]) == {"orders"}
    assert settled["registered"] == 2
    assert ask("GET", "/orders")["document"]["integer"] == 1
    assert ask("GET", "/integers")["document"]["integer"] == 1


def test_counters_are_reported_in_the_order_of_the_request(stack: Stack) -> None:
    deploy(counters=["b", "e"])
    names = [*"hbafdegc"]

    settled = deploy("us-east-1", counters=names)

    assert list(settled["counters"]) == names
    assert settled["created"] == [*"hafdgc"]


def test_a_counter_can_be_created_by_hand_under_the_layout_that_stands(stack: Stack, ask: Ask) -> None:
    deploy()

    assert create("invoices")["counters"]["invoices"]["epoch"] == 1
    assert ask("GET", "/invoices", "ap-southeast-2")["document"]["integer"] == 3
    assert create("invoices")["counters"]["invoices"]["epoch"] == 1
    assert ask("GET", "/invoices", "ap-southeast-2")["document"]["integer"] == 6


@pytest.mark.parametrize("event", [{"create": []}, {"create": ["Bad"]}, {"create": "x"}, {}, {"regions": ["a", "a"]}])
def test_a_wrong_event_is_refused_and_nothing_is_made(stack: Stack, event: dict[str, Any]) -> None:
    with pytest.raises(CoordinatorError):
        handler(event, CONTEXT)
    assert register(stack) is None


def test_nothing_can_be_created_before_the_first_deployment(stack: Stack) -> None:
    with pytest.raises(CoordinatorError, match="nothing is deployed yet"):
        create("invoices")


def test_a_deletion_by_terraform_does_nothing(stack: Stack) -> None:
    deploy()
    before = items(stack)

    assert handler({"regions": ["x"], "tf": {"action": "delete"}}, CONTEXT) == {}
    assert items(stack) == before


def test_a_lost_register_is_reported_and_no_counter_begins_again(stack: Stack) -> None:
    deploy()
    before = items(stack)
    delete_register(stack)

    with pytest.raises(CoordinatorError, match="the register was lost"):
        deploy()
    assert items(stack) == before


def test_a_lost_item_is_reported(stack: Stack) -> None:
    deploy()
    delete_item(stack, "eu-west-1")

    with pytest.raises(CoordinatorError, match=r"integers: eu-west-1 has no item .* lost or restored"):
        deploy()
    assert item(stack, "eu-west-1") is None


def test_a_register_older_than_the_items_is_reported(stack: Stack) -> None:
    deploy()
    old = register(stack)
    assert old is not None
    deploy("us-east-1", "eu-west-1")
    put_register(stack, old)

    with pytest.raises(CoordinatorError, match="restored from an old backup"):
        deploy("us-east-1", "eu-west-1")


class Crash(Exception):
    """The function's process ended."""


def crash_after(calls: int, monkeypatch: pytest.MonkeyPatch) -> None:
    left = [calls]
    real = Store.carry_out

    def carry_out(self: Store, operation: Any) -> Any:
        if left[0] == 0:
            raise Crash
        left[0] -= 1
        return real(self, operation)

    monkeypatch.setattr(Store, "carry_out", carry_out)


@pytest.mark.parametrize("regions", [("us-east-1", "eu-west-1", "us-west-2"), ("ap-southeast-2", "us-east-1")])
def test_a_coordinator_may_crash_after_any_call_and_be_run_again(
    stack: Stack, ask: Ask, regions: tuple[str, ...]
) -> None:
    deploy()
    for calls in range(100):
        with pytest.MonkeyPatch.context() as patch:
            crash_after(calls, patch)
            try:
                deploy(*regions)
            except Crash:
                pass
            else:
                break
    else:
        pytest.fail("it never finished")

    settled = deploy(*regions)["counters"]["integers"]
    assert settled["epoch"] == 2
    assert calls > 5
    assert [ask("GET", "/", region)["document"]["integer"] >= settled["base"] for region in regions]


def test_an_item_that_a_crashed_coordinator_placed_cant_mint_and_is_taken_over(stack: Stack, ask: Ask) -> None:
    put_item(stack, "us-east-1", Item(-2, 3, -2, 1, fenced=True, opening="a crashed one's"))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("mint.fence.MAX_WAIT", 0.1)
        assert ask()["statusCode"] == 503
    delete_item(stack, "us-east-1")
    deploy("us-east-1")
    assert ask()["document"]["integer"] == 1
