"""The coordinator's first layout, counters that are created later, floors, and what is refused."""

from contextlib import suppress
from threading import Thread
from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.model import Item

from tests.lambda_.coordinate.interrupted_runs import short_of_time
from tests.lambda_.coordinator_calls import (
    HOME,
    REGIONS,
    create,
    deploy,
    deployment,
    items,
    put_item,
    record,
    register,
    send,
)
from tests.lambda_.fixtures import Ask, Stack


def integer(ask: Ask, region: str, path: str = "/") -> int:
    return ask("POST", path, region)["document"]["integer"]


def test_every_region_opens_at_its_offset_below_the_limit(stack: Stack) -> None:
    reply = deploy()

    limit = 3 * 100_000_000
    assert items(stack) == [Item(-2, 3, limit - 2, 1), Item(-1, 3, limit - 1, 1), Item(0, 3, limit, 1)]
    places = {region: {"offset": n, "stride": 3} for n, region in enumerate(REGIONS, 1)}
    assert reply == {
        "counters": {"integers": {"epoch": 1, "base": 1, "limit": limit, "regions": places, "pending": []}},
        "created": ["integers"],
        "pending": [],
        "registered": 1,
    }


def test_counters_come_later_and_one_taken_out_goes_on(stack: Stack, ask: Ask) -> None:
    deploy()
    reply = deploy(counters=["orders"])

    assert set(reply["counters"]) == {"orders"}
    assert reply["registered"] == 2
    assert integer(ask, HOME, "/orders") == 1
    assert integer(ask, HOME, "/integers") == 1


def test_a_counter_can_be_created_by_hand_and_follows(stack: Stack, ask: Ask) -> None:
    deploy()

    assert create("invoices", "bills")["created"] == ["invoices", "bills"]
    assert integer(ask, "ap-southeast-2", "/invoices") == 3
    assert create("invoices")["created"] == []
    assert deploy(HOME, "us-west-2")["registered"] == 3
    assert integer(ask, "us-west-2", "/bills") % 2 == 0
    with pytest.raises(CoordinatorError, match=r"^2 of 3 counters are done; time ran out. Send it again.$"):
        send({"create": ["a", "b", "c"]}, short_of_time(2))


def test_several_refusals_are_told_at_once(stack: Stack) -> None:
    deploy(HOME, counters=["a", "b", "c"])
    for counter in ("a", "b"):
        put_item(stack, HOME, Item(50, 1, 90, 7), counter)

    with pytest.raises(CoordinatorError) as said:
        deploy("us-west-2", HOME, counters=["a", "b", "c"])
    assert [line.partition(":")[0] for line in str(said.value).splitlines()] == ["a", "b"]
    assert not record(stack).reconciled
    reconciled = register(stack, "c")
    assert reconciled is not None
    assert reconciled.regions == ("us-west-2", HOME)


def test_runs_of_one_deployment_at_the_same_time_report_the_same(stack: Stack) -> None:
    deploy()
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
