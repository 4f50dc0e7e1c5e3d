"""A grant: one counter is reconciled at once, in any case of the run lock; and what may come through the alias."""

import json
from typing import Any

import pytest
from coordinate.handler import CoordinatorError, TooManyCounters

from tests.lambda_.coordinator_calls import ARN, DEPLOYMENTS, HOME, create, deploy, send
from tests.lambda_.fixtures import Stack
from tests.lambda_.table_losses import everything, recreate

ALIAS = f"{ARN}:minting"


def test_callers_create_counters_up_to_a_bound(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy(HOME)
    monkeypatch.setenv("MAX_COUNTERS", "2")
    send({"create": ["orders"]}, invoked=ALIAS)
    before = everything(stack)

    for names in (["invoices"], ["invoices", "orders", "tickets"]):
        with pytest.raises(TooManyCounters, match=r"^invoices: callers may create counters only .* fewer than 2"):
            send({"create": names}, invoked=ALIAS)
    assert everything(stack) == before
    recreate(stack, HOME, stack.layouts)
    with pytest.raises(TooManyCounters):  # what only the mirror has counts too
        send({"create": ["invoices"]}, invoked=ALIAS)
    assert send({"create": ["orders"]}, invoked=ALIAS)["created"] == [], "it exists"

    assert create("invoices")["created"] == ["invoices"]
    send({"delete": ["invoices", "orders"]})
    assert send({"create": ["invoices"]}, invoked=ALIAS)["created"] == ["invoices"]


@pytest.mark.parametrize("event", [None, 5, ["schedule"]])
def test_an_event_that_is_no_object_is_refused(stack: Stack, event: Any) -> None:
    with pytest.raises(CoordinatorError, match="the event has no schedule, create"):
        send(event)


@pytest.mark.parametrize(
    ("event", "invoked", "runs"),
    [
        ({"grant": "nope"}, ALIAS, [("grant", 1)]),
        ({"grant": "nope"}, DEPLOYMENTS, [("grant", 1)]),
        ({"create": ["orders"]}, ALIAS, []),
        ({"schedule": True}, ALIAS, []),
        ({"desired": {}}, ALIAS, []),
        ({"schedule": True}, f"{ARN}:live", []),
        ({"schedule": True}, ARN, []),
    ],
)
def test_no_caller_sets_off_an_alarm_on_the_schedule(
    stack: Stack, capsys: pytest.CaptureFixture[str], event: dict[str, Any], invoked: str, runs: list[tuple[str, int]]
) -> None:
    deploy(HOME)
    before = everything(stack)
    capsys.readouterr()

    with pytest.raises(CoordinatorError):
        send(event, invoked=invoked)

    assert everything(stack) == before
    lines = [json.loads(line) for line in capsys.readouterr().err.splitlines()]
    assert [(line["Run"], line["Failed"]) for line in lines if "Run" in line] == runs
    assert not any("FailedRuns" in line for line in lines)
