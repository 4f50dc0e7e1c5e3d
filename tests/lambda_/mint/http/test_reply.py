"""JSON or plain text, and whether the function is well."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import mint.handler
import pytest

from tests.lambda_.laying_out import deploy, item


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
        ("text/html;q=0", False),
        ("text/plain, text/html", True),
        ("text/html, application/json", False),
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


BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


@pytest.mark.parametrize("path", ["/", "/integers", "/integers?count=5"])
def test_a_browser_gets_the_page_and_no_integer(ask: Any, stack: Any, path: str) -> None:
    deploy()

    answer = ask("GET", path, accept=BROWSER)

    assert (answer["statusCode"], answer["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert ask("POST", "/", accept=BROWSER)["document"]["integer"] == 1


def test_the_page_brings_the_layouts_along(ask: Any, stack: Any) -> None:
    deploy("us-east-1")
    base = deploy("us-east-1", "eu-west-1")["counters"]["integers"]["base"]

    body = ask("GET", "/", accept="text/html")["body"]
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', body)
    assert json.loads(data) == {
        "counter": "integers",
        "region": "us-east-1",
        "layouts": [
            {"epoch": 1, "base": 1, "regions": ["us-east-1"]},
            {"epoch": 2, "base": base, "regions": ["us-east-1", "eu-west-1"]},
        ],
        "exists": True,
        "open": False,
    }


@pytest.mark.parametrize("coordinator", ["", "arn:aws:lambda:us-east-1:000000000000:function:coordinate"])
def test_the_page_knows_whether_its_counter_exists_and_can_be_created(ask: Any, stack: Any, coordinator: str) -> None:
    deploy()
    if coordinator:
        stack.monkeypatch.setenv("COORDINATOR", coordinator)

    for path, exists in {"/": True, "/integers": True, "/nope": False}.items():
        (data,) = re.findall(r'id="data">(.*?)</script>', ask("GET", path, accept="text/html")["body"])
        assert (json.loads(data)["exists"], json.loads(data)["open"]) == (exists, bool(coordinator))


def test_the_pages_policy_allows_just_what_is_in_it(ask: Any, stack: Any) -> None:
    answer = ask("GET", "/nothing", accept="text/html")

    policy = dict(directive.split(" ", 1) for directive in answer["headers"]["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)
    for element in ("style", "script"):
        (part,) = re.findall(f"<{element}>(.*?)</{element}>", answer["body"], re.DOTALL)
        assert policy[f"{element}-src"] == f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'"
    assert not re.search(r"""(?:src|href)=["'](?!data:)""", answer["body"])


@pytest.mark.parametrize(("size", "status"), [(64 * 1024 // 3 * 4, 200), (90 * 1024, 413)])
def test_a_body_is_measured_as_it_was_sent(stack: Any, size: int, status: int) -> None:
    deploy()
    event = {
        "requestContext": {"http": {"method": "POST"}},
        "rawPath": "/",
        "body": "x" * size,
        "isBase64Encoded": True,
    }

    assert mint.handler.handler(event, None)["statusCode"] == status
