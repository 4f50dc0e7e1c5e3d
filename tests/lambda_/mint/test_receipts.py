"""The same Idempotency-Key returns the same integers."""

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mint.receipts import OtherRequest, Receipts
from mint.table import Block, CounterTable, Unavailable

from tests.lambda_.laying_out import deploy, item


def test_a_repeated_request_returns_the_same_integers(ask: Any, stack: Any) -> None:
    deploy()

    first = ask("POST", "/", idempotency_key="order-17")
    again = ask("GET", "/", idempotency_key="order-17")
    other = ask("POST", "/", idempotency_key="order-18")

    assert first["document"] == again["document"]
    assert "Idempotency-Replayed" not in first["headers"]
    assert again["headers"]["Idempotency-Replayed"] == "true"
    assert other["document"]["integer"] == 4


def test_a_repeated_block_is_the_same_block(ask: Any, stack: Any) -> None:
    deploy()

    answers = [ask("POST", "/?count=3", idempotency_key='"a \\" b"'.replace(" ", "-")) for _ in range(2)]

    assert answers[0]["document"]["integers"] == answers[1]["document"]["integers"] == [1, 4, 7]


def test_bare_and_quoted_are_the_same_key(ask: Any, stack: Any) -> None:
    deploy()

    assert ask("POST", "/", idempotency_key="k")["body"] == ask("POST", "/", idempotency_key='"k"')["body"]


@pytest.mark.parametrize("path", ["/orders", "/?count=1", "/?count=2"])
def test_a_key_of_another_request_is_refused_and_nothing_is_minted(ask: Any, stack: Any, path: str) -> None:
    deploy(counters=["integers", "orders"])
    ask("POST", "/", idempotency_key="k")
    before = item(stack, "us-east-1"), item(stack, "us-east-1", "orders")

    assert ask("POST", path, idempotency_key="k")["statusCode"] == 422
    assert (item(stack, "us-east-1"), item(stack, "us-east-1", "orders")) == before


@pytest.mark.parametrize("key", ["", " ", '""', '"', '"a', 'a"b\x7f', "a b", "é", "a" * 256, '"a\\b"', '"a"b"', "a\tb"])
def test_a_bad_key_mints_nothing(ask: Any, stack: Any, key: str) -> None:
    deploy()
    before = item(stack, "us-east-1")

    assert ask("POST", "/", idempotency_key=key)["statusCode"] == 400
    assert item(stack, "us-east-1") == before


def test_a_key_of_255_characters_is_good(ask: Any, stack: Any) -> None:
    deploy()

    assert ask("POST", "/", idempotency_key="~" * 255)["statusCode"] == 200


def test_an_expired_receipt_counts_no_more_though_it_is_still_there(
    ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    deploy()
    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 1
    later = time.time() + 24 * 3600 + 2
    monkeypatch.setattr("mint.receipts.time.time", lambda: later)

    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4
    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4


def test_many_at_once_with_one_key_get_the_same_integer(stack: Any) -> None:
    deploy()
    table = CounterTable(stack.counters)
    receipts = Receipts(stack.receipts, 3600)

    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(receipts.once, "k", "integers", None, lambda: table.mint("integers")) for _ in range(24)]
        answers = [run.result() for run in runs]

    assert len({block for block, _ in answers}) == 1
    assert sum(not replayed for _, replayed in answers) == 1


def test_who_loses_the_race_returns_the_winners_integers(stack: Any) -> None:
    receipts = Receipts(stack.receipts, 3600)
    winner = Block(1, 3, 1)

    def late() -> Block:
        receipts.once("k", "integers", None, lambda: winner)
        return Block(4, 3, 1)

    assert receipts.once("k", "integers", None, late) == (winner, True)


def test_who_loses_the_race_to_another_request_is_refused(stack: Any) -> None:
    receipts = Receipts(stack.receipts, 3600)

    def late() -> Block:
        receipts.once("k", "orders", None, lambda: Block(1, 3, 1))
        return Block(4, 3, 1)

    with pytest.raises(OtherRequest):
        receipts.once("k", "integers", None, late)


def test_a_crash_between_mint_and_receipt_burns_an_integer_and_blocks_nothing(stack: Any, ask: Any) -> None:
    deploy()
    with pytest.MonkeyPatch.context() as patch:

        def crash(*_: object) -> None:
            raise Unavailable("gone")

        patch.setattr(Receipts, "_put", crash)
        assert ask("POST", "/", idempotency_key="k")["statusCode"] == 503

    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4
