"""JSON or plain text, and whether the function is well."""

from typing import Any

import pytest
from laying_out import deploy, item


@pytest.mark.parametrize(
    ("accept", "text"),
    [
        ("*/*", False),
        ("", False),
        ("application/json", False),
        ("text/plain", True),
        ("text/*", True),
        ("text/plain, application/json", False),
        ("application/json;q=0.5, text/plain", True),
        ("text/plain;q=0.5, */*;q=0.1", True),
        ("text/plain;q=0, */*", False),
        ("text/html", False),
        ("TEXT/PLAIN", True),
        ("text/plain;q=x", True),
        (",;,q=;;", False),
    ],
)
def test_the_client_chooses_the_format(ask: Any, stack: Any, accept: str, text: bool) -> None:
    deploy()

    answer = ask("GET", "/", accept=accept)

    assert answer["headers"]["Content-Type"] == ("text/plain; charset=utf-8" if text else "application/json")
    assert answer["headers"]["Vary"] == "Accept"
    assert answer["body"] == ("1\n" if text else '{"counter": "integers", "region": "us-east-1", "integer": 1}')


def test_a_block_in_text_is_an_integer_a_line(ask: Any, stack: Any) -> None:
    deploy()

    assert ask("GET", "/?count=3", accept="text/plain")["body"] == "1\n4\n7\n"


def test_errors_are_problem_documents_whatever_is_accepted(ask: Any, stack: Any) -> None:
    deploy()

    assert ask("GET", "/none", accept="text/plain")["headers"]["Content-Type"] == "application/problem+json"


def test_health_says_whether_the_table_answers_and_mints_nothing(ask: Any, stack: Any) -> None:
    deploy()
    before = item(stack, "us-east-1")

    assert ask("GET", "/-/health")["document"] == {"status": "ok", "region": "us-east-1"}
    assert ask("POST", "/-/health")["statusCode"] == 405
    assert item(stack, "us-east-1") == before

    stack.aws.client("dynamodb", "us-east-1").delete_table(TableName=stack.counters)
    assert ask("GET", "/-/health")["statusCode"] == 503


def test_long_paths_and_bodies_are_refused(ask: Any, stack: Any) -> None:
    import mint.handler

    deploy()
    before = item(stack, "us-east-1")
    request = {"requestContext": {"http": {"method": "POST"}}, "rawPath": "/", "body": "x" * 70_000}

    assert ask("GET", "/" + "a" * 5000)["statusCode"] == 414
    assert mint.handler.handler(request, None)["statusCode"] == 413
    assert item(stack, "us-east-1") == before
