"""The demo's table, of URLs that answer as the functions do."""

import re
from collections import Counter
from collections.abc import Generator

import pytest
from global_integers.minting.api import PAUSED

from local.domain.zone import HTTP_API_FAILED
from local.operator_commands import Paused, mint, mint_everywhere, table
from local.paths import LocalError
from proof.faulty_server import Request, Response, Server, json_response

LAYOUT = {"us-east-1": {"offset": 1, "stride": 2}, "eu-west-1": {"offset": 2, "stride": 2}}


@pytest.fixture
def url() -> Generator[str]:
    """Mints 1, 3, 5 … at /1/ and 2, 4, 6 … at /2/; everything else needs a signature."""
    minted: Counter[str] = Counter()

    async def answer(request: Request) -> Response:
        place = request.path.strip("/")
        if place in ("1", "2"):
            minted[place] += 1
            return json_response({"integer": int(place) + 2 * (minted[place] - 1)}, 200)
        if place == "api":
            return Response(500, HTTP_API_FAILED.body)
        return json_response({}, {"": 500, "paused": 429}.get(place, 403))

    with Server(answer) as server:
        yield f"{server.url}/"


def test_the_table_has_a_row_for_each_region(url: str) -> None:
    urls = {"us-east-1": f"{url}1/", "eu-west-1": f"{url}2/"}

    outputs = {"regions": list(LAYOUT), "layout": LAYOUT, "urls": urls}
    lines = table(outputs, mint_everywhere(outputs)).splitlines()
    shown = [*lines[:2], *lines[2::2]]

    assert [row.split()[:3] for row in shown] == [
        ["region", "offset", "stride"],
        ["─" * 9, "─" * 6, "─" * 6],
        ["us-east-1", "1", "2"],
        ["eu-west-1", "2", "2"],
    ]
    assert [re.split("  +", row)[3] for row in shown[2:]] == ["1, 3, 5, 7, 9", "2, 4, 6, 8, 10"]
    assert lines[3::2] == [f"  {url}" for url in urls.values()]


@pytest.mark.parametrize("paused", ["paused", "api"], ids=["at a Function URL", "behind an HTTP API"])
def test_a_paused_region_is_shown_as_such(url: str, paused: str) -> None:
    outputs = {
        "regions": list(LAYOUT),
        "layout": LAYOUT,
        "urls": {"us-east-1": f"{url}{paused}/", "eu-west-1": f"{url}2/"},
    }
    minted = mint_everywhere(outputs)

    assert minted == {"us-east-1": [], "eu-west-1": [2, 4, 6, 8, 10]}
    assert [re.split("  +", row)[3] for row in table(outputs, minted).splitlines()[2::2]] == [
        "paused",
        "2, 4, 6, 8, 10",
    ]


def test_the_client_says_it_in_the_same_words(url: str) -> None:
    with pytest.raises(Paused, match=f"answers 429: {PAUSED}$"):
        mint(f"{url}paused/")


def test_if_all_are_paused_it_says_so(url: str) -> None:
    with pytest.raises(LocalError, match=r"all regions are paused: run .* -m local up as before"):
        mint_everywhere({"regions": ["us-east-1"], "urls": {"us-east-1": f"{url}paused/"}})


def test_it_uses_no_proxy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert mint(f"{url}1/") == 1


def test_urls_that_take_signed_requests_only_are_explained(url: str) -> None:
    with pytest.raises(
        LocalError, match=r"signed requests only .*\n.*run .* -m local up as before, but with: -c authorization=NONE"
    ):
        mint(url, "signed")


def test_another_error_is_the_servers(url: str) -> None:
    with pytest.raises(OSError, match="500"):
        mint(url)
