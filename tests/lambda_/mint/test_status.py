"""How a counter stands, as operators see it."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from coordinate.model import Item
from mint.http.status_page import status_page

from tests.lambda_.fixtures import HOME, Ask, Stack
from tests.lambda_.laying_out import deploy, item, laid_out, put_item
from tests.lambda_.losing import backup, restore

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]


def test_it_says_where_the_counter_stands_and_mints_nothing(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask("POST", "/")
    ask("POST", "/")
    before = item(stack, HOME)

    assert ask("GET", "/-/status")["document"] == {
        "region": HOME,
        "counter": "integers",
        "ok": True,
        "epoch": 1,
        "position": 4,
        "ceiling": 299_999_998,
        "stride": 3,
        "fenced": False,
        "pending": False,
        "regions": THREE,
        "version": None,
    }
    assert item(stack, HOME) == before


def test_another_counter_is_named_in_the_query(ask: Ask, stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])

    document = ask("GET", "/-/status?counter=orders")["document"]

    assert (document["counter"], document["position"], document["ok"]) == ("orders", -2, True)
    assert ask("GET", "/-/status?counter=Orders")["statusCode"] == 400
    assert ask("POST", "/-/status")["statusCode"] == 405


def test_the_version_is_that_of_the_archive(
    ask: Ask, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    (tmp_path / "version.txt").write_text("2.0.0+0123456789ab\n")
    monkeypatch.setattr("mint.status.VERSION", tmp_path / "version.txt")

    assert ask("GET", "/-/status")["document"]["version"] == "2.0.0+0123456789ab"
    assert cells(ask("GET", "/-/status", accept=BROWSER)["body"])["version"] == "2.0.0+0123456789ab"


def test_a_browser_gets_a_page_that_says_the_same(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask("POST", "/")

    response = ask("GET", "/-/status", accept=BROWSER)
    document = ask("GET", "/-/status")

    assert (response["statusCode"], response["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert cells(response["body"]) == {
        "position": "1",
        "ceiling": "299999998",
        "stride": "3",
        "epoch": "1",
        "fenced": "no",
        "pending": "no",
        "regions": "us-east-1 (here)eu-west-1ap-southeast-2",
        "version": "–",
    }
    assert set(cells(response["body"])) == set(document["document"]) - {"region", "counter", "ok"}
    assert "The counter integers can be minted here." in text(response["body"])
    assert response["headers"]["Vary"] == document["headers"]["Vary"] == "Accept"
    assert ask("HEAD", "/-/status", accept=BROWSER) == {**response, "body": ""}


def test_the_page_says_why_a_counter_cannot_be_minted(ask: Ask, stack: Stack) -> None:
    laid_out()

    body = ask("GET", "/-/status?counter=none", accept=BROWSER)["body"]

    assert "The counter none can’t be minted here: there is no counter 'none' in this region" in text(body)
    assert cells(body)["position"] == "–"


def test_the_page_allows_no_script_and_only_its_own_style(ask: Ask, stack: Stack) -> None:
    response = ask("GET", "/-/status?counter=none", accept=BROWSER)

    policy = dict(directive.split(" ", 1) for directive in response["headers"]["Content-Security-Policy"].split("; "))
    assert (policy["default-src"], policy["script-src"]) == ("'none'", "'none'")
    assert policy["form-action"] == "'self'"
    assert "connect-src" not in policy
    (style,) = re.findall("<style>(.*?)</style>", response["body"], re.DOTALL)
    assert policy["style-src"] == f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'"
    assert not re.search(r'<script|style="|\son[a-z]+="|(?:src|href)="(?!data:)', response["body"])


def test_nothing_in_the_document_becomes_markup() -> None:
    evil = "<b title='\"'>"
    names = ("region", "counter", "reason", "epoch", "position", "ceiling", "stride", "fenced", "pending", "version")
    document: dict[str, Any] = {**dict.fromkeys(names, evil), "ok": False, "regions": [evil]}

    assert evil not in status_page(document)["body"]
    assert cells(status_page(document)["body"])["version"] == evil


def cells(body: str) -> dict[str, str]:
    """The rows of a page's table: name → text."""
    rows = re.findall(r"<tr><th[^>]*>(\w+) .*?</th><td>(.*?)</td></tr>", body)
    return {name: text(cell) for name, cell in rows}


def text(markup: str) -> str:
    """What a reader sees of HTML."""
    return unescape(re.sub("<[^>]*>", "", markup))


def test_a_counter_that_is_missing_is_reported_not_refused(ask: Ask, stack: Stack) -> None:
    laid_out()

    response = ask("GET", "/-/status?counter=none")

    assert response["statusCode"] == 200
    assert (response["document"]["ok"], response["document"]["epoch"]) == (False, None)
    assert "there is no counter 'none'" in response["document"]["reason"]


def test_a_region_that_a_layout_has_yet_to_reach_is_pending(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = item(stack, HOME)
    deploy(*THREE[::-1])
    assert before is not None
    put_item(stack, HOME, before)

    document = ask("GET", "/-/status")["document"]

    assert (document["pending"], document["epoch"], document["regions"]) == (True, 1, THREE[::-1])


def test_the_reason_is_that_of_a_refused_mint(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(7, 3, 7, 1, fenced=True))

    document = ask("GET", "/-/status")["document"]

    assert (document["ok"], document["fenced"]) == (False, True)
    assert "a change of layout" in document["reason"]


def test_a_table_that_went_backwards_is_seen_by_a_warm_function(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask("POST", "/")
    old = backup(stack, HOME, stack.counters)
    ask("POST", "/", warm=True)
    restore(stack, HOME, stack.counters, old)

    document = ask("GET", "/-/status", warm=True)["document"]

    assert (document["ok"], document["position"]) == (False, 1)
    assert "was restored" in document["reason"]
