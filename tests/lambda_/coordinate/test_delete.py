"""A counter is deleted: callers see none at once, it causes no work any more, and one of its name begins above.

The transcript deletion.txt shows what is written, and losses in between.
"""

from typing import Any

import pytest
from coordinate.handler import CoordinatorError

from tests.lambda_.coordinate.interrupted_runs import recorded, short_of_time
from tests.lambda_.coordinator_calls import AS_DEPLOYED, DEPLOYMENTS, REGIONS, create, deploy, scheduled_run, send
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import everything


def delete(*counters: str) -> dict[str, Any]:
    return send({"delete": list(counters)})


def test_it_is_gone_causes_no_work_and_begins_above(stack: Stack, ask: Ask) -> None:
    deploy(counters=AS_DEPLOYED, window=100)
    create("orders")
    assert ask("POST", "/orders")["document"]["integer"] == 1
    assert delete("orders") == {"deleted": ["orders"]}
    scheduled_run()
    before = everything(stack, *REGIONS)

    for region in REGIONS:
        assert ask("POST", "/orders", region)["statusCode"] == 404
    assert ask("POST", "/orders?count=2")["statusCode"] == ask("GET", "/orders/1")["statusCode"] == 404
    assert ask("POST", "/")["document"]["integer"] == 1, "others go on"
    with pytest.raises(CoordinatorError, match=r"^orders: there is no such counter"):
        send({"grant": "orders"})
    stack.monkeypatch.setenv("OPEN_COUNTERS", "true")
    stack.monkeypatch.setenv("COORDINATOR", DEPLOYMENTS)
    assert [*send({"counters": True})["counters"]] == ask("GET", "/-/counters")["document"]["counters"] == ["integers"]
    with pytest.MonkeyPatch.context() as patch:
        operations = recorded(patch)
        assert scheduled_run()["registered"] == 1
    assert not [each for each in operations if getattr(each, "counter", "integers") == "orders"]
    assert delete("orders") == {"deleted": ["orders"]}, "it may be deleted twice"
    assert everything(stack)["layouts"] == before["layouts"]

    assert create("orders")["counters"]["orders"]["base"] == 301
    assert [ask("POST", "/orders", region)["document"]["integer"] for region in REGIONS] == [301, 302, 303]


def test_what_cannot_be_deleted_is_named(stack: Stack) -> None:
    deploy()
    create("orders", "invoices")

    with pytest.raises(CoordinatorError, match=r"^nope: there is no such counter\. Nothing was changed for it\.$"):
        delete("nope")
    with pytest.raises(CoordinatorError, match=r"^integers: the settings counters or .*\nDeleted: orders\.$"):
        delete("orders", "integers")
    with pytest.raises(CoordinatorError, match=r"1 of 2 counters are done; time ran out\. Send it again\."):
        send({"delete": ["orders", "invoices"]}, short_of_time(1))
