"""Whatever one region answers, the others and all counters go on; and the home region's moments are waited for."""

from collections.abc import Generator
from itertools import chain
from typing import Any

import pytest

from local.aws_clients import Aws
from tests.lambda_.coordinate.error_responses import (
    OUTAGES,
    SIGNERS,
    TRANSIENT,
    DynamoDBProxy,
    as_ever,
    in_turn,
    stopped_clock,
)
from tests.lambda_.coordinator_calls import (
    HOME,
    deployment,
    items,
    laid_out,
    reach_at,
    register,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Stack, empty_tables

EU, US = "eu-west-1", "us-west-2"
COUNTERS = ["integers", "busy", "invoices"]
FAILING = {f"xx-fails-{number}": shape for number, shape in enumerate(TRANSIENT)}
"""Regions, and how each of them fails."""


@pytest.fixture
def stack(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> Generator[Stack]:
    """Empty tables of the server."""
    yield from empty_tables(aws, monkeypatch)


@pytest.fixture(scope="module")
def server(aws: Aws) -> Generator[DynamoDBProxy]:
    server = DynamoDBProxy(aws.endpoint)
    with server:
        yield server


@pytest.fixture
def proxy(server: DynamoDBProxy, stack: Stack) -> DynamoDBProxy:
    stopped_clock(stack.monkeypatch)
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 3)  # of no real time, but of fewer attempts
    server.answer = as_ever
    return server


def test_regions_that_fail_are_pending_and_others_go_on(stack: Stack, proxy: DynamoDBProxy) -> None:
    laid_out(HOME, US)
    before = register(stack)
    event = deployment(US, HOME)
    event["desired"]["regions"] = [US, *FAILING, HOME]
    reach_at(stack.monkeypatch, proxy.url)
    proxy.answer = lambda region, _operation, _request: TRANSIENT[FAILING[region]] if region in FAILING else None

    reply = send(event)

    assert {FAILING.get(region, region) for region in reply["pending"]} == {*TRANSIENT}
    assert before is not None
    assert reply["counters"]["integers"]["base"] < before.limit, "all that had integers were fenced"
    assert [item.epoch for item in items(stack, HOME, US) if item] == [2, 2]
    assert {FAILING.get(region, region) for region in scheduled_run()["pending"]} == {*TRANSIENT}


def test_a_home_region_that_fails_for_a_moment_is_waited_for(stack: Stack, proxy: DynamoDBProxy) -> None:
    laid_out()
    reach_at(stack.monkeypatch, proxy.url, HOME)
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.RETRY_SECONDS", 10_000)
    answers = list(chain.from_iterable((answer, answer, answer, answer, None) for answer in TRANSIENT.values()))

    def at_home(_region: str, operation: str, request: dict[str, Any]) -> bytes | None:
        waited_for = request.get("TableName", stack.layouts) in (stack.layouts, stack.mirror)  # a transaction's, too
        given_back = operation == "deleteitem"  # the run lock, which otherwise expires
        return answers.pop(0) if answers and waited_for and not given_back else None

    proxy.answer = at_home

    while answers:
        assert scheduled_run()["pending"] == []


def test_a_first_deployment_waits_until_all_regions_accept_its_role(stack: Stack, proxy: DynamoDBProxy) -> None:
    reach_at(stack.monkeypatch, proxy.url, EU)
    proxy.answer = in_turn([SIGNERS["UnrecognizedClientException"]] * 60)
    assert send(deployment(HOME, EU))["pending"] == []


def test_a_write_that_is_answered_with_nothing_is_no_fence(stack: Stack, proxy: DynamoDBProxy) -> None:
    laid_out()
    event, standing = deployment(HOME, EU, US), register(stack)
    reach_at(stack.monkeypatch, proxy.url, EU)
    nothing = OUTAGES["200 without a body"]
    proxy.answer = lambda _region, operation, _request: nothing if operation == "updateitem" else None

    reply = send(event)["counters"]["integers"]

    assert standing is not None
    assert reply["base"] > standing.limit, "the region goes on up to its limit"
    assert reply["pending"] == [EU]
