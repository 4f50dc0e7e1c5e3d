"""A browser gets an integer's owner, and errors, as pages; other clients get documents."""

import json
import re
from html import unescape
from http import HTTPStatus
from typing import Any

import pytest
from mint.api.pages import owner_page, problem_page
from mint.api.request import Problem

from tests.lambda_.coordinator_calls import deploy, item, laid_out
from tests.lambda_.fixtures import HOME, Ask, Stack

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
EVIL = "<b title='\"'>%CONTENT%"


def said(body: str) -> str:
    """Return what a reader sees of a page, as one line."""
    lines = re.sub("</?(b|bdi|a|code)( [^>]*)?>", "", body.partition("</head>")[2])
    return " ".join(unescape(re.sub("<[^>]*>", " ", lines)).split())


def links(body: str) -> list[str]:
    return re.findall('<a href="([^"]+)"', body)


def test_a_browser_gets_the_owner_as_a_page(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask("POST", "/")
    before = item(stack, HOME)

    for n, minted in ((1, "yes"), (4, "no"), (2, "not known here; ask eu-west-1")):
        response = ask("GET", f"/integers/{n}", accept=BROWSER)
        assert (response["statusCode"], response["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert f"{n} of the counter integers belongs to {'eu-west-1' if n == 2 else HOME}." in said(response["body"])
        assert f"has it been taken from the counter? {minted} offset" in said(response["body"])
        assert links(response["body"]) == ["../integers", "../-/status?counter=integers"]
        assert ask("HEAD", f"/integers/{n}", accept=BROWSER) == {**response, "body": ""}
    assert item(stack, HOME) == before


def test_the_page_says_that_no_region_knows_what_one_that_left_has_minted(ask: Ask, stack: Stack) -> None:
    laid_out()
    deploy(HOME, "us-west-2")

    assert "not known in any region" in said(ask("GET", "/integers/2", accept=BROWSER)["body"])


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0.5, application/json", "text/plain"])
def test_who_asks_for_no_page_gets_documents(ask: Ask, stack: Stack, accept: str) -> None:
    laid_out()

    owner, wrong = (ask("GET", path, accept=accept) for path in ("/integers/1", "/integers/0"))
    assert owner["headers"]["Content-Type"] == "application/json"
    assert owner["body"] == (
        '{"integer": 1, "counter": "integers", "offset": 1, "stride": 3, "region": "us-east-1", "epoch": 1, '
        '"minted": false}'
    )
    assert wrong["headers"] == {"Content-Type": "application/problem+json", "Cache-Control": "no-store"}
    assert wrong["document"]["detail"].startswith("'0' is not an integer")


@pytest.mark.parametrize(
    ("path", "status", "root"),
    [
        ("/integers/0", 404, "../"),
        ("/nothing/7", 404, "../"),
        ("/integers/9007199254740991", 503, "../"),
        ("/-/status?counter=Orders", 400, "../"),
        ("/-/counters", 403, "../"),
        ("/orders/", 404, "../"),
        ("/a/b/c", 404, "../../"),
        ("/Orders", 404, "./"),
    ],
)
def test_an_error_is_a_page_with_the_same_status(ask: Ask, stack: Stack, path: str, status: int, root: str) -> None:
    laid_out()
    document, page = ask("GET", path), ask("GET", path, accept=BROWSER)

    assert (document["statusCode"], page["statusCode"]) == (status, status)
    assert page["headers"]["Content-Type"] == "text/html; charset=utf-8"
    assert page["headers"].get("Retry-After") == document["headers"].get("Retry-After")
    assert f"{status} {HTTPStatus(status).phrase}: {document['document']['detail']}" in said(page["body"])
    assert f"response from {HOME}" in said(page["body"])
    assert links(page["body"]) == [root, f"{root}-/status"]


def test_an_error_of_a_post_is_a_document_also_for_a_browser(ask: Ask, stack: Stack) -> None:
    response = ask("POST", "/Orders", accept=BROWSER)

    assert (response["statusCode"], json.loads(response["body"])["status"]) == (404, 404)


def test_a_browser_is_told_the_regions_to_go_to(ask: Ask, stack: Stack) -> None:
    stack.monkeypatch.setenv("LEAVING", "us-west-2,eu-west-1")

    response = ask("GET", "/nothing/8", accept=BROWSER)
    assert response["statusCode"] == 410
    assert "The other regions: us-west-2, eu-west-1" in said(response["body"])


def test_an_unexpected_error_is_a_page_too(ask: Ask, stack: Stack) -> None:
    stack.monkeypatch.delenv("DEFAULT_COUNTER")

    response = ask("GET", "/integers/7", accept=BROWSER)
    assert response["statusCode"] == 500
    assert "the log has request request-1" in said(response["body"])


def test_nothing_in_a_document_becomes_markup() -> None:
    owner: dict[str, Any] = {"integer": 7, "offset": 1, "stride": 3, "epoch": 1, "minted": None}
    problem = Problem(HTTPStatus.GONE, EVIL, members={"regions": [EVIL]})

    for page in (
        owner_page(owner | {"counter": EVIL, "region": EVIL, "ask": EVIL}, EVIL),
        problem_page(problem, EVIL, "./"),
    ):
        assert "<b title" not in page["body"]
        assert said(page["body"]).count(EVIL) >= 3


def test_over_https_the_browser_is_told_to_keep_to_it(ask: Ask, stack: Stack) -> None:
    laid_out()

    for path in ("/integers/1", "/integers/0"):
        assert "Strict-Transport-Security" in ask("GET", path, accept=BROWSER)["headers"]
        assert "Strict-Transport-Security" not in ask("GET", path)["headers"]
