"""What an operator reads when the coordinator stops."""

import re

import pytest
from coordinate.protocol import refusals
from coordinate.protocol.model import Item, Recovery, Refused

from tests.lambda_.coordinate.sample_records import NOW, register

LOST = register("us-east-1", lost="loss-1")
ITEMS = {"us-east-1": Item(10, 3, 99, 4), "eu-west-1": None}
EARLY = [
    refusals.outdated(NOW, NOW + 86_400),
    refusals.unknown_floors(["orders"]),
    refusals.too_low(Recovery("loss-1", 5), 99),
    refusals.stray_admitted(),
    refusals.another_loss("loss-2", ["loss-1"]),
]
ALL = [
    *EARLY,
    refusals.lost_everything("layouts 2", {"orders": ["eu-west-1"]}),
    refusals.lost_everything("layouts 2", {"orders": ["eu-west-1"]}, "loss-1"),
    refusals.lost("orders", LOST, ITEMS),
    refusals.stray("orders", "the layouts table"),
    refusals.unreadable("us-east-1", "global-integers-dev-layouts"),
    refusals.must_answer(["eu-west-1"], "orders"),
    refusals.superseded(["eu-west-1"]),
    refusals.superseded([]),
    refusals.superseded(["eu-west-1"], "us-east-1"),
    refusals.nothing_deployed("orders"),
    refusals.lost_meanwhile("layouts table"),
    refusals.no_region(["eu-west-1"], "orders"),
]


@pytest.mark.parametrize("refusal", ALL, ids=str)
def test_every_message_says_what_to_do_by_no_certain_command(refusal: Refused) -> None:
    assert re.search(r"[Dd]eploy(:| (again|the stack))|add it to counters", str(refusal))
    assert not re.search(r"pulumi|python|make ", str(refusal))
    assert (refusals.NOTHING_CHANGED in str(refusal)) == (refusal in EARLY)


def test_a_loss_is_answered_with_the_number_that_is_enough() -> None:
    """Whoever gives it isn't asked for a larger one."""
    for refusal in (refusals.lost("orders", LOST, ITEMS), refusals.lost_everything("layouts 2", {}, "loss-1", 99)):
        assert "`recovery: {loss: loss-1, above: <that integer>}`. Use 99 if that is larger: " in str(refusal)
    assert "<that integer>}`. If any other region still mints, use the `ceiling`" in str(
        refusals.lost_everything("layouts 2", {}, "loss-1")
    )


@pytest.mark.parametrize(("number", "last"), [(10, "c09: in eu-west-1"), (11, "and 1 more")])
def test_ten_traces_are_shown_and_how_many_more(number: int, last: str) -> None:
    found = refusals.lost_everything("layouts 2", {f"c{n:02}": ["eu-west-1"] for n in range(number)})

    said, *lines = str(found).splitlines()
    assert (len(lines), lines[-1].strip()) == (number, last)
    assert "another one" not in said, "the settings name no other loss"


def test_counters_of_one_loss_get_one_number() -> None:
    """Whoever answers the loss answers it for all of them."""
    others = [refusals.lost(f"c{n:02}", LOST, {"us-east-1": Item(10, 3, 100 + n, 4)}) for n in range(12)]
    another = refusals.lost("x", register("us-east-1", lost="loss-2"), ITEMS)
    found = refusals.joined([refusals.superseded([]), others[0], another, *others[1:], refusals.superseded([])])

    assert [str(found[0]), str(found[2])] == [str(refusals.superseded([])), str(another)]
    lines = str(found[1]).splitlines()
    assert [line.partition(":")[0] for line in lines[:10]] == [f"c{n:02}" for n in range(10)]
    assert lines[10].startswith("… and 2 more counters. Look into your own data")
    assert "Use 111 if that is larger: " in lines[10]
    assert str(found[1]).count("loss-1") == 1
    assert "more counters" not in str(refusals.joined(others[:10])[0])
