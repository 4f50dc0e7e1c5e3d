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
def test_where_every_table_is_the_same_the_id_is_the_whole_answer(stack: Stack, ask: Ask, restored: bool) -> None:
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
    assert "Every region shows what it has minted." in refused
    assert "\n  integers: in the layouts table, the mirror, us-east-1, eu-west-1, ap-southeast-2" in refused
    assert refusal(counters=AS_DEPLOYED) == refused, "no floor answers a loss"
    minted.everywhere()

    answer = {"loss": loss_in(refused)}
    assert deploy(counters=AS_DEPLOYED, recovery=answer)["pending"] == []
    assert 15 < minted.everywhere() < 100_000, "above the fences, and not above all that could have been minted"
    scheduled_run()
    assert record(stack).answered == "", "all is reconciled: the answer is used up"
    assert create("new")["counters"]["new"]["base"] == 1


def test_an_answer_that_stays_in_the_settings_does_nothing_any_more(stack: Stack, ask: Ask) -> None:
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    answer = {"loss": loss_in(refusal())}
    deploy(recovery=answer)
    minted.everywhere()
    before = everything(stack, *REGIONS)

    deploy(recovery=answer)
    assert everything(stack, *REGIONS) == before, "an unchanged deployment"
    for settings in ({"recovery": answer}, {}, {"recovery": answer}):  # it may be removed, and set again
        deploy(EU, HOME, leaving=["ap-southeast-2"], **settings)
        minted.everywhere(EU, HOME)

    lose_home(stack)
    second = loss_in(refusal(recovery=answer))
    assert second != answer["loss"]
    deploy(recovery={"loss": second})
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
    assert f"Nothing shows what was minted in {EU}: look into your own data" in refused
    before = everything(stack, HOME)

    wrong = {
        f"recovery: integers needs a number. .*{EU}.* above: <that integer>": {"loss": loss},
        r"recovery: above: 1,000 is too low: integers may mint up to [23],...\. Set": {"loss": loss, "above": 1000},
        f"recovery: {{loss: {loss}, above": {"loss": "loss-0123456789abcdef", "above": 10**9},
    }
    for message, answer in wrong.items():
        assert re.search(message, refusal(recovery=answer))
    assert everything(stack, HOME) == before

    reply = deploy(recovery={"loss": loss, "above": 5_000})
    assert reply["pending"] == ([EU] if lost == "deleted" else [])
    assert minted.everywhere(*({*REGIONS} - {EU} if lost == "deleted" else REGIONS)) > 5_000
    new = create("new")["counters"]["new"]
    assert (new["base"], new["epoch"] > 1_700_000_000) == (5_001, True), "nothing shows that there was none"


@pytest.mark.parametrize(("dropped", "needed"), [("leaving", False), ("left out", True)])
def test_a_region_that_the_same_deployment_drops_shows_nothing(
    stack: Stack, ask: Ask, dropped: str, needed: bool
) -> None:
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    settings = {"leaving": ["ap-southeast-2"] if dropped == "leaving" else []}

    refused = refusal(HOME, EU, **settings)
    assert ("Nothing shows what was minted in a region that may not be in the settings any more" in refused) is needed
    answer = {"loss": loss_in(refused), **({"above": 2 * FIRST} if needed else {})}
    deploy(HOME, EU, recovery=answer, **settings)
    assert (minted.everywhere(HOME, EU) > 2 * FIRST) is needed


def test_an_answer_to_what_is_not_lost_does_nothing(stack: Stack) -> None:
    laid_out()

    deploy(recovery={"loss": "loss-0123456789abcdef", "above": 7 * FIRST})
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
    both = refusal(EU, HOME, "ap-southeast-2", counters=counters, headroom=5)
    losses = {line.partition(":")[0]: loss_in(line) for line in both.splitlines()}
    assert losses.keys() == {"orders", "invoices"}
    assert losses["orders"] == loss_in(refused) != losses["invoices"], "lost at another time"
    minted.everywhere()

    rest = refusal(EU, HOME, "ap-southeast-2", counters=counters, recovery={"loss": losses["orders"]})
    assert loss_in(rest) == losses["invoices"]
    deploy(EU, HOME, "ap-southeast-2", counters=counters, recovery={"loss": losses["invoices"]})
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

    loss = loss_in(refusal(window=1000))
    deploy(window=1000, recovery={"loss": loss})
    minted.everywhere()


def test_a_lost_register_that_is_put_back_is_lost_once_more(stack: Stack, ask: Ask) -> None:
    """More was minted since, so what answered it once is no answer."""
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_register(stack, "integers")
    first = {"loss": loss_in(refusal(headroom=5))}
    backups = {table: backup(stack, HOME, table) for table in (stack.layouts, stack.mirror)}
    deploy(headroom=5, recovery=first)
    minted.everywhere()
    for table, records in backups.items():
        (lost,) = [each for each in records if each["counter"]["S"] == "integers"]
        stack.aws.client("dynamodb", HOME).put_item(TableName=table, Item=lost)
    for region in REGIONS:
        recreate(stack, region, stack.counters)

    with pytest.raises(CoordinatorError) as refused:
        scheduled_run()
    second = {"loss": loss_in(str(refused.value)), "above": 2 * FIRST}
    assert second["loss"] != first["loss"]
    deploy(headroom=5, recovery=second)
    minted.everywhere()


def test_every_region_must_answer_until_what_was_lost_is_found_again(stack: Stack, ask: Ask) -> None:
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    loss = loss_in(refusal())
    answered = deployment(recovery={"loss": loss})
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    for _ in range(2):
        with pytest.MonkeyPatch.context() as patch:
            cut_off(patch, EU)
            with pytest.raises(CoordinatorError, match=f"{EU} must answer, with items that can be read"):
                send(answered)
        minted.everywhere()

    send(answered)
    minted.everywhere()


def test_a_region_that_never_answers_again_is_left_out_by_a_number(stack: Stack, ask: Ask) -> None:
    """The answer without one was admitted while it still did."""
    minted = Minted(ask)
    laid_out()
    minted.everywhere()
    lose_home(stack)
    recovery = {"loss": loss_in(refusal())}
    with pytest.raises(CoordinatorError, match="time ran out"):
        send(deployment(recovery=recovery), short_of_time(0))
    stack.monkeypatch.setattr("coordinate.dynamodb.calls.REGION_SECONDS", 0)
    cut_off(stack.monkeypatch, "ap-southeast-2")
    for regions in (REGIONS, (HOME, EU)):
        assert "ap-southeast-2 must answer" in refusal(*regions, recovery=recovery)

    deploy(HOME, EU, recovery={**recovery, "above": FIRST})
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
    answer = {"loss": loss_in(refused), **({} if traces == "items" else {"above": 2 * FIRST})}
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
