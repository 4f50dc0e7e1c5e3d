"""The coordinator's first layout, counters that are created later, floors, and what is refused."""

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.model import Item

from tests.lambda_.coordinate.interrupted_runs import short_of_time
from tests.lambda_.coordinator_calls import HOME, create, deploy, put_item, record, register, send
from tests.lambda_.fixtures import Ask, Stack


def test_counters_come_later_and_one_taken_out_goes_on(stack: Stack, ask: Ask) -> None:
    deploy()
    reply = deploy(counters=["orders"])

    assert set(reply["counters"]) == {"orders"}
    assert reply["registered"] == 2
    assert [ask("POST", path)["document"]["integer"] for path in ("/orders", "/integers")] == [1, 1]


def test_a_counter_can_be_created_by_hand_and_follows(stack: Stack, ask: Ask) -> None:
    deploy()

    assert create("invoices", "bills")["created"] == ["invoices", "bills"]
    assert ask("POST", "/invoices", "ap-southeast-2")["document"]["integer"] == 3
    assert create("invoices")["created"] == []
    assert deploy(HOME, "us-west-2")["registered"] == 3
    assert ask("POST", "/bills", "us-west-2")["document"]["integer"] % 2 == 0
    with pytest.raises(CoordinatorError, match=r"^2 of 3 counters are done; time ran out. Send it again.$"):
        send({"create": ["a", "b", "c"]}, short_of_time(2))


def test_several_refusals_are_told_at_once(stack: Stack) -> None:
    deploy(HOME, counters=["a", "b", "c"])
    for counter in ("a", "b"):
        put_item(stack, HOME, Item(50, 1, 90, 7), counter)

    with pytest.raises(CoordinatorError) as said:
        deploy("us-west-2", HOME, counters=["a", "b", "c"])
    assert [line.partition(":")[0] for line in str(said.value).splitlines()] == ["a", "b"]
    assert not record(stack).reconciled
    reconciled = register(stack, "c")
    assert reconciled is not None
    assert reconciled.regions == ("us-west-2", HOME)
