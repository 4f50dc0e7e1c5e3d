"""What keeps the demo from minting is said."""

from collections.abc import Generator
from urllib.error import HTTPError

import pytest
from global_integers.minting.api import PAUSED

from local.operator_commands import mint
from local.paths import LocalError
from proof.faulty_server import Request, Response, Server, json_response


@pytest.fixture
def url(monkeypatch: pytest.MonkeyPatch) -> Generator[str]:
    """/paused/ is paused, and /signed/ needs a signature."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")  # is not used

    async def answer(request: Request) -> Response:
        return json_response({}, {"/paused/": 429, "/signed/": 403}.get(request.path, 500))

    with Server(answer) as server:
        yield f"{server.url}/"


@pytest.mark.parametrize(
    ("path", "error", "said"),
    [
        ("paused/", LocalError, f"answers 429. With 429, {PAUSED}"),  # as the client says it
        (
            "signed/",
            LocalError,
            r"answers 403\. .*signed requests only .*run .* -m local up as before, but with: -c authorization=NONE",
        ),
        ("", HTTPError, "500"),
    ],
    ids=["paused", "signed", "another error"],
)
def test_what_keeps_it_from_minting_is_said(url: str, path: str, error: type[Exception], said: str) -> None:
    with pytest.raises(error, match=said):
        mint(url + path)
