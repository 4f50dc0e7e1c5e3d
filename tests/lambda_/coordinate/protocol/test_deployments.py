"""Which deployments are admitted, and that one that is refused has changed nothing."""

from contextlib import suppress
from dataclasses import replace
from threading import Thread
from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.admit import LATEST
from coordinate.protocol.operations import RecordLayouts

from tests.lambda_.coordinate.interrupted_runs import Crash, crash_before
from tests.lambda_.coordinator_calls import (
    HOME,
    REGIONS,
    create,
    deploy,
    deployment,
    items,
    laid_out,
    record,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import everything

TWO = ("us-east-1", "eu-west-1")


def test_deploying_again_changes_nothing(stack: Stack, ask: Ask) -> None:
    reply = deploy()
    ask()
    before = everything(stack, *REGIONS)

    assert deploy() == {**reply, "created": []}
    assert everything(stack, *REGIONS) == before


def test_deployments_are_numbered_and_say_what_they_follow(stack: Stack) -> None:
    laid_out()
    first = record(stack)
    deploy(*TWO)
    deploy(*TWO)

    found = record(stack)
    assert (found.number, found.follows, found.reconciled) == (2, first.token, True)
    assert found.token != first.token
    assert found.desired.regions == TWO


def test_an_outdated_deployment_is_refused(stack: Stack) -> None:
    laid_out()
    outdated = deployment("us-east-1")
    event = deployment(*TWO)
    reply = send(event)
    before = everything(stack, *REGIONS)

    with pytest.raises(CoordinatorError, match="another deployment for us-east-1, eu-west-1 was admitted since"):
        send(outdated)
    assert send(event) == reply
    assert everything(stack, *REGIONS) == before


def test_one_that_stood_before_is_outdated_too(stack: Stack) -> None:
    event = deployment()
    send(event)
    deploy(*TWO)

    with pytest.raises(CoordinatorError, match=r"another deployment.* was admitted since"):
        send(event)
    assert record(stack).desired.regions == TWO


def test_of_two_with_the_same_preview_one_is_admitted(stack: Stack) -> None:
    laid_out()
    one, other = deployment("us-east-1"), deployment(*TWO)

    send(one)
    with pytest.raises(CoordinatorError, match=r"another deployment for us-east-1.* was admitted since"):
        send(other)
    assert record(stack).desired.regions == ("us-east-1",)


def test_a_deployment_overrules_one_that_was_interrupted(stack: Stack, ask: Ask) -> None:
    laid_out()
    with pytest.MonkeyPatch.context() as patch:
        crash_before(RecordLayouts, patch)
        with pytest.raises(Crash):
            deploy("us-east-1")
    assert not record(stack).reconciled

    reply = deploy()["counters"]["integers"]
    assert (reply["epoch"], reply["pending"]) == (3, [])
    assert [found.epoch for found in items(stack) if found] == [3, 3, 3]
    integers = [ask("POST", "/", region)["document"]["integer"] for region in REGIONS]
    assert min(integers) >= reply["base"]


def test_one_that_was_requested_long_ago_is_refused(stack: Stack) -> None:
    laid_out()
    before = everything(stack)
    event = deployment(*TWO)
    late = {**event, "requested": event["requested"] - LATEST - 60}

    with pytest.raises(CoordinatorError, match=r"was requested at .*Nothing was changed"):
        send(late)
    assert everything(stack) == before


def test_runs_of_one_deployment_at_the_same_time_report_the_same(stack: Stack) -> None:
    laid_out()
    event = deployment("us-east-1", "us-west-2")
    done: list[dict[str, Any]] = []

    def run() -> None:
        with suppress(CoordinatorError):  # another one has taken over
            done.append(send(event))

    threads = [Thread(target=run) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert done
    assert done == [done[0]] * len(done)
    assert send(event) == done[0]
    assert done[0]["counters"]["integers"]["epoch"] == 2


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"floors": {"orders": 5}}, "floors: there is no counter orders; add it to counters"),
        ({"window": 0}, "window: 0 is not"),
    ],
)
def test_a_refused_deployment_has_written_nothing(stack: Stack, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(CoordinatorError, match=message):
        deploy(*TWO, **settings)
    assert everything(stack, *REGIONS) == {name: [] for name in ("layouts", "mirror", *REGIONS)}

    deploy()
    before = everything(stack, *REGIONS)
    with pytest.raises(CoordinatorError, match=message):
        deploy(*TWO, **settings)
    assert everything(stack, *REGIONS) == before
    assert create("invoices")["counters"]["invoices"]["regions"].keys() == {*REGIONS}


def test_a_missing_record_is_put_back_by_the_schedule(stack: Stack) -> None:
    laid_out()
    present = record(stack)
    stack.aws.client("dynamodb", HOME).delete_item(TableName=stack.layouts, Key={"counter": {"S": "/deployment"}})

    assert scheduled_run()["registered"] == 1
    found = record(stack)
    assert found.token != present.token, "what was requested before doesn't follow it"
    assert replace(found, token=present.token) == present
