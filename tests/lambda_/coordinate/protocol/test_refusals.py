"""What an operator reads when the coordinator stops."""

import re

import pytest
from coordinate.protocol.model import Item, Refused
from coordinate.protocol.refusals import (
    NOTHING_CHANGED,
    ahead,
    layouts_lost_meanwhile,
    lost_layouts,
    lost_register,
    no_region,
    nothing_deployed,
    outdated,
    stray,
    superseded,
    unanswered,
    unfenced,
    unknown_floors,
    unreadable,
)

from tests.lambda_.coordinate.sample_records import NOW, register

ALL = [
    lost_layouts("layouts 2", {"orders": "a copy of its register, of epoch 3"}),
    lost_register("orders", ["eu-west-1"]),
    lost_register("orders", []),
    ahead(register("us-east-1"), "eu-west-1", Item(10, 3, 99, 4)),
    stray("orders", "the layouts table"),
    unreadable("us-east-1", "global-integers-dev-layouts"),
    unanswered(["eu-west-1"]),
    unfenced("orders", ["eu-west-1"]),
    superseded(["eu-west-1"]),
    superseded([]),
    outdated(NOW, NOW + 86_400),
    nothing_deployed("orders"),
    layouts_lost_meanwhile(),
    unknown_floors(["orders"]),
    no_region("orders", ["eu-west-1"]),
]


@pytest.mark.parametrize("refusal", ALL, ids=str)
def test_every_message_says_what_to_do_by_no_certain_command(refusal: Refused) -> None:
    assert re.search(r"[Dd]eploy (again|the stack)|add it to counters", str(refusal))
    assert not re.search(r"pulumi|python|make ", str(refusal))


def test_a_lost_register_names_the_setting_and_the_regions() -> None:
    message = str(lost_register("orders", ["eu-west-1", "us-east-1"]))

    assert message.startswith("orders: eu-west-1, us-east-1 already have an item of this counter, but")
    assert "`floors: {orders: <integer>}` in the stack's settings, and deploy again" in message


def test_an_item_that_is_ahead_names_the_least_floor() -> None:
    standing = register("us-east-1", epoch=3, base=501)

    message = str(ahead(standing, "eu-west-1", Item(10, 3, 99, 4)))
    assert "eu-west-1 has an item of epoch 4, but the register is in epoch 3" in message
    assert "at least 502, as `floors: {c: <integer>}`" in message
    assert "at least 901, as" in str(ahead(standing, "eu-west-1", Item(900, 3, 999, 4)))


def test_a_lost_layouts_table_says_what_is_left() -> None:
    evidence = {f"c{n:02}": "a copy" for n in range(20)}
    message = str(lost_layouts("layouts 2", evidence))

    assert "If `aws:region` was changed, set it back;" in message
    assert '`floors: {"*": <integer>}`' in message
    assert message.endswith("\n  c09: a copy\n  and 10 more")


def test_times_are_told_as_dates() -> None:
    said = "requested at 2026-11-18T11:06+00:00, and it is 2026-11-19T11:06+00:00 now"
    assert said in str(outdated(NOW, NOW + 86_400))


def test_an_early_refusal_says_that_nothing_was_changed() -> None:
    early = (lost_layouts("layouts 2"), outdated(NOW, NOW), unanswered(["eu-west-1"]), unknown_floors(["orders"]))
    for refusal in early:
        assert NOTHING_CHANGED in str(refusal)
