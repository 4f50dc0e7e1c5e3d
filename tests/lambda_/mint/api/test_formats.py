"""The client chooses the format; `exchanges/minting.txt` has what it gets."""

import pytest
import yaml
from mint.api.formats import FORMATS, HTML, preferred, wants_page

from local.paths import ROOT

JSON = "application/json"
TEXT = "text/plain"
BEST = {
    JSON: ["*/*", "", JSON, "text/plain, application/json", "text/plain;q=0, */*", "image/png", ",;,q=;;"],
    TEXT: [TEXT, "TEXT/PLAIN", "text/*", "application/json;q=0.5, text/plain", "text/plain;q=0.5, */*;q=0.1"],
}
BEST[JSON] += [
    "text/html",
    "text/plain;q=0, text/*",
    *(f"text/plain;q={weight}" for weight in ("x", ".2", "1.5", "-1")),
]
BEST[TEXT] += ["application/json;q=0.1, */*", "text/*;q=0.1, application/json;q=0.5, text/plain"]
BEST[TEXT] += ["application/json;q=.9, text/plain;q=0.1", "text/plain, application/json;q=0.5, text/plain;q=0"]
"""What is sent → values of `Accept`."""

CHROMIUM = "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,image/webp,*/*;q=0.8"
JAVA = "text/html, image/gif, image/jpeg, */*; q=0.2"
"""Of Java's `HttpURLConnection`, and with `*` before the last one, until Java 18."""

OPERA = "text/html, application/xml;q=0.9, application/xhtml+xml, image/png, */*;q=0.1"
AGENT = "text/markdown, text/html, */*"
EWW = "text/html, text/plain, text/sgml, text/css, application/xhtml+xml, */*;q=0.01"

PAGE = [
    *((accept, "") for accept in ("text/html", "TEXT/HTML;level=1", "text/html;q=0.2", "text/html,")),
    ("text/html, application/json;q=0.9", "curl/8"),
    *((accept, "Mozilla/5.0 (X11)") for accept in (CHROMIUM, JAVA.replace(" */*", " *; q=.2, */*"), AGENT)),
    ("text/html, application/xhtml+xml, */*", "Mozilla/5.0 (MSIE)"),
    (OPERA, "Opera/9.80 (J2ME/MIDP; Opera Mini/9.5/37.8069; U; en) Presto/2.12.423"),
    ("text/html, text/plain, text/sgml, */*;q=0.01", "Lynx/2.9"),
    ("text/html, text/*;q=0.5, image/*", "w3m/0.5.3"),
    ("text/html,*/*", "w3m/0.5"),
    ("text/*", "Links (2.28; Linux)"),
    ("text/html;q=0.5, text/plain", "Links (2.29; Linux)"),
    ("*/*", "ELinks/0.13.2 (textmode; Linux)"),
    *(("*/*", agent) for agent in ("NetSurf/3.10 (Linux)", "Mozilla/5.0 (X11; Linux) NetSurf/3.11")),
    ("text/*,image/*,*/*;q=0.2", "Dillo/3.1.1"),
]
"""`Accept` and `User-Agent` of those who get a page without a header of Sec-Fetch."""

MINTS = [
    *((accept, "Mozilla/5.0") for accept in ("*/*", "application/json, text/plain, */*", "text/*")),
    *((accept, "Mozilla/5.0") for accept in ("text/html;q=0", "application/xhtml+xml, */*;q=0.5")),
    *((accept, "") for accept in ("", "text/html;q=.9", "text/html;q=2")),
    (JAVA, "Java/17.0.1"),
    (JAVA.replace(" */*", " *; q=.2, */*"), "Java/1.8"),
    (CHROMIUM, "python-requests/2"),
    ("text/html, application/xhtml+xml, */*", "okhttp/4.12"),
    ("text/html;q=0.5, application/json", "undici"),
    ("application/xhtml+xml", "Lynx/2.9"),
    ("text/html, */*", "curl/8 Mozilla/5.0"),
    (AGENT, "Claude-User (claude-code/2.1)"),
    ("text/markdown, text/html;q=0.9, */*;q=0.8", "node"),
    (EWW, "URL/Emacs Emacs/29.1 (X11; x86_64-pc-linux-gnu)"),
]
NO_HTML = {accept for accept, _ in MINTS if "text/html" not in accept} | {
    "text/html;q=.9",
    "text/html;q=0",
    "text/html;q=2",
}
"""Those that don't accept HTML at all."""


def test_the_pages_describe_every_format() -> None:
    api, page = ((ROOT / "docs" / name).read_text() for name in ("openapi.yaml", "api.md"))
    responses = yaml.safe_load(api)["components"]["responses"]

    assert {*responses["Minted"]["content"]} == {*FORMATS}
    assert {*responses["MintedOrPage"]["content"]} == {*FORMATS, HTML}
    assert [name for name in FORMATS if f"`Accept: {name}`" not in page] == [JSON], "the default needs none"


@pytest.mark.parametrize(("best", "accept"), [(best, accept) for best, values in BEST.items() for accept in values])
def test_the_best_of_what_is_accepted_is_sent(best: str, accept: str) -> None:
    assert preferred(accept) == best


@pytest.mark.parametrize(
    ("html", "accept", "agent"),
    [(html, *sent) for html, rows in ((True, PAGE), (False, MINTS)) for sent in rows],
)
def test_a_page_is_for_people(html: bool, accept: str, agent: str) -> None:
    headers, only = (
        {"accept": accept, "user-agent": agent},
        html and "*" not in accept and "," not in accept.rstrip(","),
    )
    assert wants_page(headers) == html
    assert wants_page(headers | {"sec-fetch-site": "none"}) == only, "a browser that knows it says that it navigates"
    assert wants_page(headers | {"sec-fetch-mode": "cors"}) == only
    assert wants_page(headers | {"sec-fetch-mode": "navigate"}) == (html or accept not in NO_HTML)
