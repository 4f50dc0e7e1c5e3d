"""What an operator reads when the coordinator stops."""

import re

import pytest
from coordinate.model import Item, Next, Refused, Register
from coordinate.refusals import lost, lost_register, newer, nothing_deployed, superseded

REGISTER = Register("orders", 3, ("eu-west-1",), 500, "x", opened=True)
DECIDED = Register("orders", 3, ("eu-west-1",), 500, "x", opened=True, next=Next(("us-east-1",)))
ITEM = Item(10, 3, 99, 2)

ALL = [
    lost(REGISTER, "eu-west-1", None),
    lost(DECIDED, "eu-west-1", ITEM),
    newer(REGISTER, "eu-west-1", Item(10, 3, 99, 4)),
    lost_register("orders", ["eu-west-1"]),
    superseded(["eu-west-1"]),
    nothing_deployed("orders"),
]


@pytest.mark.parametrize("refusal", ALL, ids=str)
def test_no_message_needs_a_command_that_some_readers_do_not_have(refusal: Refused) -> None:
    assert not re.search(r"pulumi|python|make ", str(refusal))


def test_a_lost_table_names_the_setting_and_the_least_floor() -> None:
    message = str(lost(REGISTER, "eu-west-1", None))

    assert message.startswith("orders: eu-west-1 has no item of this counter, but the layout is in epoch 3")
    assert "at least 501, as `floors: {orders: <integer>}` in the stack's settings, and deploy again" in message


def test_an_outdated_item_is_named_by_its_epoch() -> None:
    assert "eu-west-1 has an item of epoch 2 of this counter" in str(lost(REGISTER, "eu-west-1", ITEM))


def test_a_change_that_has_begun_is_said_to_wait() -> None:
    waits = "A change of layout has begun and waits for this: fenced regions stop after 10,000 more integers."

    assert waits in str(lost(DECIDED, "eu-west-1", None))
    assert waits not in str(lost(REGISTER, "eu-west-1", None))


def test_items_without_a_register_say_that_the_home_region_may_have_changed() -> None:
    message = str(lost_register("orders", ["eu-west-1", "us-east-1"]))

    assert message.startswith("orders: eu-west-1, us-east-1 already have an item")
    assert "a changed `aws:region`: the home region can't be moved; set it back" in message
