"""The one write that mints, and the reads of the counters table."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from typing import Any

import pytest
from coordinate.dynamodb.encoding import item_values
from coordinate.protocol.model import Item
from mint.table import ATTEMPTS

from tests.lambda_.coordinator_calls import deploy, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack


def test_a_mint_is_one_call(ask: Ask, stack: Stack) -> None:
    deploy()
    calls: list[str] = []
    stack.monkeypatch.setattr(stack.aws, "answer", lambda _region, operation, _request: calls.append(operation))

    assert ask()["document"]["integer"] == 1
    assert calls == ["updateitem"]


def test_a_table_that_is_lost_or_unreachable_is_unavailable(ask: Ask, stack: Stack) -> None:
    stack.aws.client("dynamodb", HOME).delete_table(TableName=stack.counters)
    for endpoint in (stack.aws.endpoint, "http://127.0.0.1:1"):
        stack.monkeypatch.setenv("AWS_ENDPOINT_URL", endpoint)
        for response in (ask(), ask("GET", "/-/health")):
            assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "1")


@pytest.mark.parametrize(
    ("path", "stray"),
    [
        ("/", {"issued": None}),
        ("/", {"stride": None}),
        ("/?count=2", {"issued": {"S": "7"}}),
        ("/-/health", {"epoch": {"N": "1.5"}}),
        ("/integers/1", {"stride": None}),
    ],
)
def test_a_stray_item_is_unavailable_and_logged(
    ask: Ask, stack: Stack, path: str, stray: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    written = {**item_values(Item(issued=1, stride=3, ceiling=10, epoch=1)), "counter": {"S": "integers"}, **stray}
    stack.aws.client("dynamodb", HOME).put_item(
        TableName=stack.counters, Item={name: value for name, value in written.items() if value}
    )

    response = ask("GET", path)

    assert (response["statusCode"], "Retry-After" in response["headers"]) == (503, False)
    assert "item in this region can't be used" in response["document"]["detail"]
    (logged,) = caplog.records
    assert (logged.levelname, "'S': 'integers'" in logged.getMessage()) == ("ERROR", True)
    status = ask("GET", "/-/status")
    assert (status["statusCode"], status["document"]["ok"]) == (200, False)
    assert status["document"]["reason"] == response["document"]["detail"]


@pytest.mark.parametrize(("changes", "status"), [(ATTEMPTS - 1, 200), (ATTEMPTS, 503)])
def test_a_block_follows_layouts_in_so_many_writes(ask: Ask, stack: Stack, changes: int, status: int) -> None:
    writes: list[Item] = []

    def change(_region: str, operation: str, _request: Any) -> None:
        if operation == "updateitem":
            writes.append(Item(issued=1, stride=3, ceiling=100 + min(len(writes), changes - 1), epoch=1))
            put_item(stack, HOME, writes[-1])

    stack.monkeypatch.setattr(stack.aws, "answer", change)

    response = ask("POST", "/?count=2")
    assert (response["statusCode"], len(writes)) == (status, ATTEMPTS)
    assert response["headers"].get("Retry-After") == (None if status == 200 else "1")
    assert response["document"].get("integers") == ([4, 7] if status == 200 else None)


@pytest.mark.parametrize(
    ("path", "lost", "minted"),
    [("/", [True, True], [[7], [10], [13]]), ("/?count=2", [False, True], [[7, 10], [13, 16]])],  # a look comes first
)
def test_a_mint_whose_reply_is_lost_is_a_gap(
    ask: Ask, stack: Stack, path: str, lost: list[bool], minted: list[list[int]]
) -> None:
    deploy()
    stack.monkeypatch.setattr(stack.aws, "lost", lost)
    documents = [ask("POST", path, warm=True)["document"] for _ in minted]

    assert [document.get("integers") or [document["integer"]] for document in documents] == minted
