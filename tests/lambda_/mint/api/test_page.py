"""A browser gets the page; loading it mints nothing."""

import json
import re
from base64 import b64encode
from hashlib import sha256
from typing import Any

import pytest
from coordinate.protocol.model import Item
from mint.api.pages import colour_of, page
from mint.api.reply import finished
from mint.api.request import received
from mint.model import CounterItem

from global_integers_core.lattice import Layout
from tests.lambda_.coordinator_calls import deploy, laid_out, put_item
from tests.lambda_.fixtures import HOME, Ask, Stack

BROWSER = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"


def data_of(body: str) -> dict[str, Any]:
    """Return what the page's script knows."""
    (data,) = re.findall(r'<script type="application/json" id="data">(.*?)</script>', body)
    return json.loads(data)


def test_a_browser_gets_the_page_and_no_integer(ask: Ask, stack: Stack) -> None:
    laid_out()

    for path in ("/", "/integers", "/integers?count=5"):
        response = ask("GET", path, accept=BROWSER)
        assert (response["statusCode"], response["headers"]["Content-Type"]) == (200, "text/html; charset=utf-8")
    assert ask("POST", "/", accept=BROWSER)["document"]["integer"] == 1


def test_the_page_has_the_layouts(ask: Ask, stack: Stack) -> None:
    laid_out("us-east-1")
    base = deploy("us-east-1", "eu-west-1")["counters"]["integers"]["base"]

    assert data_of(ask("GET", "/", accept="text/html")["body"]) == {
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


def test_the_page_knows_the_stacks_domain(ask: Ask, stack: Stack) -> None:
    laid_out("us-east-1", "eu-west-1")
    stack.monkeypatch.setenv("DOMAIN", "integers.example.com")

    assert data_of(ask("GET", "/", accept="text/html")["body"])["domain"] == "integers.example.com"


def test_the_page_knows_what_its_region_mints_now(ask: Ask, stack: Stack) -> None:
    laid_out("us-east-1", "eu-west-1")
    ask("POST", "/?count=500")
    base = deploy("eu-west-1", "us-east-1")["counters"]["integers"]["base"]

    following = data_of(ask("GET", "/", accept="text/html")["body"])["next"]
    assert following >= base
    assert ask("POST", "/")["document"]["integer"] == following
    assert data_of(ask("GET", "/", accept="text/html")["body"])["next"] == following + 2


def test_a_layout_that_is_over_is_not_shown_while_the_next_is_recorded(ask: Ask, stack: Stack) -> None:
    laid_out()
    put_item(stack, HOME, Item(issued=300_000_001, stride=2, ceiling=300_020_001, epoch=2))

    data = data_of(ask("GET", "/", accept="text/html")["body"])
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

    assert data_of(ask("GET", "/", accept="text/html")["body"])["next"] is None
    assert data_of(ask("GET", "/nothing", accept="text/html")["body"])["next"] is None


@pytest.mark.parametrize("is_open", [False, True])
def test_the_page_knows_whether_its_counter_exists(ask: Ask, stack: Stack, is_open: bool) -> None:
    laid_out()
    if is_open:
        stack.monkeypatch.setenv("OPEN_COUNTERS", "1")

    for path, exists in {"/": True, "/integers": True, "/nope": False}.items():
        data = data_of(ask("GET", path, accept="text/html")["body"])
        assert (data["exists"], data["open"]) == (exists, is_open)


def test_the_pages_policy_allows_only_its_own_scripts_and_styles(ask: Ask, stack: Stack) -> None:
    response = ask("GET", "/nothing", accept="text/html")

    policy = dict(directive.split(" ", 1) for directive in response["headers"]["Content-Security-Policy"].split("; "))
    assert policy["default-src"] == "'none'"
    assert "unsafe" not in str(policy)
    for element in ("style", "script"):
        parts = re.findall(f"<{element}>(.*?)</{element}>", response["body"], re.DOTALL)
        hashes = [f"'sha256-{b64encode(sha256(part.encode()).digest()).decode()}'" for part in parts]
        assert hashes
        assert policy[f"{element}-src"] == " ".join(hashes)
    assert set(re.findall(r"""(?:src|href)=["'](.*?)["']""", response["body"])) == {"data:,", "./-/status"}


def test_no_data_can_end_the_script() -> None:
    body = page("</script><script>alert(1)", "eu-west-1", [], None, open_counters=False)["body"]

    assert "</script><script>alert" not in body
    assert data_of(body)["counter"] == "</script><script>alert(1)"


@pytest.mark.parametrize(("scheme", "header"), [("https", "max-age=31536000"), ("http", None)])
def test_over_https_the_browser_is_told_to_keep_to_it(scheme: str, header: str | None) -> None:
    sent = received({"headers": {"x-forwarded-proto": scheme}})
    response = finished(page("integers", "eu-west-1", [], None, open_counters=False), sent)

    assert response["headers"].get("Strict-Transport-Security") == header


def test_the_recorded_event_came_over_https(ask: Ask, stack: Stack) -> None:
    laid_out()

    assert "Strict-Transport-Security" in ask("GET", "/", accept="text/html")["headers"]
    assert "Strict-Transport-Security" not in ask("GET", "/")["headers"]
