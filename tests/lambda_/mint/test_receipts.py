"""The same Idempotency-Key returns the same integers, as `exchanges/minting.txt` shows: here is what may go wrong."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from typing import Any

import pytest
from mint.model import Block, RequestRefused
from mint.receipts import Receipts

from tests.lambda_.aws_client.faults import whole
from tests.lambda_.coordinator_calls import deploy
from tests.lambda_.fixtures import Ask, Stack


def test_the_loser_of_a_race_returns_the_winners_integers(stack: Stack) -> None:
    receipts = Receipts(stack.receipts, 3600)
    winner = Block(1, 3, 1)

    assert receipts.find("integers k", 1) is None
    assert receipts.keep("integers k", winner) == (winner, False)
    assert receipts.keep("integers k", Block(4, 3, 1)) == (winner, True)
    with pytest.raises(RequestRefused, match="another count"):
        receipts.keep("integers k", Block(4, 3, 2))


def test_a_receipt_that_is_not_written_wastes_an_integer(ask: Ask, stack: Stack) -> None:
    deploy()
    refused = whole({"__type": "x#AccessDeniedException", "message": "no"}, 400)

    def refuse(_region: str, operation: str, _request: Any) -> bytes | None:
        return refused if operation == "putitem" else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(stack.aws, "answer", refuse)
        assert ask("POST", "/", idempotency_key="k")["statusCode"] == 503
    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4


def test_a_receipt_written_by_a_lost_attempt_is_the_requests_own(ask: Ask, stack: Stack) -> None:
    deploy()
    stack.monkeypatch.setattr(stack.aws, "lost", [False, False, True])  # look, mint, put; then it puts again
    first, again = (ask("POST", "/", warm=True, idempotency_key="k") for _ in range(2))

    assert [response["document"]["integer"] for response in (first, again)] == [1, 1]
    assert "Idempotency-Replayed" not in first["headers"]
    assert again["headers"]["Idempotency-Replayed"] == "true"
