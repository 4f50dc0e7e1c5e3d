"""The demo's table, of URLs that answer as the functions do."""

import re
from collections import Counter
from collections.abc import Generator
from typing import Any

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


def outputs_of(*urls: str) -> dict[str, Any]:
    return {"regions": list(LAYOUT), "layout": LAYOUT, "urls": dict(zip(LAYOUT, urls, strict=True))}


def test_the_table_has_a_row_for_each_region(url: str) -> None:
    outputs = outputs_of(f"{url}1/", f"{url}2/")
    lines = table(outputs, mint_everywhere(outputs)).splitlines()
    shown = [*lines[:2], *lines[2::2]]

    assert [row.split()[:3] for row in shown] == [
        ["region", "offset", "stride"],
        ["─" * 9, "─" * 6, "─" * 6],
        ["us-east-1", "1", "2"],
        ["eu-west-1", "2", "2"],
    ]
    assert [re.split("  +", row)[3] for row in shown[2:]] == ["1, 3, 5, 7, 9", "2, 4, 6, 8, 10"]
    assert lines[3::2] == [f"  {url}" for url in outputs["urls"].values()]


@pytest.mark.parametrize("paused", ["paused", "api"], ids=["at a Function URL", "behind an HTTP API"])
def test_a_paused_region_is_shown_as_such(url: str, paused: str) -> None:
    outputs = outputs_of(f"{url}{paused}/", f"{url}2/")
    minted = mint_everywhere(outputs)

    assert minted == {"us-east-1": [], "eu-west-1": [2, 4, 6, 8, 10]}
    assert [re.split("  +", row)[3] for row in table(outputs, minted).splitlines()[2::2]] == [
        "paused",
        "2, 4, 6, 8, 10",
    ]


def test_if_all_are_paused_it_says_so(url: str) -> None:
    with pytest.raises(LocalError, match=r"all regions are paused: run .* -m local up as before"):
        mint_everywhere(outputs_of(*[f"{url}paused/"] * 2))


def test_it_uses_no_proxy(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert mint(f"{url}1/") == 1


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("paused/", Paused, f"answers 429: {PAUSED}$"),  # as the client says it
        (
            "signed/",
            LocalError,
            r"signed requests only \(authorization: AWS_IAM\).*\n.*run .* -m local up as before, but with: "
            "-c authorization=NONE",
        ),
        ("", OSError, "500"),
    ],
    ids=["paused", "signed", "another error"],
)
def test_what_keeps_it_from_minting_is_said(url: str, path: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        mint(url + path)
