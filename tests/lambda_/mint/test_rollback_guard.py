"""A warm function notices a table that was restored to an earlier state, and hands nothing out."""

import logging
from dataclasses import replace

import pytest
from coordinate.protocol.model import Item
from mint.model import WentBackwards
from mint.table import MAX_COUNTERS, UNSEEN, HighestSeen, RollbackGuard

from tests.lambda_.coordinator_calls import item, laid_out, put_item, register, scheduled_run, send
from tests.lambda_.fixtures import COORDINATOR, HOME, Ask, Sent, Stack, forget

ITEM = Item(issued=1, stride=3, ceiling=30_001, epoch=2)


def mints(ask: Ask, count: int, path: str = "/") -> list[int]:
    return [ask("POST", path, warm=True)["document"]["integer"] for _ in range(count)]


@pytest.mark.parametrize("restored", [ITEM, replace(ITEM, issued=7), replace(ITEM, epoch=1, issued=40_000)])
def test_nothing_is_handed_out_until_a_newer_epoch_begins(
    ask: Ask, stack: Stack, caplog: pytest.LogCaptureFixture, restored: Item
) -> None:
    put_item(stack, HOME, ITEM)
    assert mints(ask, 3) == [4, 7, 10]
    put_item(stack, HOME, restored)

    with caplog.at_level(logging.WARNING):
        for path in ("/", "/?count=2", "/?count=1", "/"):
            response = ask("POST", path, warm=True)
            assert (response["statusCode"], "Retry-After" in response["headers"]) == (503, True)
            assert "restored" in response["document"]["detail"]
        for path in ("/-/health", "/integers/4"):
            response = ask("GET", path, warm=True)
            assert (response["statusCode"], "restored" in response["document"]["detail"]) == (503, True), path

    (record,) = [record for record in caplog.records if "backwards" in record.message]
    assert record.levelname == "ERROR"
    assert "integers had issued 10 in epoch 2" in record.message
    assert f"in epoch {restored.epoch}" in record.message
    found, status = item(stack, HOME), ask("GET", "/-/status", warm=True)["document"]
    assert found is not None
    assert (status["ok"], status["position"], "restored" in status["reason"]) == (False, found.issued, True)
    assert found.issued <= restored.issued + 3, "a refused counter wastes no more than the first write"
    put_item(stack, HOME, Item(issued=60_001, stride=3, ceiling=90_001, epoch=3))
    assert mints(ask, 2) == [60_004, 60_007]
    assert ask("GET", "/-/health", warm=True)["statusCode"] == 200


@pytest.mark.parametrize(
    "states",
    [
        (ITEM, replace(ITEM, issued=100)),  # what lies above may have been minted by another instance of the function
        (replace(ITEM, ceiling=1, fenced=True), ITEM),
    ],
)
def test_what_was_restored_stays_refused(ask: Ask, stack: Stack, states: tuple[Item, ...]) -> None:
    for counter in ("integers", "orders"):
        put_item(stack, HOME, ITEM, counter)
        mints(ask, 3, f"/{counter}")
    for found in states:
        put_item(stack, HOME, found)
        assert "restored" in ask("POST", warm=True)["document"]["detail"]

    assert mints(ask, 1, "/orders") == [13], "other counters are minted until they are found out"


def test_no_leased_integer_is_handed_out_after_a_restoration(ask: Ask, stack: Stack) -> None:
    stack.monkeypatch.setenv("LEASE", "100")
    forget()
    for counter in ("integers", "orders"):
        put_item(stack, HOME, ITEM, counter)
        assert mints(ask, 5, f"/{counter}") == [4, 7, 10, 13, 16]
        assert item(stack, HOME, counter) == replace(ITEM, issued=22), "19 and 22 are leased"
    put_item(stack, HOME, ITEM)

    assert ask("POST", "/?count=2", warm=True)["statusCode"] == 503
    assert ask("POST", warm=True)["statusCode"] == 503
    assert mints(ask, 1, "/orders") == [25], "another counter's lease is of the same table"
    put_item(stack, HOME, Item(issued=60_001, stride=3, ceiling=90_001, epoch=3))
    assert ask("GET", "/-/health", warm=True)["statusCode"] == 200
    assert mints(ask, 1) == [60_004], "not one of the old lease"


@pytest.mark.parametrize(
    "lower",
    [replace(ITEM, ceiling=1, fenced=True, held="another run"), replace(ITEM, ceiling=1, fenced=True)],
    ids=["held again", "fenced"],
)
def test_what_was_held_may_be_put_lower(ask: Ask, stack: Stack, lower: Item) -> None:
    """Nothing was minted from an item that is held, so a lower one in its place repeats nothing."""
    stack.monkeypatch.setattr("mint.minting.MAX_WAIT", 0)
    put_item(stack, HOME, Item(issued=60_001, stride=3, ceiling=60_001, epoch=2, fenced=True, held="a run"))
    assert ask("POST", warm=True)["statusCode"] == 503
    put_item(stack, HOME, lower)
    for path in ("/", "/?count=2"):
        response = ask("POST", path, warm=True)
        assert (response["statusCode"], "restored" in response["document"]["detail"]) == (503, False)
    put_item(stack, HOME, replace(ITEM, epoch=lower.epoch + (not lower.held)))

    assert mints(ask, 2) == [4, 7]


@pytest.mark.parametrize("lease", ["1", "100"])
def test_the_region_reports_it_once_and_mints_again(ask: Ask, stack: Stack, sent: Sent, lease: str) -> None:
    """Nothing else begins an epoch: the table has the same id, and its item is one of this epoch."""
    stack.monkeypatch.setenv("LEASE", lease)
    laid_out(window=1000)
    first = item(stack, HOME)
    assert first is not None
    mints(ask, 3)
    put_item(stack, HOME, first)

    responses = [ask("POST", path, warm=True) for path in ("/", "/?count=2", "/")]
    assert {(each["statusCode"], each["headers"].get("Retry-After")) for each in responses} == {(503, "5")}
    assert sent == [(COORDINATOR, {"grant": "integers", "count": 1, "wentBack": 1})]
    scheduled_run()
    assert ask("POST", warm=True)["statusCode"] == 503
    send(sent[0][1], invoked=COORDINATOR)
    assert mints(ask, 2) == [3001, 3004], "above the limit: the coordinator believes no number"

    before = register(stack)
    for late in (1, 3, 2**53):
        send({"grant": "integers", "wentBack": late}, invoked=COORDINATOR)
    assert register(stack) == before


def test_what_a_read_shows_is_reported_by_the_next_mint(ask: Ask, stack: Stack, sent: Sent) -> None:
    put_item(stack, HOME, ITEM)
    mints(ask, 2)
    put_item(stack, HOME, ITEM)

    assert ask("GET", "/-/health", warm=True)["statusCode"] == 503
    assert sent == []
    assert ask("POST", warm=True)["statusCode"] == 503
    assert sent == [(COORDINATOR, {"grant": "integers", "count": 1, "wentBack": ITEM.epoch})]


def test_an_answer_is_compared_with_what_was_seen_before() -> None:
    seen = RollbackGuard()

    def add(last: HighestSeen, before: int) -> None:
        seen.add("integers", last, HighestSeen(1, before), HighestSeen(1, before + 3))

    add(UNSEEN, 4)
    at_its_call = seen.last("integers")
    add(at_its_call, 10)  # overtook the other one
    add(at_its_call, 7)
    assert seen.last("integers") == HighestSeen(1, 13)
    with pytest.raises(WentBackwards):
        add(seen.last("integers"), 10)
    for before in (1, 7):  # of calls that were under way
        with pytest.raises(WentBackwards):
            add(at_its_call, before)
    assert (seen.refused("integers"), seen.findings) == (True, 1)


def test_a_function_remembers_all_that_are_refused() -> None:
    seen = RollbackGuard()
    with pytest.raises(WentBackwards):
        seen.add("lost", HighestSeen(1, 7), HighestSeen(1, 1), HighestSeen(1, 1))
    for n in range(MAX_COUNTERS + 50):
        seen.add(f"c{n}", UNSEEN, HighestSeen(1, 1), HighestSeen(1, 4))

    assert sum(seen.last(f"c{n}") != UNSEEN for n in range(MAX_COUNTERS + 50)) == MAX_COUNTERS - 1
    assert seen.refused("lost")
