"""Errors of a write that meets a transaction in progress: they are transient, and the deployment continues."""

import json
from typing import Any

import pytest
from botocore.awsrequest import AWSResponse
from coordinate.model import Register
from coordinate.operations import CreateRegister, ReadStanding, ReplaceRegister
from coordinate.store import Store

from tests.lambda_.fixtures import Stack
from tests.lambda_.laying_out import HOME, deploy, register

REGIONS = ("us-east-1", "eu-west-1")


class Body:
    def __init__(self, document: dict[str, Any]) -> None:
        self._text = json.dumps(document).encode()

    def stream(self, **_: Any) -> Any:
        yield self._text


def answer_once(store: Store, operation: str, document: dict[str, Any]) -> list[str]:
    """Answer the next such call with this error instead of sending it. Return what was answered."""
    answered: list[str] = []

    def answer(request: Any, **_: Any) -> AWSResponse | None:
        if answered:
            return None
        answered.append(document["__type"])
        headers = {"Content-Type": "application/x-amz-json-1.0"}
        return AWSResponse(request.url, 400, headers, Body(document))  # pyright: ignore[reportArgumentType]

    events: Any = store._client(HOME).meta.events
    events.register(f"before-send.dynamodb.{operation}", answer)
    return answered


def error(code: str, **more: Any) -> dict[str, Any]:
    return {"__type": f"com.amazonaws.dynamodb.v20120810#{code}", "message": "busy", **more}


@pytest.fixture
def store(stack: Stack) -> Store:
    return Store(HOME, stack.layouts, stack.counters)


def test_a_deployment_records_its_regions_though_a_creation_is_in_progress(store: Store) -> None:
    answered = answer_once(store, "PutItem", error("TransactionConflictException"))

    store.stand(REGIONS)

    assert answered
    assert store.carry_out(ReadStanding()) == REGIONS


def test_a_register_that_another_is_writing_is_not_replaced(stack: Stack, store: Store) -> None:
    deploy(*REGIONS)
    old = register(stack)
    assert old is not None
    answer_once(store, "PutItem", error("TransactionConflictException"))

    assert store.carry_out(ReplaceRegister(old, old)) is False
    assert store.carry_out(ReplaceRegister(old, old)) is True


@pytest.mark.parametrize(("code", "held"), [("TransactionConflict", False), ("ConditionalCheckFailed", False)])
def test_a_transaction_that_lost_is_no_error(store: Store, code: str, held: bool) -> None:
    store.stand(REGIONS)
    reasons = [{"Code": code, "Message": "busy"}, {"Code": "None"}]
    answer_once(store, "TransactWriteItems", error("TransactionCanceledException", CancellationReasons=reasons))
    fresh = CreateRegister(Register("integers", 1, REGIONS, 1, "token"))

    assert store.carry_out(fresh) is held
    assert store.carry_out(fresh) is True


@pytest.mark.parametrize("code", ["ThrottlingError", "ProvisionedThroughputExceeded"])
def test_a_transaction_that_was_throttled_is_retried(store: Store, code: str) -> None:
    store.stand(REGIONS)
    reasons = [{"Code": code, "Message": "busy"}, {"Code": "None"}]
    answer_once(store, "TransactWriteItems", error("TransactionCanceledException", CancellationReasons=reasons))

    assert store.carry_out(CreateRegister(Register("integers", 1, REGIONS, 1, "token"))) is True
