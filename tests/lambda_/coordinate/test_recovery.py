"""A loss that nothing repairs: it is refused with its id, and the operator's answer to this id goes on above it.

The transcripts recovery.txt and lost_layouts.txt show what is written.
"""

import re
from typing import Any

import pytest
from coordinate.handler import CoordinatorError

from global_integers_core.names import LOSS_ID
from tests.lambda_.coordinate.interrupted_runs import short_of_time
from tests.lambda_.coordinator_calls import (
    AS_DEPLOYED,
    HOME,
    REGIONS,
    create,
    deploy,
    deployment,
    item,
    put_item,
    record,
    scheduled_run,
    send,
)
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import backup, cut_off, everything, recreate, restore

EU = "eu-west-1"
FIRST = 300_000_000
"""The limit of the first epoch."""


class Minted:
    """What was minted of some counters. No integer is minted twice."""

    def __init__(self, ask: Ask, *counters: str) -> None:
        self._ask = ask
        self.all: dict[str, set[int]] = {counter: set() for counter in counters or ("integers",)}

    def everywhere(self, *regions: str) -> int:
        """Mint in each region, of each counter. Return the smallest integer."""
        new: list[int] = []
        for counter, before in self.all.items():
            for region in regions or REGIONS:
                found: list[int] = self._ask("POST", f"/{counter}?count=5", region)["document"]["integers"]
                assert before.isdisjoint(found)
                before |= {*found}
                new += found
        return min(new)


def refusal(*regions: str, **settings: Any) -> str:
    with pytest.raises(CoordinatorError) as refused:
        deploy(*regions, **settings)
    return str(refused.value)


def loss_in(refused: str) -> str:
    (loss,) = {*LOSS_ID.findall(refused)}
    return loss


def answer_in(refused: str, above: int = 0) -> dict[str, Any]:
    """Return the answer that a refusal asks for, by somebody whose data end at `above`."""
    least = [int(each) for each in re.findall(r"Use (\d+) if that is larger", refused)]
    return {"loss": loss_in(refused), "above": max([above, *least])}


def lose_home(stack: Stack) -> None:
    for table in (stack.layouts, stack.mirror):
        recreate(stack, HOME, table)


@pytest.mark.parametrize("restored", [False, True])
def test_the_refusal_says_the_whole_answer(stack: Stack, ask: Ask, restored: bool) -> None:
    minted = Minted(ask, "integers", "orders")
    deploy(counters=AS_DEPLOYED)
    create("orders")
    backups = {table: backup(stack, HOME, table) for table in (stack.layouts, stack.mirror)}
    minted.everywhere()
    for table, records in backups.items():
        restore(stack, HOME, table, records if restored else [])

    if restored:
        with pytest.raises(CoordinatorError, match=r"^Neither the layouts table .* Deploy: the refusal says how to"):
            scheduled_run()
    else:
        assert scheduled_run() == {"skipped": "nothing is deployed"}, "it doesn't know of any region"
    refused = refusal(counters=AS_DEPLOYED, floors={"*": 5 * FIRST})
    assert "\n  integers: in the layouts table, the mirror, us-east-1, eu-west-1, ap-southeast-2" in refused
    assert refusal(counters=AS_DEPLOYED) == refused, "no floor answers a loss"
    minted.everywhere()

    answer = answer_in(refused)
    assert deploy(counters=AS_DEPLOYED, recovery=answer)["pending"] == []
    assert FIRST < minted.everywhere() < FIRST + 100, "right above all that could have been minted"
    scheduled_run()
    assert record(stack).answered == "", "all is reconciled: the answer is used up"
    assert create("new")["counters"]["new"]["base"] == answer["above"] + 1, "nothing shows that there was none"
    before = everything(stack, *REGIONS)
    deploy(counters=AS_DEPLOYED, recovery=answer)
    assert everything(stack, *REGIONS) == before, "what stays in the settings does nothing any more"

    lose_home(stack)
    refused = refusal(counters=AS_DEPLOYED, recovery=answer)
    assert "what they still have. The loss in `recovery` is another one. Look into your own data" in refused
    deploy(counters=AS_DEPLOYED, recovery=answer_in(refused))
    minted.everywhere()


def test_a_counters_table_that_is_new_needs_a_number(stack: Stack, ask: Ask) -> None:
    """It doesn't show what was minted there."""
    minted = Minted(ask)
    deploy(window=1000)
    minted.everywhere()
    lose_home(stack)
    recreate(stack, EU, stack.counters)
    loss = loss_in(refusal())
    before = everything(stack, HOME)

    wrong = {
        r"recovery: .* is neither \{\} nor the answer to a loss": {"loss": loss},
        r"recovery: above: 1,000 is too low: regions may mint up to [23],...\. Set": {"loss": loss, "above": 1000},
        f"recovery: {{loss: {loss}, above": {"loss": "loss-0123456789abcdef-7", "above": 10**9},
    }
    for message, answer in wrong.items():
        assert re.search(message, refusal(recovery=answer))
    assert everything(stack, HOME) == before

    deploy(recovery={"loss": loss, "above": 5_000})
    assert minted.everywhere() > 5_000
    new = create("new")["counters"]["new"]
    assert (new["base"], new["epoch"] > 1_700_000_000) == (5_001, True), "nothing shows that there was none"


def test_the_same_deployment_may_drop_a_region(stack: Stack, ask: Ask) -> None:
    """What it may still mint is in its status."""
    minted = Minted(ask)
    deploy()
    minted.everywhere()
    lose_home(stack)
    status = ask("GET", "/-/status", "ap-southeast-2")["document"]

    deploy(HOME, EU, recovery=answer_in(refusal(HOME, EU), status["ceiling"]))
    assert minted.everywhere(HOME, EU) > status["ceiling"]


def test_a_region_that_never_answers_again_is_left_out(stack: Stack, ask: Ask) -> None:
    """The answer was admitted while it still did, so it covers what this region may mint."""
    minted = Minted(ask)
    deploy()
    minted.everywhere()
    lose_home(stack)
    recovery = answer_in(refusal())
    with pytest.raises(CoordinatorError, match="time ran out"):
        send(deployment(recovery=recovery), short_of_time(0))
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    cut_off(stack.monkeypatch, "ap-southeast-2")
    assert "ap-southeast-2 must answer" in refusal(recovery=recovery)

    deploy(HOME, EU, recovery=recovery)
    assert minted.everywhere(HOME, EU) > FIRST


def test_an_item_without_a_register_is_a_loss_and_may_be_deleted_then(stack: Stack) -> None:
    """A region that goes on minting it would run out without anybody being told."""
    deploy()
    left = item(stack, EU)
    assert left is not None
    put_item(stack, EU, left, "ghost")

    with pytest.raises(CoordinatorError, match=r"^ghost: .* lost, .* \(eu-west-1 has an item of epoch 1\)"):
        scheduled_run()
    assert item(stack, EU, "ghost") == left, "it mints on"
    send({"delete": ["ghost"]})
    assert scheduled_run()["registered"] == 1
