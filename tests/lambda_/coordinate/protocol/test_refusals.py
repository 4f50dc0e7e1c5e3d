"""What an operator reads when the coordinator stops."""

import re

import pytest
from coordinate.protocol.model import Item, Recovery, Refused
from coordinate.protocol.refusals import (
    NOTHING_CHANGED,
    another_loss,
    joined,
    lost,
    lost_everything,
    lost_meanwhile,
    must_answer,
    no_region,
    nothing_deployed,
    outdated,
    stray,
    stray_admitted,
    superseded,
    too_low,
    unknown_floors,
    unreadable,
)

from tests.lambda_.coordinate.sample_records import NOW, register

LOST = register("us-east-1", lost="loss-1")
ITEMS = {"us-east-1": Item(10, 3, 99, 4), "eu-west-1": None}
EARLY = [
    outdated(NOW, NOW + 86_400),
    unknown_floors(["orders"]),
    too_low(Recovery("loss-1", 5), 99),
    stray_admitted(),
    another_loss("loss-2", ["loss-1"]),
]
ALL = [
    *EARLY,
    lost_everything("layouts 2", {"orders": ["eu-west-1"]}),
    lost_everything("layouts 2", {"orders": ["eu-west-1"]}, "loss-1"),
    lost("orders", LOST, ITEMS),
    stray("orders", "the layouts table"),
    unreadable("us-east-1", "global-integers-dev-layouts"),
    must_answer(["eu-west-1"], "orders"),
    superseded(["eu-west-1"]),
    superseded([]),
    superseded(["eu-west-1"], "us-east-1"),
    nothing_deployed("orders"),
    lost_meanwhile("layouts table"),
    no_region(["eu-west-1"], "orders"),
]


@pytest.mark.parametrize("refusal", ALL, ids=str)
def test_every_message_says_what_to_do_by_no_certain_command(refusal: Refused) -> None:
    assert re.search(r"[Dd]eploy(:| (again|the stack))|add it to counters", str(refusal))
    assert not re.search(r"pulumi|python|make ", str(refusal))
    assert (NOTHING_CHANGED in str(refusal)) == (refusal in EARLY)


def test_a_loss_is_answered_with_the_number_that_is_enough() -> None:
    """Whoever gives it isn't asked for a larger one."""
    for refusal in (lost("orders", LOST, ITEMS), lost_everything("layouts 2", {}, "loss-1", 99)):
        assert "`recovery: {loss: loss-1, above: <that integer>}`. Use 99 if that is larger: " in str(refusal)
    assert "<that integer>}`. If any other region still mints, use the `ceiling`" in str(
        lost_everything("layouts 2", {}, "loss-1")
    )


def test_counters_of_one_loss_get_one_number() -> None:
    """Whoever answers the loss answers it for all of them."""
    others = [lost(f"c{n:02}", LOST, {"us-east-1": Item(10, 3, 100 + n, 4)}) for n in range(12)]
    another = lost("x", register("us-east-1", lost="loss-2"), ITEMS)
    found = joined([superseded([]), others[0], another, *others[1:], superseded([])])

    assert [str(found[0]), str(found[2])] == [str(superseded([])), str(another)]
    lines = str(found[1]).splitlines()
    assert [line.partition(":")[0] for line in lines[:10]] == [f"c{n:02}" for n in range(10)]
    assert lines[10].startswith("… and 2 more counters. Look into your own data")
    assert "Use 111 if that is larger: " in lines[10]
    assert str(found[1]).count("loss-1") == 1
