"""The state of a counter, as operators see it."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from pathlib import Path
from typing import Any

import pytest
from coordinate.protocol.model import Item
from mint.api.pages import status_page

from tests.lambda_.coordinator_calls import deploy, item, laid_out, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack
from tests.lambda_.table_losses import backup, restore

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
        "base": 1,
        "position": 4,
        "ceiling": 299_999_998,
        "stride": 3,
        "fenced": False,
        "pending": False,
        "regions": THREE,
        "version": None,
        "build": None,
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
    (tmp_path / "version.txt").write_text("1.0.0+0123456789ab\n")
    monkeypatch.setattr("mint.api.problems.VERSION", tmp_path / "version.txt")

    monkeypatch.setenv("BUILD", "9d07b2c4e1f8")
    assert ask("GET", "/-/status")["document"]["version"] == "1.0.0+0123456789ab"
    assert ask("GET", "/-/status")["document"]["build"] == "9d07b2c4e1f8"
    assert cells(ask("GET", "/-/status", accept=BROWSER)["body"])["version"] == "1.0.0+0123456789ab"


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
        "build": "–",
    }
    assert set(cells(response["body"])) == set(document["document"]) - {"region", "counter", "ok", "base"}
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
    styles = re.findall("<style>(.*?)</style>", response["body"], re.DOTALL)
    hashes = (f"'sha256-{b64encode(sha256(style.encode()).digest()).decode()}'" for style in styles)
    assert policy["style-src"] == " ".join(hashes)
    assert not re.search(r'<script|style="|\son[a-z]+="|(?:src|href)="(?!data:|\.\./)', response["body"])


def test_nothing_in_the_document_becomes_markup() -> None:
    evil = "<b title='\"'>"
    names = ("region", "counter", "reason", "epoch", "stride", "fenced", "pending", "version", "build")
    document: dict[str, Any] = {
        **dict.fromkeys(names, evil),
        "ok": False,
        "base": 1,
        "position": 4,
        "ceiling": 7,
        "regions": [evil],
    }

    assert evil not in status_page(document)["body"]
    assert cells(status_page(document)["body"])["version"] == evil


def test_the_page_says_in_words_that_nothing_is_minted_yet(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = page_of(ask)
    ask("POST", "/", "eu-west-1")
    after = page_of(ask)
    deploy(*THREE[::-1])

    assert (ask("GET", "/-/status", "eu-west-1")["document"]["position"] or 0) > 2, "one stride below the first"
    assert [cells(body)["position"] for body in (before, after, page_of(ask))] == [
        "none yet in this epoch",
        "2",
        "none yet in this epoch",
    ]
    put_item(stack, "eu-west-1", Item(-1, 3, -1, 1, fenced=True))
    assert cells(page_of(ask))["ceiling"] == "none yet in this epoch"


def page_of(ask: Ask, query: str = "") -> str:
    return ask("GET", f"/-/status{query}", "eu-west-1", accept=BROWSER)["body"]


def test_the_page_leads_to_minting_and_to_the_owner_of_the_last_integer(ask: Ask, stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])
    ask("POST", "/", "eu-west-1")

    assert re.findall('href="([^"]+)">', page_of(ask)) == ["data:,", "../integers/2", "../integers"]
    assert re.findall('href="([^"]+)">', page_of(ask, "?counter=orders")) == ["data:,", "../orders"]


def test_a_region_has_its_own_colour_in_every_layout(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = swatches(page_of(ask))
    deploy("eu-west-1", "us-west-2", "us-east-1")
    after = swatches(page_of(ask))

    assert list(before) == THREE
    assert list(after) == ["eu-west-1", "us-west-2", "us-east-1"]
    assert {region: after[region] for region in THREE[:2]} == {region: before[region] for region in THREE[:2]}
    assert len({*before.values(), *after.values()}) == 4


def swatches(body: str) -> dict[str, str]:
    """The regions of a page with their colours, in order."""
    return {region: colour for colour, region in re.findall(r'fill="(#\w+)"/></svg>(?:<bdi>)?([\w-]+)', body)}


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
