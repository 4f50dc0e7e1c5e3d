"""Whatever one region answers, the others and all counters go on; and the home region's moments are waited for."""

from itertools import chain, repeat
from typing import Any

import pytest

from tests.lambda_.coordinate.error_responses import OUTAGES, SIGNERS, TRANSIENT, answer, stopped_clock
from tests.lambda_.coordinator_calls import HOME, deploy, deployment, items, register, scheduled_run, send
from tests.lambda_.fixtures import Stack

EU, US = "eu-west-1", "us-west-2"
FAILING = {f"xx-fails-{number}": shape for number, shape in enumerate(TRANSIENT)}
"""Regions, and how each of them fails."""


@pytest.fixture(autouse=True)
def _clock(monkeypatch: pytest.MonkeyPatch) -> None:
    stopped_clock(monkeypatch)
    monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 3)  # of no real time, but of fewer attempts


def test_regions_that_fail_are_pending_and_others_go_on(stack: Stack) -> None:
    deploy(HOME, US)
    before = register(stack)
    event = deployment(US, HOME)
    event["desired"]["regions"] = [US, *FAILING, HOME]
    answer(stack, lambda region, _operation, _request: TRANSIENT[FAILING[region]] if region in FAILING else None)

    reply = send(event)

    assert {FAILING.get(region, region) for region in reply["pending"]} == {*TRANSIENT}
    assert before is not None
    assert reply["counters"]["integers"]["base"] < before.limit, "all that had integers were fenced"
    assert [item.epoch for item in items(stack, HOME, US) if item] == [2, 2]
    assert {FAILING.get(region, region) for region in scheduled_run()["pending"]} == {*TRANSIENT}


def test_a_home_region_that_fails_for_a_moment_is_waited_for(stack: Stack) -> None:
    deploy()
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.RETRY_SECONDS", 10_000)
    answers = list(chain.from_iterable((answer, answer, answer, answer, None) for answer in TRANSIENT.values()))

    def at_home(region: str, operation: str, request: dict[str, Any]) -> bytes | None:
        waited_for = request.get("TableName", stack.layouts) in (stack.layouts, stack.mirror)  # a transaction's, too
        given_back = operation == "deleteitem"  # the run lock, which otherwise expires
        return answers.pop(0) if answers and region == HOME and waited_for and not given_back else None

    answer(stack, at_home)
    while answers:
        assert scheduled_run()["pending"] == []


def test_a_first_deployment_waits_until_regions_accept_its_role(stack: Stack) -> None:
    event, refusals = deployment(HOME, EU), repeat(SIGNERS["UnrecognizedClientException"], 60)
    answer(stack, lambda region, _operation, _request: next(refusals, None) if region == EU else None)

    assert send(event)["pending"] == []


def test_a_write_that_is_answered_with_nothing_is_no_fence(stack: Stack) -> None:
    deploy()
    event, standing = deployment(HOME, EU, US), register(stack)
    nothing = OUTAGES["200 without a body"]
    answer(stack, lambda region, what, _request: nothing if (region, what) == (EU, "updateitem") else None)

    reply = send(event)["counters"]["integers"]

    assert standing is not None
    assert reply["base"] > standing.limit, "the region goes on up to its limit"
    assert reply["pending"] == [EU]
