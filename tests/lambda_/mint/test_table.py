"""The one write that mints, and the reads of the counters table."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

from typing import Any

import pytest
from aws_client.service import DynamoDB
from coordinate.dynamodb.encoding import item_values
from coordinate.protocol.model import Item
from mint.model import CeilingReached
from mint.table import CounterTable

from tests.lambda_.aws_client.faults import GOES_ON, LOST, before
from tests.lambda_.coordinator_calls import delete_item, deploy, laid_out, make_table, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack


def test_a_mint_is_one_call(ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    calls: list[str] = []
    call = DynamoDB.call

    def counted(dynamodb: DynamoDB, operation: str, request: Any) -> Any:
        calls.append(operation)
        return call(dynamodb, operation, request)

    monkeypatch.setattr(DynamoDB, "call", counted)

    assert list(CounterTable(stack.counters).mint("integers").integers()) == [1]
    assert calls == ["UpdateItem"]


def test_a_lost_table_is_an_error_until_it_is_laid_out_again(ask: Ask, stack: Stack) -> None:
    laid_out()
    client = stack.aws.client("dynamodb", "us-east-1")
    client.delete_table(TableName=stack.counters)

    missing = ask()
    make_table(stack.aws, "us-east-1", stack.counters)
    empty = ask()

    assert (missing["statusCode"], missing["headers"]["Retry-After"]) == (503, "1")
    assert empty["statusCode"] == 404


def test_an_unreachable_table_is_unavailable(ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    response = ask()

    assert (response["statusCode"], response["headers"]["Retry-After"]) == (503, "1")


@pytest.mark.parametrize("stray", [{"issued": None}, {"issued": {"S": "7"}}, {"stride": None}, {"epoch": {"N": "1.5"}}])
@pytest.mark.parametrize("path", ["/", "/?count=2", "/-/health", "/integers/1"])
def test_a_stray_item_is_unavailable_and_logged(
    ask: Ask, stack: Stack, path: str, stray: dict[str, Any], caplog: pytest.LogCaptureFixture
) -> None:
    written = {**item_values(Item(issued=1, stride=3, ceiling=10, epoch=1)), "counter": {"S": "integers"}, **stray}
    stack.aws.client("dynamodb", HOME).put_item(
        TableName=stack.counters, Item={name: value for name, value in written.items() if value}
    )

    response = ask("GET" if "/-/" in path or "integers" in path else "POST", path)

    assert (response["statusCode"], "Retry-After" in response["headers"]) == (503, False)
    assert "item in this region can't be used" in response["document"]["detail"]
    assert [(record.levelname, "'S': 'integers'" in record.getMessage()) for record in caplog.records] == [
        ("ERROR", True)
    ]
    status = ask("GET", "/-/status")
    assert (status["statusCode"], status["document"]["ok"]) == (200, False)
    assert status["document"]["reason"] == response["document"]["detail"]


def test_a_block_never_passes_a_ceiling(ask: Ask, stack: Stack) -> None:
    put_item(stack, "us-east-1", Item(issued=1, stride=3, ceiling=10, epoch=1))

    assert ask("POST", "/?count=4")["statusCode"] == 503
    assert ask("POST", "/?count=3")["document"]["integers"] == [4, 7, 10]
    assert ask("POST", "/?count=2")["statusCode"] == 503


def test_a_warm_function_follows_a_new_layout(ask: Ask, stack: Stack) -> None:
    laid_out()
    table = CounterTable(stack.counters)
    assert list(table.mint("integers").integers()) == [1]
    assert list(table.mint_block("integers", 2).integers()) == [4, 7]

    deploy("us-east-1", "us-west-2")

    block = table.mint_block("integers", 2).integers()
    assert block[1] - block[0] == 2
    assert block[0] > 30_000


def test_a_block_above_a_fenced_ceiling_can_wait(stack: Stack) -> None:
    put_item(stack, "us-east-1", Item(issued=7, stride=3, ceiling=10, epoch=1, fenced=True))
    table = CounterTable(stack.counters)

    with pytest.raises(CeilingReached) as reached:
        table.mint_block("integers", 2)
    assert reached.value.item.fenced
    assert list(table.mint("integers").integers()) == [10]


def test_a_lost_mint_is_a_gap(ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    with before(stack.aws.endpoint, LOST, LOST) as server:
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)
        integers = [ask("POST", "/", warm=True)["document"]["integer"] for _ in range(3)]

    assert integers == [7, 10, 13]  # 1 and 4 were minted, and nobody heard of them


def test_a_lost_block_is_a_gap(ask: Ask, stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    laid_out()
    with before(stack.aws.endpoint, GOES_ON, LOST) as server:  # the first asks for stride and ceiling
        monkeypatch.setenv("AWS_ENDPOINT_URL", server.url)

        assert ask("POST", "/?count=2", warm=True)["document"]["integers"] == [7, 10]


def test_a_counter_exists_until_its_item_is_lost(stack: Stack) -> None:
    table = CounterTable(stack.counters)
    assert table.find("integers") is None

    deploy()
    assert table.find("integers") is not None
    assert table.find("orders") is None

    delete_item(stack, HOME)
    assert table.find("integers") is None
