"""Health is good only where the next request for an integer would get one."""

import pytest
from coordinate.protocol.model import Item

from global_integers_core.lattice import MAX_INTEGER
from tests.lambda_.coordinator_calls import delete_item, item, laid_out, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack


def test_a_region_that_can_mint_is_healthy(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = item(stack, HOME)

    assert ask("GET", "/-/health")["document"] == {"status": "ok", "region": HOME}
    assert ask("POST", "/-/health")["statusCode"] == 405
    assert item(stack, HOME) == before


@pytest.mark.parametrize(
    ("found", "retry", "reason"),
    [
        (Item(7, 3, 7, 1, fenced=True), True, "a change of layout"),
        (Item(7, 3, 7, 1), True, "home region grants it more"),
        (Item(MAX_INTEGER, 3, MAX_INTEGER, 1), False, "used up"),
        (None, False, "there is no counter 'integers'"),
    ],
)
def test_the_reason_is_said_where_nothing_can_be_minted(
    ask: Ask, stack: Stack, found: Item | None, retry: bool, reason: str
) -> None:
    if found:
        put_item(stack, HOME, found)

    response = ask("GET", "/-/health")

    assert (response["statusCode"], "Retry-After" in response["headers"]) == (503, retry)
    assert response["headers"]["Content-Type"] == "application/problem+json"
    assert reason in response["document"]["detail"]


def test_a_fenced_region_is_healthy_as_long_as_it_mints(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(4, 3, 7, 1, fenced=True))

    assert ask("GET", "/-/health")["statusCode"] == 200


def test_only_the_default_counter_counts(ask: Ask, stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])
    delete_item(stack, HOME, "orders")

    assert ask("GET", "/-/health")["statusCode"] == 200


def test_a_missing_table_is_a_transient_error(ask: Ask, stack: Stack) -> None:
    laid_out()
    stack.aws.client("dynamodb", HOME).delete_table(TableName=stack.counters)

    response = ask("GET", "/-/health")
    assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "1")


def test_a_region_that_has_left_says_so(ask: Ask, stack: Stack) -> None:
    stack.monkeypatch.setenv("LEAVING", "eu-west-1")
    put_item(stack, HOME, Item(4, 3, 7, 1, fenced=True))
    assert ask("GET", "/-/health")["statusCode"] == 200

    for found in (Item(7, 3, 7, 1, fenced=True), None):
        put_item(stack, HOME, found) if found else delete_item(stack, HOME)
        response = ask("GET", "/-/health")
        assert (response["statusCode"], response["document"]["regions"]) == (410, ["eu-west-1"])
