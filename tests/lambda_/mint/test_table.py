"""Several integers of one region, minted by one write."""

from typing import Any

import pytest
from coordinate.model import Item
from mint.table import CeilingReached, CounterTable

from tests.lambda_.laying_out import deploy, item, put_item


def test_a_block_is_the_regions_next_integers(ask: Any, stack: Any) -> None:
    deploy()

    first = ask("POST", "/?count=4", "eu-west-1")
    second = ask("POST", "/?count=1", "eu-west-1")
    third = ask("POST", "/", "eu-west-1")

    assert first["document"] == {"counter": "integers", "region": "eu-west-1", "integers": [2, 5, 8, 11]}
    assert second["document"]["integers"] == [14]
    assert third["document"]["integer"] == 17


def test_the_largest_block(ask: Any, stack: Any) -> None:
    deploy()

    integers = ask("POST", "/?count=1000")["document"]["integers"]

    assert integers == list(range(1, 3001, 3))


@pytest.mark.parametrize(
    "query",
    ["count=0", "count=-1", "count=1001", "count=1e3", "count=", "count", "count=1&count=2", "count=x", "count=01",
     "count=1.0", "count=%201", "count=+1", "count=٣", "count=9999999999999999999999", "count=1%00"],
)  # fmt: skip
def test_a_wrong_count_mints_nothing(ask: Any, stack: Any, query: str) -> None:
    deploy()
    before = item(stack, "us-east-1")

    answer = ask("POST", f"/?{query}")

    assert answer["statusCode"] == 400
    assert "count" in answer["document"]["detail"]
    assert item(stack, "us-east-1") == before


def test_a_block_never_passes_a_ceiling(ask: Any, stack: Any) -> None:
    put_item(stack, "us-east-1", Item(issued=1, stride=3, ceiling=10, epoch=1))

    assert ask("POST", "/?count=4")["statusCode"] == 503
    assert ask("POST", "/?count=3")["document"]["integers"] == [4, 7, 10]
    answer = ask("POST", "/?count=2")
    assert answer["statusCode"] == 503
    assert "fewer than 2" in answer["document"]["detail"]
    assert "Retry-After" not in answer["headers"]


def test_a_warm_function_needs_one_write_and_follows_a_new_layout(ask: Any, stack: Any) -> None:
    deploy()
    table = CounterTable(stack.counters)
    assert table.mint("integers").integers() == [1]
    assert table.mint_block("integers", 2).integers() == [4, 7]

    deploy("us-east-1", "us-west-2")

    block = table.mint_block("integers", 2).integers()
    assert block[1] - block[0] == 2
    assert block[0] > 30_000


def test_a_block_at_a_fenced_ceiling_that_it_does_not_fit_under_waits(stack: Any) -> None:
    put_item(stack, "us-east-1", Item(issued=7, stride=3, ceiling=10, epoch=1, fenced=True))
    table = CounterTable(stack.counters)

    with pytest.raises(CeilingReached) as reached:
        table.mint_block("integers", 2)
    assert reached.value.fenced
    assert table.mint("integers").integers() == [10]


def test_an_unknown_counter_has_no_blocks(ask: Any, stack: Any) -> None:
    deploy()

    assert ask("POST", "/nonesuch?count=5")["statusCode"] == 404
