"""A message has one integer, however often it is delivered and wherever its consumer is killed."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Generator
from threading import Event

import pytest

from tests.local.machine import Machine, mint
from tests.recipes.recipe_page import STRIDE, Client, Start, Table, blocks
from tests.recipes.relay import Call, Relay, relay_to

RECIPE = "An idempotent SQS consumer"


Consume = Callable[[], "subprocess.Popen[str]"]
"""Starts the recipe's consumer."""


@pytest.fixture
def queue(aws: Client) -> Generator[str]:
    """A queue whose messages come again after a second, with one message in it."""
    sqs = aws("sqs")
    url = sqs.create_queue(QueueName="orders", Attributes={"VisibilityTimeout": "1"})["QueueUrl"]
    sqs.send_message(QueueUrl=url, MessageBody="a book")
    yield url
    sqs.delete_queue(QueueUrl=url)


@pytest.fixture
def relay(machine: Machine) -> Generator[Relay]:
    with relay_to(machine.port) as relay:
        yield relay


@pytest.fixture
def consume(start: Start, relay: Relay, url: str, machine: Machine) -> Consume:
    """Start the page's consumer, with the relay between it and the server."""
    ((language, code),) = blocks(RECIPE)
    through = f"http://127.0.0.1:{relay.port}"
    own = f"http://127.0.0.1:{machine.port}"
    return lambda: start(language, code, AWS_ENDPOINT_URL=through, URL=url.replace(own, through))


@pytest.mark.parametrize(
    "cut",
    [lambda call: call.minted, lambda call: call.target == "PutItem"],
    ids=["minted-unanswered", "put-undeleted"],
)
def test_a_consumer_is_killed_and_the_message_comes_again(
    cut: Callable[[Call], bool],
    consume: Consume,
    relay: Relay,
    queue: str,
    aws: Client,
    table: Table,
    url: str,
) -> None:
    invoices = table("invoices")
    before = mint(url, "invoices")[1]["integer"]
    with consume() as consumer:

        def kill(call: Call) -> None:
            if cut(call):
                os.kill(consumer.pid, signal.SIGKILL)
                consumer.wait()

        relay.answered = kill
        consumer.communicate(timeout=60)
    assert consumer.returncode == -signal.SIGKILL

    relay.answered = lambda _: None
    until_empty(consume, aws, queue)

    first, second = (call for call in relay.calls if call.minted)
    assert first.headers["idempotency-key"] == second.headers["idempotency-key"], "delivered twice"
    assert json.loads(first.body) == json.loads(second.body)
    assert invoices() == [{"id": {"N": str(before + STRIDE)}, "order": {"S": "a book"}}]
    assert mint(url, "invoices")[1]["integer"] == before + 2 * STRIDE, "nothing more was minted"


def test_a_message_is_delivered_again_while_a_slow_consumer_has_it(
    consume: Consume, relay: Relay, queue: str, aws: Client, table: Table, url: str
) -> None:
    invoices = table("invoices")
    before = mint(url, "invoices")[1]["integer"]
    minted, other_done = Event(), Event()

    def hold(call: Call) -> None:
        if call.minted and not minted.is_set():
            minted.set()
            assert other_done.wait(60)

    relay.answered = hold
    with consume() as slow:
        try:
            assert minted.wait(60)
            until_empty(consume, aws, queue)
        finally:
            other_done.set()
        _, err = slow.communicate(timeout=60)

    # AWS takes a second deletion for done; this server refuses it.
    assert slow.returncode == 0 or "ReceiptHandleIsInvalid" in err, err
    slow_call, quick_call = (call for call in relay.calls if call.minted)
    assert json.loads(slow_call.body) == json.loads(quick_call.body)
    assert [call.target for call in relay.calls].count("PutItem") == 2
    assert invoices() == [{"id": {"N": str(before + STRIDE)}, "order": {"S": "a book"}}]


def until_empty(consume: Consume, aws: Client, queue: str) -> None:
    """Consumers, one after the other as a supervisor starts them, until no message is left, visible or not."""
    numbers = ["ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible"]
    deadline = time.monotonic() + 60
    while any(
        int(n) for n in aws("sqs").get_queue_attributes(QueueUrl=queue, AttributeNames=numbers)["Attributes"].values()
    ):
        assert time.monotonic() < deadline
        with consume() as consumer:
            _, err = consumer.communicate(timeout=60)
        assert consumer.returncode == 0, err
