"""The owner of an integer, on real tables. `exchanges/owners.txt` has what the coordinator has laid out."""

from typing import Any

import pytest
from coordinate.dynamodb.store import forgotten
from coordinate.protocol.model import MAX_PAST, Item
from hypothesis import given
from hypothesis import strategies as st
from mint.model import CounterItem as StoredItem
from mint.owner import minted

from global_integers_core.lattice import Layout, OwningRegion
from global_integers_core.records import Recorded, history_text
from tests.lambda_.coordinator_calls import deploy, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack

TWO = ("us-east-1", "eu-west-1")
THREE = (*TWO, "us-west-2")


def integer(ask: Ask, region: str) -> int:
    return ask("POST", "/", region)["document"]["integer"]


def owner(ask: Ask, n: int, region: str = HOME) -> dict[str, Any]:
    response = ask("GET", f"/integers/{n}", region)
    assert response["statusCode"] == 200, response
    return response["document"]


def test_a_region_in_a_past_epoch_says_nothing_wrong(stack: Stack, ask: Ask) -> None:
    """It was unreachable: the next base lies above its ceiling. Its layouts may be written before its item is."""
    deploy(*TWO)
    put_item(stack, "eu-west-1", Item(issued=4, stride=2, ceiling=200, epoch=1))
    base = 201
    layouts = Layout(1, 1, TWO), Layout(2, base, (HOME, "us-west-2"))
    record = {"receipt": {"S": "integers/layouts"}, "epoch": {"N": "2"}, "history": {"S": history_text(layouts)}}
    for region in TWO:
        stack.aws.client("dynamodb", region).put_item(TableName=stack.receipts, Item=record)
    put_item(stack, HOME, Item(issued=base + 2, stride=2, ceiling=401, epoch=2))

    above = ask("GET", "/integers/402")
    assert (above["statusCode"], above["headers"]["Retry-After"], above["document"]["granted"]) == (503, "5", 401)
    assert "up to 401" in above["document"]["detail"]
    for n in (*range(1, 8), 199, 200):
        here, there = owner(ask, n, HOME), owner(ask, n, "eu-west-1")
        assert (here["region"], here["epoch"]) == (there["region"], there["epoch"])
    assert (owner(ask, 4, "eu-west-1")["minted"], owner(ask, 6, "eu-west-1")["minted"]) == (True, False)
    assert ask("GET", f"/integers/{base}", "eu-west-1")["statusCode"] == 503
    assert owner(ask, base, HOME)["minted"] is True


def test_only_the_newest_layouts_are_remembered(stack: Stack, ask: Ask) -> None:
    for module in ("coordinate.protocol.history", "coordinate.dynamodb.store"):
        stack.monkeypatch.setattr(f"{module}.MAX_PAST", 2)
    minted: list[int] = []
    for regions in (TWO, THREE, TWO, THREE, TWO):
        deploy(*regions)
        minted.append(integer(ask, HOME))

    assert ask("GET", f"/integers/{minted[0]}")["statusCode"] == 404
    too_old = ask("GET", f"/integers/{minted[1]}")
    assert (too_old["statusCode"], "only known of integers from" in too_old["document"]["detail"]) == (404, True)
    assert [owner(ask, n)["minted"] for n in minted[2:]] == [True] * 3
    records = stack.aws.client("dynamodb", HOME).scan(TableName=stack.receipts)["Items"]
    assert [name for record in records for name in record if name.startswith("issued_")] == ["issued_3"]


@given(st.integers(1, 500), st.integers(1, 500))
def test_only_old_epochs_are_dropped(over: int, later: int) -> None:
    dropped = set(forgotten(over, over + later))

    assert over not in dropped
    assert len(dropped) <= MAX_PAST
    assert dropped <= {*range(1, over + later - MAX_PAST)}, "so many stay"
    assert dropped >= {*range(max(1, over - MAX_PAST), min(over, over + later - MAX_PAST))}, "and no more"


@pytest.mark.parametrize(
    ("past", "integer", "expected"),
    [
        ({1: 40, 2: 46}, 42, True),
        ({1: 40, 2: 46}, 50, False),
        ({1: 46, 2: 46}, 42, None),  # closed by epoch 2, which another table was given
        ({1: 22, 2: 24}, 42, None),  # below where epoch 2 begins
        ({1: 46}, 42, None),
        ({}, 42, None),
    ],
)
@pytest.mark.parametrize("last", [True, False])
def test_a_table_answers_only_for_epochs_that_it_was_given(
    past: dict[int, int], integer: int, expected: bool | None, last: bool
) -> None:
    layouts = (Layout(1, 1, ("a", "b")), Layout(2, 38, ("a", "b", "c", "d")), Layout(3, 101, ("a",)))
    recorded, attributes = dict(past), dict[str, Any]()
    if last and past:  # it is in the item, and not on record yet
        epoch, issued = recorded.popitem()
        attributes = {"pastEpoch": {"N": str(epoch)}, "pastIssued": {"N": str(issued)}}
    item = StoredItem(100, 1, 200, 3, False, attributes)

    assert minted(integer, OwningRegion("b", 2, 4, 2), item, Recorded(layouts, recorded)) is expected
    assert minted(integer, OwningRegion("b", 2, 4, 4), item, Recorded(layouts, recorded)) is False, "not begun here yet"
