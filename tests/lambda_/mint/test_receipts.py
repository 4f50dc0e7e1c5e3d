"""The same Idempotency-Key returns the same integers."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from aws_client.connection import NoResponse
from mint.model import Block, RequestRefused
from mint.receipts import Receipts, receipt_of
from mint.table import CounterTable

from tests.lambda_.aws_client.faults import GOES_ON, LOST, before
from tests.lambda_.coordinator_calls import item, laid_out
from tests.lambda_.fixtures import Ask, Stack

KEY = receipt_of("k", "integers")


def test_a_repeated_request_returns_the_same_integers(ask: Ask, stack: Stack) -> None:
    laid_out()

    first = ask("POST", "/", idempotency_key="order-17")
    again = ask("GET", "/", idempotency_key="order-17")
    other = ask("POST", "/", idempotency_key="order-18")

    assert first["document"] == again["document"]
    assert "Idempotency-Replayed" not in first["headers"]
    assert again["headers"]["Idempotency-Replayed"] == "true"
    assert other["document"]["integer"] == 4


def test_a_repeated_block_is_the_same_block(ask: Ask, stack: Stack) -> None:
    laid_out()

    responses = [ask("POST", "/?count=3", idempotency_key='"a \\" b"'.replace(" ", "-")) for _ in range(2)]

    assert responses[0]["document"]["integers"] == responses[1]["document"]["integers"] == [1, 4, 7]


def test_a_key_of_another_count_is_refused(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask("POST", "/", idempotency_key="k")
    before = item(stack, "us-east-1")

    assert ask("POST", "/?count=2", idempotency_key="k")["statusCode"] == 422
    assert item(stack, "us-east-1") == before


def test_a_single_integer_and_a_block_of_one_are_the_same_request(ask: Ask, stack: Stack) -> None:
    laid_out()

    first = ask("POST", "/", idempotency_key="curl")["document"]
    again = ask("POST", "/?count=1", idempotency_key="curl")["document"]
    block = ask("POST", "/?count=1", idempotency_key="client")["document"]
    single = ask("POST", "/", idempotency_key="client")["document"]

    assert (first["integer"], again["integers"]) == (1, [1])
    assert (block["integers"], single["integer"]) == ([4], 4)


def test_each_counter_has_keys_of_its_own(ask: Ask, stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])

    for _ in range(2):
        assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 1
        assert ask("POST", "/orders?count=2", idempotency_key="k")["document"]["integers"] == [1, 4]


@pytest.mark.parametrize(
    "other",
    [receipt_of("a", "orders"), receipt_of("b", "integers"), receipt_of("b", "orders", "arn:aws:iam::1:user/a")],
)
def test_no_two_keys_share_a_receipt(other: str) -> None:
    assert other != receipt_of("a", "integers") != receipt_of("a", "integers", "arn:aws:iam::1:user/a")


def test_an_expired_receipt_that_is_still_there_is_ignored(
    ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 1
    later = time.time() + 24 * 3600 + 2
    monkeypatch.setattr("mint.receipts.time.time", lambda: later)

    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4
    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4


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


def test_the_loser_of_a_race_to_another_request_is_refused(stack: Stack) -> None:
    receipts = Receipts(stack.receipts, 3600)
    receipts.keep(KEY, Block(1, 3, 2))

    with pytest.raises(RequestRefused, match="another count"):
        receipts.keep(KEY, Block(4, 3, 1))


def test_a_crash_before_the_receipt_wastes_an_integer(stack: Stack, ask: Ask) -> None:
    laid_out()
    with pytest.MonkeyPatch.context() as patch:

        def crash(*_: object) -> None:
            raise NoResponse("gone")

        patch.setattr(Receipts, "keep", crash)
        assert ask("POST", "/", idempotency_key="k")["statusCode"] == 503

    assert ask("POST", "/", idempotency_key="k")["document"]["integer"] == 4


def test_a_receipt_written_by_a_lost_attempt_is_the_requests_own(
    ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    with before(stack.aws.endpoint, GOES_ON, GOES_ON, LOST) as server:  # look, mint, put, put again
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        first = ask("POST", "/", warm=True, idempotency_key="k")
        again = ask("POST", "/", warm=True, idempotency_key="k")

    assert [response["document"]["integer"] for response in (first, again)] == [1, 1]
    assert "Idempotency-Replayed" not in first["headers"]
    assert again["headers"]["Idempotency-Replayed"] == "true"
