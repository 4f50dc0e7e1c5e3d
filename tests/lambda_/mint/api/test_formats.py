"""The client chooses the format; `exchanges/minting.txt` has what it gets."""

import pytest
import yaml
from mint.api.formats import FORMATS, HTML, preferred

from local.paths import ROOT

JSON = "application/json"
TEXT = "text/plain"
BEST = {
    (JSON, JSON): ["*/*", "", JSON, "text/plain, application/json", "text/plain;q=0, */*", "image/png", ",;,q=;;"],
    (JSON, HTML): ["text/html", "text/plain;q=0, text/*"],
    (TEXT, TEXT): [TEXT, "TEXT/PLAIN", "text/*", "application/json;q=0.5, text/plain", "text/plain;q=0.5, */*;q=0.1"],
}
BEST[JSON, JSON] += ["text/html;q=0", "text/html, application/json"]
BEST[TEXT, TEXT] += ["application/json;q=0.1, */*", "text/*;q=0.1, application/json;q=0.5, text/plain"]
BEST[TEXT, TEXT] += ["text/plain;q=x", "text/html;q=0.5, text/plain", "text/plain, text/html"]
BEST[TEXT, TEXT] += ["text/plain, application/json;q=0.5, text/plain;q=0"]
"""What is sent, and what is if a page may be sent, too → values of `Accept`."""


def test_the_pages_describe_every_format() -> None:
    api, page = ((ROOT / "docs" / name).read_text() for name in ("openapi.yaml", "api.md"))
    responses = yaml.safe_load(api)["components"]["responses"]

    assert {*responses["Minted"]["content"]} == {*FORMATS}
    assert {*responses["MintedOrPage"]["content"]} == {*FORMATS, HTML}
    assert [name for name in FORMATS if f"`Accept: {name}`" not in page] == [JSON], "the default needs none"


@pytest.mark.parametrize(("best", "accept"), [(best, accept) for best, values in BEST.items() for accept in values])
def test_the_best_of_what_is_accepted_is_sent(best: tuple[str, str], accept: str) -> None:
    assert (preferred(accept), preferred(accept, HTML)) == best
