"""A loss that nothing repairs: it is refused with its id, and the operator's answer to this id goes on above it."""

import re
from typing import Any

import pytest
from coordinate.handler import CoordinatorError

from global_integers_core.names import DELETED, LOSS_ID
from tests.lambda_.coordinate.interrupted_runs import short_of_time
from tests.lambda_.coordinator_calls import (
    AS_DEPLOYED,
    HOME,
    REGIONS,
    create,
    delete_item,
    delete_register,
    deploy,
    deployment,
    item,
    items,
    laid_out,
    put_item,
    record,
    register,
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
        self._counters = counters or ("integers",)
        self.all: dict[str, set[int]] = {counter: set() for counter in self._counters}

    def everywhere(self, *regions: str) -> int:
        """Mint in each region, of each counter. Return the smallest integer of the first one."""
        new: dict[str, list[int]] = {counter: [] for counter in self._counters}
        for counter in self._counters:
            for region in regions or REGIONS:
                new[counter] += self._ask("POST", f"/{counter}?count=5", region)["document"]["integers"]
            assert self.all[counter].isdisjoint(new[counter])
            self.all[counter] |= {*new[counter]}
        return min(new[self._counters[0]])


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


def delete(counter: str) -> dict[str, Any]:
    return send({"delete": [counter]})


def lose_home(stack: Stack) -> None:
    for table in (stack.layouts, stack.mirror):
        recreate(stack, HOME, table)


def lose_register(stack: Stack, counter: str) -> None:
    """Delete a counter's register and its copy by hand."""
    delete_register(stack, counter)
    stack.aws.client("dynamodb", HOME).delete_item(TableName=stack.mirror, Key={"counter": {"S": counter}})


@pytest.mark.parametrize("restored", [False, True])
def test_the_refusal_says_the_whole_answer(stack: Stack, ask: Ask, restored: bool) -> None:
    minted = Minted(ask, "integers", "orders")
    laid_out(counters=AS_DEPLOYED)
    create("orders")
    backups = {table: backup(stack, HOME, table) for table in (stack.layouts, stack.mirror)}
    minted.everywhere()
    if restored:
        for table, records in backups.items():
            restore(stack, HOME, table, records)
    else:
        lose_home(stack)

    if restored:
        with pytest.raises(
            CoordinatorError, match=r"^Neither the layouts table .* Deploy: the refusal says how to go on"
        ):
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


def test_an_answer_that_stays_in_the_settings_does_nothing_any_more(stack: Stack, ask: Ask) -> None:
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    answer = answer_in(refusal())
    deploy(recovery=answer)
    minted.everywhere()
    before = everything(stack, *REGIONS)

    deploy(recovery=answer)
    assert everything(stack, *REGIONS) == before, "an unchanged deployment"
    for settings in ({"recovery": answer}, {}, {"recovery": answer}):  # it may be removed, and set again
        deploy(EU, HOME, leaving=["ap-southeast-2"], **settings)
        minted.everywhere(EU, HOME)

    lose_home(stack)
    refused = refusal(recovery=answer)
    assert "what they still have. The loss in `recovery` is another one. Look into your own data" in refused
    second = answer_in(refused)
    assert second["loss"] != answer["loss"]
    deploy(recovery=second)
    minted.everywhere()


@pytest.mark.parametrize("lost", ["recreated", "restored", "deleted"])
def test_a_counters_table_that_is_new_needs_a_number(stack: Stack, ask: Ask, lost: str) -> None:
    """Its copy shows only what it had minted at that time."""
    minted = Minted(ask)
    laid_out(window=1000)
    records = backup(stack, EU, stack.counters)
    minted.everywhere()
    lose_home(stack)
    if lost == "restored":
        restore(stack, EU, stack.counters, records)
    else:
        recreate(stack, EU, stack.counters)
        if lost == "deleted":
            stack.aws.client("dynamodb", EU).delete_table(TableName=stack.counters)
    refused = refusal()
    loss = loss_in(refused)
    before = everything(stack, HOME)

    wrong = {
        r"recovery: .* is neither \{\} nor the answer to a loss": {"loss": loss},
        r"recovery: above: 1,000 is too low: regions may mint up to [23],...\. Set": {"loss": loss, "above": 1000},
        f"recovery: {{loss: {loss}, above": {"loss": "loss-0123456789abcdef-7", "above": 10**9},
    }
    for message, answer in wrong.items():
        assert re.search(message, refusal(recovery=answer))
    assert everything(stack, HOME) == before

    reply = deploy(recovery={"loss": loss, "above": 5_000})
    assert reply["pending"] == ([EU] if lost == "deleted" else [])
    assert minted.everywhere(*({*REGIONS} - {EU} if lost == "deleted" else REGIONS)) > 5_000
    new = create("new")["counters"]["new"]
    assert (new["base"], new["epoch"] > 1_700_000_000) == (5_001, True), "nothing shows that there was none"


@pytest.mark.parametrize("dropped", ["leaving", "left out"])
def test_the_same_deployment_may_drop_a_region(stack: Stack, ask: Ask, dropped: str) -> None:
    """What it may still mint is in its status."""
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    settings = {"leaving": ["ap-southeast-2"] if dropped == "leaving" else []}
    status = ask("GET", "/-/status", "ap-southeast-2")["document"]

    deploy(HOME, EU, recovery=answer_in(refusal(HOME, EU, **settings), status["ceiling"]), **settings)
    assert minted.everywhere(HOME, EU) > status["ceiling"]


def test_an_answer_to_what_is_not_lost_does_nothing(stack: Stack) -> None:
    laid_out()

    deploy(recovery={"loss": "loss-0123456789abcdef-7", "above": 7 * FIRST})
    recorded, current = record(stack), register(stack)
    assert current is not None
    assert (recorded.answered, current.epoch) == ("", 1)


def test_only_the_counter_whose_register_was_deleted_is_refused(stack: Stack, ask: Ask) -> None:
    """One that isn't in the settings is unknown, until somebody creates it."""
    minted = Minted(ask, "orders", "integers", "invoices")
    counters = ["integers", "orders"]
    laid_out(counters=counters)
    create("invoices")
    minted.everywhere()
    lose_register(stack, "orders")

    refused = refusal(EU, HOME, "ap-southeast-2", counters=counters)
    for run in (scheduled_run, lambda: send({"grant": "orders"}), lambda: create("orders"), lambda: delete("orders")):
        with pytest.raises(CoordinatorError, match=r"^orders: (its register and|the settings counters)"):
            run()
    minted.everywhere()
    assert (refused.startswith("orders: "), len(refused.splitlines())) == (True, 1)
    assert [
        found.epoch for counter in ("integers", "invoices") for found in items(stack, counter=counter) if found
    ] == [2] * 6

    lose_register(stack, "invoices")
    with pytest.raises(CoordinatorError, match=loss_in(refused)):
        scheduled_run()
    with pytest.raises(CoordinatorError, match=r"^invoices: its register and"):
        create("invoices")
    both = refusal(EU, HOME, "ap-southeast-2", counters=counters)
    losses = {line.partition(":")[0]: loss_in(line) for line in both.splitlines()}
    assert losses.keys() == {"orders", "invoices"}
    assert losses["orders"] == loss_in(refused) != losses["invoices"], "lost at another time"
    minted.everywhere()

    rest = refusal(EU, HOME, "ap-southeast-2", counters=counters, recovery={"loss": losses["orders"], "above": FIRST})
    assert loss_in(rest) == losses["invoices"]
    deploy(EU, HOME, "ap-southeast-2", counters=counters, recovery=answer_in(rest))
    minted.everywhere()
    assert [found.lost for name in ("orders", "invoices") if (found := register(stack, name))] == ["", ""]


def test_an_item_ahead_of_its_register_is_a_loss_too(stack: Stack, ask: Ask) -> None:
    """Register and copy were replaced by older ones."""
    minted = Minted(ask)
    laid_out(window=1000)
    backups = {table: backup(stack, HOME, table) for table in (stack.layouts, stack.mirror)}
    deploy(*REGIONS[::-1], window=1000)
    minted.everywhere()
    for table, records in backups.items():
        for each in records:
            stack.aws.client("dynamodb", HOME).put_item(TableName=table, Item=each)

    deploy(window=1000, recovery=answer_in(refusal(window=1000)))
    minted.everywhere()


def test_a_lost_register_that_is_put_back_is_lost_once_more(stack: Stack, ask: Ask) -> None:
    """More was minted since, so what answered it once is no answer."""
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_register(stack, "integers")
    first = answer_in(refusal())
    backups = {table: backup(stack, HOME, table) for table in (stack.layouts, stack.mirror)}
    deploy(recovery=first)
    minted.everywhere()
    for table, records in backups.items():
        (lost,) = [each for each in records if each["counter"]["S"] == "integers"]
        stack.aws.client("dynamodb", HOME).put_item(TableName=table, Item=lost)
    for region in REGIONS:
        recreate(stack, region, stack.counters)

    with pytest.raises(CoordinatorError) as refused:
        scheduled_run()
    second = answer_in(str(refused.value), 2 * FIRST)
    assert second["loss"] != first["loss"]
    deploy(recovery=second)
    minted.everywhere()


def test_every_region_must_answer_until_what_was_lost_is_found_again(stack: Stack, ask: Ask) -> None:
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    answered = deployment(recovery=answer_in(refusal()))
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            cut_off(patch, EU)
            with pytest.raises(CoordinatorError, match=f"{EU} must answer, with items that can be read"):
                send(answered)
        minted.everywhere()

    send(answered)
    minted.everywhere()


def test_a_region_that_never_answers_again_is_left_out(stack: Stack, ask: Ask) -> None:
    """The answer was admitted while it still did, so it covers what this region may mint."""
    minted = Minted(ask)
    laid_out()
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


@pytest.mark.parametrize("traces", ["items", "the register of another table"])
def test_a_deleted_counter_comes_back_as_a_deleted_one(stack: Stack, ask: Ask, traces: str) -> None:
    laid_out(counters=AS_DEPLOYED)
    create("orders")
    minted = Minted(ask, "orders")
    minted.everywhere()
    send({"delete": ["orders"]})
    scheduled_run()
    records = backup(stack, HOME, stack.layouts)
    lose_home(stack)
    if traces != "items":
        restore(stack, HOME, stack.layouts, records)
        for region in REGIONS:
            delete_item(stack, region, "orders")

    refused = refusal(counters=AS_DEPLOYED)
    answer = answer_in(refused, 2 * FIRST)
    reply = deploy(counters=AS_DEPLOYED, recovery=answer)
    assert (reply["registered"], [*reply["counters"]]) == (1, ["integers"])
    assert ask("POST", "/orders")["statusCode"] == 404
    assert [found and found.held for found in items(stack, counter="orders")] == [DELETED] * len(REGIONS)
    scheduled_run()
    create("orders")
    assert minted.everywhere() > 15


def test_an_item_without_a_register_is_a_loss_and_may_be_deleted_then(stack: Stack) -> None:
    """A region that goes on minting it would run out without anybody being told."""
    laid_out()
    left = item(stack, EU)
    assert left is not None
    put_item(stack, EU, left, "ghost")

    with pytest.raises(CoordinatorError, match=r"^ghost: .* lost, .* \(eu-west-1 has an item of epoch 1\)"):
        scheduled_run()
    assert item(stack, EU, "ghost") == left, "it mints on"
    delete("ghost")
    assert scheduled_run()["registered"] == 1
