"""The integers that a caller of a region's URL gets."""

import pytest

from tests.lambda_.coordinator_calls import delete_item, item, laid_out
from tests.lambda_.fixtures import Ask, Stack


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_mints_the_regions_next_integer(ask: Ask, stack: Stack, method: str) -> None:
    laid_out(counters=["integers", "orders"])

    responses = [ask(method, "/", "eu-west-1"), ask(method, "/", "eu-west-1"), ask(method, "/orders", "eu-west-1")]

    assert [response["statusCode"] for response in responses] == [200, 200, 200]
    assert [response["document"] for response in responses] == [
        {"counter": "integers", "region": "eu-west-1", "integer": 2},
        {"counter": "integers", "region": "eu-west-1", "integer": 5},
        {"counter": "orders", "region": "eu-west-1", "integer": 2},
    ]
    assert responses[0]["headers"] == {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "Vary": "Accept",
    }


def test_an_unknown_counter_is_not_found_and_not_created(ask: Ask, stack: Stack) -> None:
    laid_out()

    response = ask("POST", "/nonesuch")

    assert response["statusCode"] == 404
    assert response["headers"]["Content-Type"] == "application/problem+json"
    assert response["document"]["title"] == "Not Found"
    assert response["document"]["status"] == 404
    assert "nonesuch" in response["document"]["detail"]
    assert item(stack, "us-east-1", "nonesuch") is None


def test_a_lost_item_is_an_error_and_never_a_restart(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask()
    delete_item(stack, "us-east-1")

    assert ask()["statusCode"] == 404
    assert item(stack, "us-east-1") is None


def test_a_block_is_the_regions_next_integers(ask: Ask, stack: Stack) -> None:
    laid_out()

    first = ask("POST", "/?count=4", "eu-west-1")
    second = ask("POST", "/?count=1", "eu-west-1")
    third = ask("POST", "/", "eu-west-1")

    assert first["document"] == {"counter": "integers", "region": "eu-west-1", "integers": [2, 5, 8, 11]}
    assert second["document"]["integers"] == [14]
    assert third["document"]["integer"] == 17


def test_the_largest_block(ask: Ask, stack: Stack) -> None:
    laid_out()

    integers = ask("POST", "/?count=1000")["document"]["integers"]

    assert integers == list(range(1, 3001, 3))


def test_an_unknown_counter_has_no_blocks(ask: Ask, stack: Stack) -> None:
    laid_out()

    assert ask("POST", "/nonesuch?count=5")["statusCode"] == 404
