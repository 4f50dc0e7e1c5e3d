"""The same Idempotency-Key returns the same integers."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from mint.model import Block, RequestRefused
from mint.receipts import Receipts, receipt_of
from mint.table import CounterTable

from tests.lambda_.aws_client.faults import whole
from tests.lambda_.coordinator_calls import laid_out
from tests.lambda_.fixtures import Ask, Stack

KEY = receipt_of("k", "integers")


def test_many_at_once_with_one_key_get_the_same_integer(stack: Stack) -> None:
    laid_out()
    table = CounterTable(stack.counters)
    receipts = Receipts(stack.receipts, 3600)

    def once() -> tuple[Block, bool]:
        found = receipts.find(KEY, 1)
        return (found, True) if found else receipts.keep(KEY, table.mint("integers"))

    with ThreadPoolExecutor(8) as pool:
        runs = [pool.submit(once) for _ in range(24)]
        responses = [run.result() for run in runs]

    assert len({block for block, _ in responses}) == 1
    assert sum(not replayed for _, replayed in responses) == 1


def test_the_loser_of_a_race_returns_the_winners_integers(stack: Stack) -> None:
    receipts = Receipts(stack.receipts, 3600)
    winner = Block(1, 3, 1)

    assert receipts.find(KEY, 1) is None
    assert receipts.keep(KEY, winner) == (winner, False)
    assert receipts.keep(KEY, Block(4, 3, 1)) == (winner, True)
    with pytest.raises(RequestRefused, match="another count"):
        receipts.keep(KEY, Block(4, 3, 2))


def test_a_receipt_that_is_not_written_wastes_an_integer(ask: Ask, stack: Stack) -> None:
    laid_out()
    refused = whole({"__type": "x#AccessDeniedException", "message": "no"}, 400)

    def refuse(_region: str, operation: str, _request: Any) -> bytes | None:
        return refused if operation == "putitem" else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack.aws, "answer", refuse)
        assert ask("POST", "/", idempotency_key="k")["statusCode"] == 503
    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4


def test_a_receipt_written_by_a_lost_attempt_is_the_requests_own(ask: Ask, stack: Stack) -> None:
    laid_out()
    stack.monkeypatch.setattr(stack.aws, "lost", [False, False, True])  # look, mint, put; then it puts again
    first, again = (ask("POST", "/", warm=True, idempotency_key="k") for _ in range(2))

    assert [response["document"]["integer"] for response in (first, again)] == [1, 1]
    assert "Idempotency-Replayed" not in first["headers"]
    assert again["headers"]["Idempotency-Replayed"] == "true"
