"""Browsers get pages, which `exchanges/pages.txt` has as they are read: here is what nobody sees of them."""

import re
from base64 import b64encode
from hashlib import sha256
from html import unescape
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from mint.api.pages import owner_page, page, problem_page, status_page
from mint.api.problems import VERSION
from mint.api.request import Problem
from mint.model import CounterItem

from global_integers_core.lattice import Layout
from local.paths import ROOT
from tests.lambda_.coordinator_calls import deploy
from tests.lambda_.fixtures import HOME, Ask, Stack

BROWSER = "text/html"
EVIL = "<b title='\"'>%CONTENT%</script><script>alert(1)"


@pytest.mark.parametrize("path", ["/nothing", "/-/status?counter=none", "/integers/1", "/integers/0"])
def test_a_page_allows_only_its_own_scripts_and_styles(ask: Ask, stack: Stack, path: str) -> None:
    deploy()
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
    deploy()
    header = "Strict-Transport-Security"
    for path in ("/", "/integers/1", "/integers/0"):
        assert ask("GET", path, accept=BROWSER)["headers"][header] == "max-age=31536000"
        assert header not in ask("GET", path, accept=BROWSER, x_forwarded_proto="http")["headers"]


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
        assert unescape(response["body"]).count(EVIL) >= 3
    assert "</script><script>alert" not in page(EVIL, "eu-west-1", [], None, open_counters=False)["body"]


@pytest.mark.parametrize(("epoch", "shown"), [(1, [1, 2, 3, 4]), (7, [6, 7, 8, 9]), (40, [39, 40]), (None, [40])])
def test_the_page_has_only_the_layouts_that_its_line_shows(epoch: int | None, shown: list[int]) -> None:
    layouts = [Layout(epoch, 100 * epoch, ("us-east-1", "eu-west-1")) for epoch in range(1, 41)]
    item = CounterItem(100 * epoch, 2, 100 * epoch + 90, epoch, fenced=False, attributes={}) if epoch else None

    body = page("orders", HOME, layouts, item, open_counters=False)["body"]
    assert re.findall(r'"epoch": (\d+)', body) == list(map(str, shown))


def test_the_status_names_the_version_of_the_archive(
    ask: Ask, stack: Stack, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Path(VERSION) == ROOT / "lambda" / "version.txt", "beside the function's packages"
    (tmp_path / "version.txt").write_text("1.0.0+0123456789ab\n")
    monkeypatch.setattr("mint.api.problems.VERSION", tmp_path / "version.txt")

    assert ask("GET", "/-/status")["document"]["version"] == "1.0.0+0123456789ab"
