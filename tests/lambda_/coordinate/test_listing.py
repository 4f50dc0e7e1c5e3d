"""An operator lists all counters: what they have minted, how fast, and where they may go on."""

from typing import Any

import pytest
from coordinate.listing import PAGE

from tests.lambda_.coordinator_calls import REGIONS, create, delete_item, deploy, send
from tests.lambda_.fixtures import Ask, Stack


def listed(**event: Any) -> dict[str, Any]:
    return send({"counters": True, **event})


def test_all_counters_are_listed_with_their_last_integers(stack: Stack, ask: Ask) -> None:
    deploy()
    create("orders", "deleted")
    send({"delete": ["deleted"]})
    assert [ask("POST", "/orders", region)["document"]["integer"] for region in REGIONS] == [1, 2, 3]

    layout = {"epoch": 1, "base": 1, "limit": 300_000_000}
    counters = {"integers": {**layout, "position": None}, "orders": {**layout, "position": 3}}
    assert listed() == {"counters": counters, "unreachable": []}
    delete_item(stack, "eu-west-1", "orders")
    assert listed() == {"counters": counters, "unreachable": []}, "what the others have minted"
    stack.aws.client("dynamodb", "eu-west-1").delete_table(TableName=stack.counters)
    assert listed() == {"counters": counters, "unreachable": ["eu-west-1"]}


def test_a_rate_is_of_all_regions_between_two_looks(stack: Stack, ask: Ask, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    create("orders")
    clock = [1000.0]

    def wait(seconds: float) -> None:
        clock[0] += seconds
        for region in REGIONS:
            ask("POST", "/orders?count=100", region)

    monkeypatch.setattr("time.sleep", wait)
    monkeypatch.setattr("time.monotonic", lambda: clock[0])

    found = listed(rate=10)["counters"]
    assert {name: each["perSecond"] for name, each in found.items()} == {"integers": 0.0, "orders": 30.0}
    assert found["orders"]["position"] == 300


def test_a_rate_across_epochs_is_unknown(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()

    def change(_: float) -> None:
        deploy(*REGIONS[:2])

    monkeypatch.setattr("time.sleep", change)
    found = listed(rate=1)["counters"]["integers"]
    assert (found["epoch"], found["position"], found["perSecond"]) == (2, None, None)


def test_many_counters_come_in_pages(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    create("a", "b", "c")
    monkeypatch.setattr("coordinate.listing.PAGE", 2)

    first = listed()
    assert (list(first["counters"]), first["next"]) == (["a", "b"], "b")
    last = listed(after=first["next"])
    assert (list(last["counters"]), "next" in last) == (["c", "integers"], False)


def test_a_page_fits_an_answer_of_lambda() -> None:
    most = {"epoch": 10**9, "base": 2**53, "limit": 2**53, "position": 2**53, "perSecond": 10**6}
    assert PAGE * (63 + len(str(most)) + 6) < 6_000_000
