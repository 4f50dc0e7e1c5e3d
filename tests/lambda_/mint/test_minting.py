"""What a caller of a region's URL gets."""

# pyright: reportUnknownLambdaType=false, reportUnknownArgumentType=false

import json
import logging
from dataclasses import replace
from typing import Any

import mint.handler
import pytest
from aws.dynamodb import DynamoDB
from coordinate.model import Item
from mint.table import CounterTable

from tests.lambda_.laying_out import delete_item, deploy, item, make_table, put_item


@pytest.mark.parametrize("method", ["GET", "POST"])
def test_a_request_mints_the_regions_next_integer(ask: Any, stack: Any, method: str) -> None:
    deploy(counters=["integers", "orders"])

    answers = [ask(method, "/", "eu-west-1"), ask(method, "/", "eu-west-1"), ask(method, "/orders", "eu-west-1")]

    assert [answer["statusCode"] for answer in answers] == [200, 200, 200]
    assert [answer["document"] for answer in answers] == [
        {"counter": "integers", "region": "eu-west-1", "integer": 2},
        {"counter": "integers", "region": "eu-west-1", "integer": 5},
        {"counter": "orders", "region": "eu-west-1", "integer": 2},
    ]
    assert answers[0]["headers"] == {
        "Content-Type": "application/json",
        "Cache-Control": "no-store",
        "Vary": "Accept",
    }


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS"])
def test_other_methods_mint_nothing_and_say_what_does(ask: Any, stack: Any, method: str) -> None:
    deploy()
    before = item(stack, "us-east-1")

    answer = ask(method)

    assert (answer["statusCode"], answer["headers"]["Allow"]) == (405, "GET, POST")
    assert item(stack, "us-east-1") == before


def test_an_unknown_counter_is_not_found_and_not_made(ask: Any, stack: Any) -> None:
    deploy()

    answer = ask("POST", "/nonesuch")

    assert answer["statusCode"] == 404
    assert answer["headers"]["Content-Type"] == "application/problem+json"
    assert answer["document"]["title"] == "Not Found"
    assert answer["document"]["status"] == 404
    assert "nonesuch" in answer["document"]["detail"]
    assert item(stack, "us-east-1", "nonesuch") is None


@pytest.mark.parametrize("path", ["/Orders", "/a/b", "/orders/", "/-x", "/..", "/" + "a" * 64, '/"', "/a b", "/é"])
def test_what_cant_be_a_counter_is_not_found_without_asking_the_table(
    ask: Any, path: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(CounterTable, "mint", lambda *_: pytest.fail("asked"))

    assert ask("GET", path)["statusCode"] == 404


def test_a_mint_is_one_call(ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    deploy()
    calls: list[str] = []
    call = DynamoDB.call

    def counted(dynamodb: DynamoDB, operation: str, request: Any) -> Any:
        calls.append(operation)
        return call(dynamodb, operation, request)

    monkeypatch.setattr(DynamoDB, "call", counted)

    assert CounterTable(stack.counters).mint("integers").integers() == [1]
    assert calls == ["UpdateItem"]


def test_a_lost_item_is_an_error_and_never_a_restart(ask: Any, stack: Any) -> None:
    deploy()
    ask()
    delete_item(stack, "us-east-1")

    assert ask()["statusCode"] == 404
    assert item(stack, "us-east-1") is None


def test_a_lost_table_is_an_error_that_passes_only_when_it_is_laid_out_again(ask: Any, stack: Any) -> None:
    deploy()
    client = stack.aws.client("dynamodb", "us-east-1")
    client.delete_table(TableName=stack.counters)

    missing = ask()
    make_table(stack.aws, "us-east-1", stack.counters)
    empty = ask()

    assert (missing["statusCode"], missing["headers"]["Retry-After"]) == (503, "1")
    assert empty["statusCode"] == 404


def test_a_used_up_counter_is_told_without_asking_to_come_again(ask: Any, stack: Any) -> None:
    put_item(stack, "us-east-1", Item(issued=7, stride=3, ceiling=10, epoch=1))

    assert ask()["document"]["integer"] == 10
    answer = ask()
    assert answer["statusCode"] == 503
    assert "Retry-After" not in answer["headers"]
    assert "used up" in answer["document"]["detail"]


def test_a_fenced_region_is_waited_for_and_then_told(ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mint.fence.MAX_WAIT", 0.3)
    put_item(stack, "us-east-1", Item(issued=10, stride=3, ceiling=10, epoch=1, fenced=True))

    answer = ask()

    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "1")


def test_a_region_that_opens_meanwhile_answers_as_if_nothing_was(
    ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    fenced = Item(issued=10, stride=3, ceiling=10, epoch=1, fenced=True)
    put_item(stack, "us-east-1", fenced)
    opened = replace(fenced, issued=97, ceiling=10**9, epoch=2, fenced=False)
    monkeypatch.setattr("mint.fence.time.sleep", lambda _: put_item(stack, "us-east-1", opened))

    assert ask()["document"]["integer"] == 100


def test_an_unreachable_table_is_unavailable(ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:1")

    answer = ask()

    assert (answer["statusCode"], answer["headers"]["Retry-After"]) == (503, "1")


def test_what_nobody_expected_is_logged_and_not_shown(
    ask: Any, stack: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> int:
        raise RuntimeError("the secret is 42")

    monkeypatch.setattr(CounterTable, "mint", broken)
    with caplog.at_level(logging.ERROR):
        answer = ask()

    assert answer["statusCode"] == 500
    assert "42" not in answer["body"]
    assert "request-1" in caplog.text
    assert "Traceback" in caplog.text
    assert "the secret is 42" in caplog.text


def test_an_event_that_is_none_is_a_problem_too() -> None:
    answer = mint.handler.handler({}, None)

    assert answer["statusCode"] == 500
    assert json.loads(answer["body"])["status"] == 500


def test_an_unexpected_error_has_no_body_either_where_head_asks() -> None:
    answer = mint.handler.handler({"requestContext": {"http": {"method": "HEAD"}}, "rawPath": "/-/health"}, None)

    assert (answer["statusCode"], answer["body"]) == (500, "")
