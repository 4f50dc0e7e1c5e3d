"""A counter is deleted: it is gone everywhere, and what is created again of its name begins above."""

from typing import Any

import pytest
from coordinate.handler import CoordinatorError
from coordinate.protocol.operations import DeleteCopy, DeleteItem, DeleteRegister, ReadDeleted, WriteDeleted

from tests.lambda_.coordinate.interrupted_runs import Crash, crash_before, short_of_time
from tests.lambda_.coordinator_calls import REGIONS, create, item, laid_out, register, scheduled_run, send
from tests.lambda_.fixtures import Ask, Stack
from tests.lambda_.table_losses import everything


def delete(*counters: str) -> dict[str, Any]:
    return send({"delete": list(counters)})


def is_left(stack: Stack, counter: str = "orders") -> list[str]:
    """Where something of a counter is left that a scan reads."""
    home = everything(stack)
    left = [table for table in ("layouts", "mirror") for found in home[table] if found["counter"]["S"] == counter]
    return left + [region for region in REGIONS if item(stack, region, counter) is not None]


def test_it_is_gone_and_begins_above(stack: Stack, ask: Ask) -> None:
    laid_out()
    create("orders")
    assert [ask("POST", "/orders", region)["document"]["integer"] for region in REGIONS] == [1, 2, 3]
    before = register(stack, "orders")
    assert before is not None

    assert delete("orders") == {"deleted": ["orders"]}

    assert is_left(stack) == []
    assert ask("POST", "/orders")["statusCode"] == 404
    assert "unknown" not in scheduled_run()
    assert create("orders")["counters"]["orders"]["base"] == before.limit + 1
    assert ask("POST", "/orders")["document"]["integer"] == before.limit + 1
    assert ask("POST", "/")["document"]["integer"] == 1, "others go on"


def test_a_deletion_is_repeated(stack: Stack) -> None:
    laid_out()
    create("orders")

    assert delete("orders") == delete("orders")


@pytest.mark.parametrize("kind", [WriteDeleted, DeleteItem, DeleteRegister, DeleteCopy])
def test_an_interrupted_deletion_goes_on(stack: Stack, monkeypatch: pytest.MonkeyPatch, kind: type[Any]) -> None:
    laid_out()
    create("orders")
    with monkeypatch.context() as patch:
        crash_before(kind, patch)
        with pytest.raises(Crash):
            delete("orders")

    scheduled_run()

    assert is_left(stack) == []
    assert create("orders")["counters"]["orders"]["base"] > 1


def test_the_settings_have_it(stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])
    before = everything(stack)

    with pytest.raises(CoordinatorError, match=r"^orders: the setting counters has it\. Remove it there and deploy"):
        delete("orders")
    assert everything(stack) == before


def test_there_is_no_such_counter(stack: Stack) -> None:
    laid_out()

    with pytest.raises(CoordinatorError, match=r"^nope: there is no such counter\.$"):
        delete("nope")


def test_nothing_is_deployed(stack: Stack) -> None:
    with pytest.raises(CoordinatorError, match="nothing is deployed yet"):
        delete("orders")


def test_time_runs_out(stack: Stack) -> None:
    laid_out()
    create("orders", "invoices")

    with pytest.raises(CoordinatorError, match=r"1 of 2 counters are deleted; time ran out\. Send it again\."):
        send({"delete": ["orders", "invoices"]}, short_of_time(1))


def test_what_was_in_a_region_that_did_not_answer_is_deleted_later(stack: Stack, ask: Ask) -> None:
    laid_out()
    create("orders")
    ask("POST", "/orders", "eu-west-1")
    found = stack.aws.client("dynamodb", "eu-west-1").get_item(
        TableName=stack.counters, Key={"counter": {"S": "orders"}}, ConsistentRead=True
    )
    before = found.get("Item", {})
    delete("orders")
    stack.aws.client("dynamodb", "eu-west-1").put_item(TableName=stack.counters, Item=before)  # as if it had been away
    assert ask("POST", "/orders", "eu-west-1")["document"]["integer"] == 5

    scheduled_run()

    assert is_left(stack) == []


def test_without_a_deletion_no_mark_is_read(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    crash_before(ReadDeleted, monkeypatch)

    assert create("orders")["created"] == ["orders"]
