"""Tables that are deleted, recreated empty, or restored from a backup: minting goes on, and nothing is repeated."""

import time

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.operations import RecordLayouts

from tests.lambda_.coordinate.interrupted_runs import Crash, crash_before
from tests.lambda_.coordinator_calls import (
    HOME,
    REGIONS,
    create,
    delete_copy,
    delete_register,
    deploy,
    home_now,
    item,
    items,
    laid_out,
    make_table,
    register,
    scheduled_run,
)
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import backup, delete, everything, recreate, restore

EU = "eu-west-1"


def mint(ask: Ask, *regions: str, counter: str = "integers", times: int = 3) -> list[int]:
    """Mint so many integers in each region."""
    return [ask("POST", f"/{counter}", region)["document"]["integer"] for region in regions for _ in range(times)]


def limit(stack: Stack, counter: str = "integers") -> int:
    found = register(stack, counter)
    assert found is not None
    return found.limit


def test_a_region_with_an_empty_table_goes_on(stack: Stack, ask: Ask) -> None:
    laid_out()
    before, highest = mint(ask, *REGIONS), limit(stack)
    recreate(stack, EU, stack.counters)

    reply = scheduled_run()["counters"]["integers"]

    assert (reply["epoch"], reply["base"], reply["pending"]) == (2, highest + 1, [])
    assert not {*mint(ask, *REGIONS)} & {*before}


def test_a_restored_table_begins_an_epoch_above_the_limit(stack: Stack, ask: Ask) -> None:
    laid_out()
    minted, highest = mint(ask, EU), limit(stack)
    saved = backup(stack, EU, stack.counters)
    minted += mint(ask, EU)
    restore(stack, EU, stack.counters, saved)

    reply = scheduled_run()["counters"]["integers"]

    assert (reply["epoch"], reply["base"]) == (2, highest + 1)
    again = mint(ask, EU)
    assert min(again) > highest > max(minted)


def test_a_table_restored_from_a_past_epoch_is_noticed_too(stack: Stack, ask: Ask) -> None:
    laid_out()
    minted = mint(ask, EU)
    saved = backup(stack, EU, stack.counters)
    deploy(*REGIONS[::-1])
    minted += mint(ask, EU)
    restore(stack, EU, stack.counters, saved)

    assert scheduled_run()["counters"]["integers"]["epoch"] == 3
    assert not {*mint(ask, EU)} & {*minted}


def test_a_missing_table_stops_no_change_and_comes_back(stack: Stack, ask: Ask) -> None:
    laid_out()
    before = mint(ask, *REGIONS)
    delete(stack, EU, stack.counters)

    reply = deploy(HOME, EU, "us-west-2")
    assert reply["pending"] == [EU]
    between = mint(ask, HOME, "us-west-2")

    make_table(stack.aws, EU, stack.counters)
    assert scheduled_run()["pending"] == []
    minted = before + between + mint(ask, HOME, EU, "us-west-2")
    assert len({*minted}) == len(minted)


def test_a_half_opened_epoch_is_no_dead_end(stack: Stack, ask: Ask) -> None:
    laid_out()
    minted = mint(ask, *REGIONS)
    with pytest.MonkeyPatch.context() as patch:
        crash_before(RecordLayouts, patch)
        with pytest.raises(Crash):
            deploy(HOME, EU, "us-west-2")
    for region in (EU, "us-west-2"):
        delete(stack, region, stack.counters)

    assert scheduled_run()["pending"] == [EU, "us-west-2"]
    minted += mint(ask, HOME)
    for region in (EU, "us-west-2"):
        make_table(stack.aws, region, stack.counters)
    assert deploy(HOME, EU, "us-west-2")["pending"] == []
    minted += mint(ask, HOME, EU, "us-west-2")
    assert len({*minted}) == len(minted)


def test_no_counter_begins_again_when_the_layouts_are_lost(stack: Stack, ask: Ask) -> None:
    first = home_now()
    laid_out(HOME, EU)
    create("invoices")
    before = {counter: mint(ask, HOME, EU, counter=counter) for counter in ("integers", "invoices")}
    recreate(stack, HOME, stack.layouts)

    reply = deploy("ap-southeast-2", "us-west-2", first=first)

    assert (reply["registered"], reply["counters"]["integers"]["epoch"]) == (2, 2)
    for counter, minted in before.items():
        assert min(mint(ask, "ap-southeast-2", "us-west-2", counter=counter)) > max(minted)
        assert [(i.fenced, i.epoch) for i in items(stack, HOME, EU, counter=counter) if i] == [(True, 1)] * 2


def test_the_schedule_puts_lost_layouts_back(stack: Stack, ask: Ask) -> None:
    laid_out()
    before = mint(ask, *REGIONS)
    recreate(stack, HOME, stack.layouts)

    assert scheduled_run()["counters"]["integers"]["pending"] == []
    assert not {*mint(ask, *REGIONS)} & {*before}
    found = everything(stack, *REGIONS)
    scheduled_run()
    assert everything(stack, *REGIONS) == found


def test_restored_layouts_know_a_counter_from_the_mirror(stack: Stack, ask: Ask) -> None:
    first = home_now()
    laid_out(HOME, EU)
    saved = backup(stack, HOME, stack.layouts)
    create("invoices")
    before = mint(ask, HOME, EU, counter="invoices")
    restore(stack, HOME, stack.layouts, saved)

    reply = deploy("ap-southeast-2", "us-west-2", first=first)

    assert reply["registered"] == 2
    after = mint(ask, "ap-southeast-2", "us-west-2", counter="invoices")
    assert min(after) > max(before)
    assert create("invoices")["counters"]["invoices"]["epoch"] == 2


def test_a_lost_mirror_is_written_again(stack: Stack, ask: Ask) -> None:
    laid_out()
    found = everything(stack, *REGIONS)
    recreate(stack, HOME, stack.mirror)

    assert scheduled_run()["counters"]["integers"]["epoch"] == 1
    assert {**everything(stack, *REGIONS), "mirror": []} == {**found, "mirror": []}
    assert len(everything(stack)["mirror"]) == 2
    recreate(stack, HOME, stack.layouts)
    assert scheduled_run()["registered"] == 1


@pytest.mark.parametrize("name", ["integers", "*"])
def test_a_register_lost_with_its_copy_needs_a_floor(stack: Stack, ask: Ask, name: str) -> None:
    laid_out()
    began = int(time.time())
    before = mint(ask, *REGIONS)
    delete_register(stack)
    delete_copy(stack)

    for run in (deploy, scheduled_run):
        with pytest.raises(CoordinatorError, match=r"integers: us-east-1, eu-west-1, .* already have an item") as said:
            run()
        assert "floors: {integers: <integer>}" in str(said.value)
    assert register(stack) is None

    reply = deploy(floors={name: 1_000_000})["counters"]["integers"]
    assert (reply["base"], reply["pending"]) == (1_000_000, [])
    assert reply["epoch"] > began, "nobody can have seen it before"
    assert not {*mint(ask, *REGIONS)} & {*before}


def test_a_floor_that_is_too_low_is_raised(stack: Stack, ask: Ask) -> None:
    laid_out()
    before = mint(ask, *REGIONS)
    delete_register(stack)
    delete_copy(stack)

    deploy(floors={"integers": 1})
    assert min(mint(ask, *REGIONS)) > max(before)


def test_layouts_and_mirror_lost_together_are_refused(stack: Stack, ask: Ask) -> None:
    first = home_now()
    laid_out()
    began = int(time.time())
    create("invoices")
    before = mint(ask, *REGIONS)
    recreate(stack, HOME, stack.layouts)
    recreate(stack, HOME, stack.mirror)

    for more in ({}, {"floors": {"integers": 10**6}}):
        with pytest.raises(CoordinatorError, match=r'both tables were lost.*floors: \{"\*": <integer>\}'):
            deploy(first=first, **more)
    assert everything(stack) == {"layouts": [], "mirror": []}

    reply = deploy(first=first, floors={"*": 1_000_000})
    assert reply["registered"] == 2
    for counter in ("integers", "invoices"):  # the second one only the regions knew
        found = register(stack, counter)
        assert found is not None
        assert found.base == 1_000_000
        assert found.epoch > began, "nobody can have seen it before"
    assert not {*mint(ask, *REGIONS)} & {*before}


def test_a_refusal_names_what_the_regions_have(stack: Stack, ask: Ask) -> None:
    laid_out()
    mint(ask, "eu-west-1")
    recreate(stack, HOME, stack.layouts)
    recreate(stack, HOME, stack.mirror)

    with pytest.raises(CoordinatorError, match=r"integers: .*eu-west-1 has minted up to \d"):
        deploy()


def test_layouts_and_mirror_restored_together_are_noticed(stack: Stack, ask: Ask) -> None:
    """Their ids tell that they were restored, whatever is in them."""
    first = home_now()
    laid_out()
    began = int(time.time())
    saved = everything(stack)
    deploy(*REGIONS[::-1])
    before = mint(ask, *REGIONS)
    restore(stack, HOME, stack.layouts, saved["layouts"])
    restore(stack, HOME, stack.mirror, saved["mirror"])

    with pytest.raises(CoordinatorError, match="both tables were lost") as said:
        deploy(*REGIONS[::-1], first=first)
    assert "/deployment: a record of another layouts table" in str(said.value)
    assert "integers: a register of epoch 1" in str(said.value)
    reply = deploy(*REGIONS[::-1], first=first, floors={"*": 10**6})["counters"]["integers"]
    assert (reply["base"], reply["pending"]) == (10**6, [])
    assert reply["epoch"] > began, "nobody can have seen it before"
    assert not {*mint(ask, *REGIONS)} & {*before}


def test_a_home_region_that_was_changed_is_refused(stack: Stack) -> None:
    with pytest.raises(CoordinatorError, match="If `aws:region` was changed, set it back"):
        deploy(first="eu-west-1 another label")
    assert everything(stack, *REGIONS) == {name: [] for name in ("layouts", "mirror", *REGIONS)}
    assert item(stack, HOME) is None

    assert deploy(first="eu-west-1 another label", floors={"*": 500})["counters"]["integers"]["base"] == 500
