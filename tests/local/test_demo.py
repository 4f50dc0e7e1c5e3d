"""The demo's table, of URLs that answer as the functions do."""

from collections import Counter
from collections.abc import Generator
from typing import Any

import pytest
from global_integers.minting.api import PAUSED

from local.operator_commands import mint, mint_everywhere, table
from local.paths import LocalError
from proof.faulty_server import Request, Response, Server, json_response

LAYOUT = {"us-east-1": {"offset": 1, "stride": 2}, "eu-west-1": {"offset": 2, "stride": 2}}


@pytest.fixture
def url() -> Generator[str]:
    """Mints 1, 3, 5 … at /1/ and 2, 4, 6 … at /2/; /paused/ is paused, and /signed/ needs a signature."""
    minted: Counter[str] = Counter()

    async def answer(request: Request) -> Response:
        place = request.path.strip("/")
        if place in ("1", "2"):
            minted[place] += 1
            return json_response({"integer": int(place) + 2 * (minted[place] - 1)}, 200)
        return json_response({}, {"paused": 429, "signed": 403}.get(place, 500))

    with Server(answer) as server:
        yield f"{server.url}/"


def outputs_of(*urls: str) -> dict[str, Any]:
    return {"regions": list(LAYOUT), "layout": LAYOUT, "urls": dict(zip(LAYOUT, urls, strict=True))}


def test_the_table_has_a_row_for_each_region(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # is not used
    outputs = outputs_of(f"{url}1/", f"{url}2/")

    assert table(outputs, mint_everywhere(outputs)).splitlines() == [
        "region     offset  stride  just minted",
        "─────────  ──────  ──────  ──────────────",
        "us-east-1  1       2       1, 3, 5, 7, 9",
        f"  {url}1/",
        "eu-west-1  2       2       2, 4, 6, 8, 10",
        f"  {url}2/",
    ]


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("paused/", LocalError, f"answers 429: {PAUSED}$"),  # as the client says it
        (
            "signed/",
            LocalError,
            r"signed requests only .*run .* -m local up as before, but with: -c authorization=NONE",
        ),
        ("", OSError, "500"),
    ],
    ids=["paused", "signed", "another error"],
)
def test_what_keeps_it_from_minting_is_said(url: str, path: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        mint(url + path)
