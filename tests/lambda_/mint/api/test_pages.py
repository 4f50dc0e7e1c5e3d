"""A browser gets pages: that which mints, a counter's status, an integer's owner, errors. Loading one mints nothing."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from coordinate.protocol.model import Item
from mint.api.pages import colour_of, owner_page, page, problem_page, status_page
from mint.api.problems import VERSION
from mint.api.request import Problem
from mint.model import CounterItem

from global_integers_core.lattice import Layout
from local.paths import ROOT
from tests.lambda_.coordinator_calls import AS_DEPLOYED, deploy, item, laid_out, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
THREE = ["us-east-1", "eu-west-1", "ap-southeast-2"]
EVIL = "<b title='\"'>%CONTENT%</script><script>alert(1)"


def get(ask: Ask, path: str, region: str = HOME) -> str:
    """Return the body of a page."""
    response = ask("GET", path, region, accept=BROWSER)
    assert response["headers"]["Content-Type"] == "text/html; charset=utf-8"
    return response["body"]


def said(body: str) -> str:
    """Return what a reader sees of a page, as one line."""
    lines = re.sub("</?(b|bdi|a|code)( [^>]*)?>", "", body.partition("</head>")[2])
    return " ".join(unescape(re.sub("<[^>]*>", " ", lines)).split())


def links(body: str) -> list[str]:
    return re.findall('<a href="([^"]+)"', body)


def cells(body: str) -> dict[str, str]:
    """Return the rows of a page's table: name → text."""
    rows = re.findall(r"<tr><th[^>]*>(\w+) .*?</th><td>(.*?)</td></tr>", body)
    return {name: unescape(re.sub("<[^>]*>", "", cell)) for name, cell in rows}


def data_of(body: str) -> dict[str, Any]:
    """Return what the script of the page that mints knows."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', body)
    return json.loads(data)


def test_loading_a_page_mints_nothing(ask: Ask, stack: Stack) -> None:
    laid_out()
    for path in ("/", "/integers", "/integers?count=5", "/integers/1", "/-/status"):
        assert ask("GET", path, accept=BROWSER)["statusCode"] == 200
        get(ask, path)

    assert ask("POST", "/", accept=BROWSER)["document"]["integer"] == 1


@pytest.mark.parametrize("path", ["/nothing", "/-/status?counter=none", "/integers/1", "/integers/0"])
def test_a_page_allows_only_its_own_scripts_and_styles(ask: Ask, stack: Stack, path: str) -> None:
    laid_out()
    response = ask("GET", path, accept=BROWSER)
    body, mints = response["body"], path == "/nothing"

    policy = dict(directive.split(" ", 1) for directive in response["headers"]["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)
    for element in ("style", "script"):
        parts = re.findall(f"<{element}>(.*?)</{element}>", body, re.DOTALL)
        hashes = " ".join(f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in parts)
        assert policy[f"{element}-src"] == (hashes or "'none'")
        assert bool(hashes) == (element == "style" or mints)
    assert policy.get("connect-src") == ("'self'" if mints else None)
    assert policy["form-action"] == ("'self'" if "status" in path else "'none'")
    assert not re.search(r'(?:src|href)="(?!data:|\.\.?/)', body)
    assert mints or not re.search(r'<script|style="|\son[a-z]+="', body)


def test_over_https_the_browser_is_told_to_keep_to_it(ask: Ask, stack: Stack) -> None:
    laid_out()
    for path in ("/", "/integers/1", "/integers/0"):
        header = "Strict-Transport-Security"
        assert ask("GET", path, accept=BROWSER)["headers"][header] == "max-age=31536000"
        assert header not in ask("GET", path, accept=BROWSER, x_forwarded_proto="http")["headers"]
        assert header not in ask("GET", path)["headers"]


def test_nothing_in_a_document_becomes_markup() -> None:
    owner: dict[str, Any] = {"integer": 7, "offset": 1, "stride": 3, "epoch": 1, "minted": None}
    problem = Problem(HTTPStatus.GONE, EVIL, members={"regions": [EVIL]})
    names = ("region", "counter", "reason", "epoch", "left", "stride", "fenced", "pending", "version", "build")
    status = dict.fromkeys(names, EVIL) | {"ok": False, "base": 1, "position": 4, "ceiling": 7, "regions": [EVIL]}

    for response in (
        owner_page(owner | {"counter": EVIL, "region": EVIL, "ask": EVIL}, EVIL),
        problem_page(problem, EVIL, "./"),
        status_page(status),
    ):
        assert "<b title" not in response["body"]
        assert said(response["body"]).count(EVIL) >= 3
    body = page(EVIL, "eu-west-1", [], None, open_counters=False)["body"]
    assert "</script><script>alert" not in body
    assert data_of(body)["counter"] == EVIL


def test_the_page_has_the_layouts(ask: Ask, stack: Stack) -> None:
    laid_out("us-east-1")
    ask("POST", "/?count=500")
    base = deploy("us-east-1", "eu-west-1")["counters"]["integers"]["base"]
    found = data_of(get(ask, "/"))

    assert found == {
        "counter": "integers",
        "region": "us-east-1",
        "layouts": [
            {"epoch": 1, "base": 1, "regions": ["us-east-1"]},
            {"epoch": 2, "base": base, "regions": ["us-east-1", "eu-west-1"]},
        ],
        "colours": {"us-east-1": colour_of("us-east-1"), "eu-west-1": colour_of("eu-west-1")},
        "next": base,
        "exists": True,
        "instead": [],
        "open": False,
        "domain": "",
    }
    assert ask("POST", "/")["document"]["integer"] == base
    stack.monkeypatch.setenv("DOMAIN", "integers.example.com")
    stack.monkeypatch.setenv("OPEN_COUNTERS", "1")
    changed = {"domain": "integers.example.com", "open": True, "next": base + 2}
    assert data_of(get(ask, "/")) == found | changed


def test_a_layout_that_is_over_is_not_shown_while_the_next_is_recorded(ask: Ask, stack: Stack) -> None:
    laid_out()
    put_item(stack, HOME, Item(issued=300_000_001, stride=2, ceiling=300_020_001, epoch=2))

    data = data_of(get(ask, "/"))
    assert (data["layouts"], data["next"]) == ([], 300_000_003)
    assert data["colours"] == {HOME: colour_of(HOME)}


def test_the_page_has_only_the_layouts_that_its_line_shows() -> None:
    layouts = [Layout(epoch, 100 * epoch, ("us-east-1", "eu-west-1")) for epoch in range(1, 41)]

    def shown(item: CounterItem | None) -> list[int]:
        body = page("orders", HOME, layouts, item, open_counters=False)["body"]
        return [layout["epoch"] for layout in data_of(body)["layouts"]]

    def at(epoch: int) -> CounterItem:
        return CounterItem(100 * epoch, 2, 100 * epoch + 90, epoch, fenced=False, attributes={})

    assert [shown(at(epoch)) for epoch in (1, 7, 40)] == [[1, 2, 3, 4], [6, 7, 8, 9], [39, 40]]
    assert shown(None) == [40]


def test_where_nothing_can_be_minted_nothing_is_next(ask: Ask, stack: Stack) -> None:
    put_item(stack, HOME, Item(issued=7, stride=3, ceiling=7, epoch=1, fenced=True))

    for path, exists in {"/": True, "/integers": True, "/nothing": False}.items():
        data = data_of(get(ask, path))
        assert (data["next"], data["exists"]) == (None, exists)


def test_a_browser_gets_the_owner_as_a_page(ask: Ask, stack: Stack) -> None:
    laid_out()
    ask("POST", "/")
    before = item(stack, HOME)

    for n, minted in ((1, "yes"), (4, "no"), (2, "not known here; ask eu-west-1")):
        response = ask("GET", f"/integers/{n}", accept=BROWSER)
        assert (response["statusCode"], response["headers"]["Vary"]) == (200, "Accept")
        assert f"{n} of the counter integers belongs to {'eu-west-1' if n == 2 else HOME}." in said(response["body"])
        assert f"has it been taken from the counter? {minted} offset" in said(response["body"])
        assert links(response["body"]) == ["../integers", "../-/status?counter=integers"]
        assert ask("HEAD", f"/integers/{n}", accept=BROWSER) == {**response, "body": ""}
    assert item(stack, HOME) == before
    deploy(HOME, "us-west-2")
    assert "not known in any region" in said(get(ask, "/integers/2"))


@pytest.mark.parametrize("accept", ["*/*", "application/json", "text/html;q=0.5, application/json", "text/plain"])
def test_who_asks_for_no_page_gets_documents(ask: Ask, stack: Stack, accept: str) -> None:
    laid_out()

    owner, wrong = (ask("GET", path, accept=accept) for path in ("/integers/1", "/integers/0"))
    assert (owner["headers"]["Content-Type"], owner["headers"]["Vary"]) == ("application/json", "Accept")
    assert owner["body"] == (
        '{"integer": 1, "counter": "integers", "offset": 1, "stride": 3, "region": "us-east-1", "epoch": 1, '
        '"minted": false}'
    )
    assert wrong["headers"] == {"Content-Type": "application/problem+json", "Cache-Control": "no-store"}


@pytest.mark.parametrize(
    ("path", "status", "root"),
    [
        ("/integers/0", 404, "../"),
        ("/nothing/7", 404, "../"),
        ("/integers/9007199254740991", 503, "../"),
        ("/-/status?counter=Orders", 400, "../"),
        ("/-/counters", 403, "../"),
        ("/a/b/c", 404, "../../"),
        ("/Orders", 404, "./"),
    ],
)
def test_an_error_is_a_page_with_the_same_status(ask: Ask, stack: Stack, path: str, status: int, root: str) -> None:
    laid_out(counters=AS_DEPLOYED)
    document, html = ask("GET", path), ask("GET", path, accept=BROWSER)

    assert (document["statusCode"], html["statusCode"]) == (status, status)
    assert html["headers"]["Content-Type"] == "text/html; charset=utf-8"
    assert html["headers"].get("Retry-After") == document["headers"].get("Retry-After")
    assert f"{status} {HTTPStatus(status).phrase}: {document['document']['detail']}" in said(html["body"])
    assert f"response from {HOME}" in said(html["body"])
    assert links(html["body"]) == [root, f"{root}-/status"]
    assert "The other regions" not in html["body"]
    post = ask("POST", "/Orders", accept=BROWSER)
    assert (post["statusCode"], post["document"]["status"]) == (404, 404)


def test_a_browser_is_told_the_regions_to_go_to(ask: Ask, stack: Stack) -> None:
    stack.monkeypatch.setenv("LEAVING", "us-west-2,eu-west-1")
    assert "The other regions: us-west-2, eu-west-1" in said(get(ask, "/nothing/8"))

    stack.monkeypatch.delenv("DEFAULT_COUNTER")
    assert "500 Internal Server Error: unexpected error; the log has request request-1" in said(get(ask, "/integers/7"))


def test_the_status_says_where_the_counter_stands(
    ask: Ask, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    laid_out()
    ask("POST", "/")
    ask("POST", "/")
    document, html = ask("GET", "/-/status"), ask("GET", "/-/status", accept=BROWSER)

    assert document["document"] == {
        "region": HOME,
        "counter": "integers",
        "ok": True,
        "epoch": 1,
        "base": 1,
        "position": 4,
        "ceiling": 299_999_998,
        "left": 99_999_998,
        "stride": 3,
        "fenced": False,
        "maxBlock": 100_000,
        "pending": False,
        "regions": THREE,
        "version": None,
        "build": None,
    }
    assert cells(html["body"]) == {
        "position": "4",
        "ceiling": "299999998",
        "left": "99999998",
        "stride": "3",
        "epoch": "1",
        "fenced": "no",
        "pending": "no",
        "regions": "us-east-1 (here)eu-west-1ap-southeast-2",
        "version": "–",
        "build": "–",
    }
    assert "The counter integers can be minted here." in said(html["body"])
    assert re.findall(r'fill="(#\w+)"', html["body"]) == [colour_of(region) for region in THREE]
    assert links(html["body"]) == ["../integers/4", "../integers"]
    assert html["headers"]["Vary"] == document["headers"]["Vary"] == "Accept"
    assert ask("HEAD", "/-/status", accept=BROWSER) == {**html, "body": ""}

    assert Path(VERSION) == ROOT / "lambda" / "version.txt", "beside the function's packages"
    (tmp_path / "version.txt").write_text("1.0.0+0123456789ab\n")
    monkeypatch.setattr("mint.api.problems.VERSION", tmp_path / "version.txt")
    monkeypatch.setenv("BUILD", "9d07b2c4e1f8")
    changed = {"version": "1.0.0+0123456789ab", "build": "9d07b2c4e1f8"}
    assert ask("GET", "/-/status")["document"] == document["document"] | changed
    assert cells(get(ask, "/-/status")) == cells(html["body"]) | changed


def test_the_status_page_says_in_words_what_there_is_not_yet(ask: Ask, stack: Stack) -> None:
    laid_out(counters=["integers", "orders"])
    none = "none yet in this epoch"

    def position(query: str = "") -> str:
        return cells(get(ask, f"/-/status{query}", "eu-west-1"))["position"]

    orders = get(ask, "/-/status?counter=orders", "eu-west-1")
    assert (cells(orders)["position"], links(orders)) == (none, ["../orders"])
    ask("POST", "/", "eu-west-1")
    assert position() == "2"
    deploy(*THREE[::-1])
    assert (ask("GET", "/-/status", "eu-west-1")["document"]["position"] or 0) > 2, "one stride below the first"
    assert position() == none
    put_item(stack, "eu-west-1", Item(-1, 3, -1, 1, fenced=True))
    assert cells(get(ask, "/-/status", "eu-west-1"))["ceiling"] == none


def test_a_counter_that_is_missing_is_reported_not_refused(ask: Ask, stack: Stack) -> None:
    laid_out(counters=AS_DEPLOYED)
    reason = "there is no counter 'none' in this region"
    response, body = ask("GET", "/-/status?counter=none"), get(ask, "/-/status?counter=none")

    document = response["document"]
    assert (response["statusCode"], document["counter"], document["reason"]) == (200, "none", reason)
    assert (document["ok"], document["epoch"], document["pending"]) == (False, None, False)
    assert f"The counter none can’t be minted here: {reason}" in said(body)
    assert cells(body)["position"] == "–"


def test_a_region_that_a_layout_has_yet_to_reach_is_pending(ask: Ask, stack: Stack) -> None:
    laid_out()
    before = item(stack, HOME)
    deploy(*THREE[::-1])
    assert before is not None
    put_item(stack, HOME, before)

    document = ask("GET", "/-/status")["document"]

    assert (document["pending"], document["epoch"], document["regions"]) == (True, 1, THREE[::-1])
