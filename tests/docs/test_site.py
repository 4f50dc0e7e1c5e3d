"""`make site` builds the documentation as a site that needs no server and no other one."""

import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlencode

import global_integers.testing
import pytest
from playwright.sync_api import Page, Request

import components
from components.settings.args import SETTINGS
from local.paths import ROOT
from tests.local.browser import browser
from tools.built_site import found_in

pytestmark = [pytest.mark.long, pytest.mark.needs("make")]

ONLY_TYPES = ("global_integers.Event", "global_integers.testing.Fault")
"""What stands for several types or texts, and has no text of its own."""

FOUND_FIRST = {
    "what does it cost": "What it costs",
    "back up": "Back up and restore",
    "archive": "Delete, archive or rename a counter",
    "monthly or yearly numbers": "Numbers that restart every year",
    "a region is down": "Tasks",  # several headings have these words
}
"""What a user asks → the heading of docs/tasks.md, or the page."""


def public(client: type) -> list[str]:
    """Return the methods that callers use; a client calls the two others for itself."""
    return [name for name in dir(client) if not name.startswith("_") and name not in ("drop", "forget")]


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run(["make", "site", f"PYTHON={sys.executable}"], cwd=ROOT, check=True)
    return ROOT / "dist" / "site"


@pytest.fixture(scope="module")
def phone() -> Generator[Page]:
    """A page in a browser that finds nothing but files."""

    def note(request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            elsewhere.append(request.url)

    elsewhere: list[str] = []
    with browser() as chromium:
        context = chromium.new_context(viewport={"width": 390, "height": 844})
        context.on("request", note)
        yield context.new_page()
    assert elsewhere == []


def test_the_built_site_has_no_wrong_link(site: Path) -> None:
    assert list(found_in(site)) == []
    assert len(list(site.rglob("*.html"))) > 20


def test_a_link_to_a_source_leads_to_the_repository_if_any(site: Path, tmp_path: Path) -> None:
    url = "https://git.example/us/it"
    sphinx = [ROOT / ".venv-site" / "bin" / "python", "-m", "sphinx", "-q", "-W", "-E", "-D", f"repository={url}"]
    subprocess.run([*sphinx, "-c", "docs/site", "-d", tmp_path / "read", ".", tmp_path / "site"], cwd=ROOT, check=True)

    layouts, examples = "docs/layouts.html", "examples/README.html"
    assert f'href="{url}/tree/main/tests/proof/simulation/transcripts"' in (tmp_path / "site" / layouts).read_text()
    assert f'href="{url}/blob/main/examples/go/main.go"' in (tmp_path / "site" / examples).read_text()
    assert "(<code" in (site / examples).read_text()


def test_the_reference_has_what_programs_import(site: Path) -> None:
    text = "".join(path.read_text() for path in (site / "docs" / "reference").glob("*.html"))
    clients = ("Integers", "AsyncIntegers", "Counter", "AsyncCounter")
    methods = [f"{name}.{each}" for name in clients for each in public(getattr(global_integers, name))]
    names = [
        *(f"global_integers.{name}" for name in (*global_integers.__all__, *methods)),
        *(f"global_integers.testing.{name}" for name in global_integers.testing.__all__),
        *(f"pulumi_global_integers.{name}" for name in components.__all__),
        *(f"pulumi_global_integers.GlobalIntegersArgs.{name}" for name in SETTINGS),
        *(f"pulumi_global_integers.GlobalIntegers.{name}" for name in components.GlobalIntegers.__annotations__),
    ]

    assert "global_integers.AsyncIntegers.next" in names
    assert [name for name in names if f'id="{name}"' not in text and name not in ONLY_TYPES] == []
    prose = re.sub(r"<[^>]*>", "", re.sub(r"<pre>.*?</pre>", "", text, flags=re.DOTALL))
    assert not re.search(r"(?<!`)`\w+`", prose), "a docstring's code shows its backticks"


@pytest.mark.needs("chromium")
def test_pages_fit_a_phone(site: Path, phone: Page) -> None:
    for path in sorted(site.rglob("*.html")):
        phone.goto(path.as_uri())
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390, path.name


@pytest.mark.needs("chromium")
def test_a_search_finds_tasks_first(site: Path, phone: Page) -> None:
    found: dict[str, str] = {}
    for question in FOUND_FIRST:
        phone.goto(f"{(site / 'search.html').as_uri()}?{urlencode({'q': question})}")
        phone.wait_for_selector("#search-results li a")
        found[question] = phone.locator("#search-results li a").first.inner_text().removeprefix("Tasks > ")

    assert found == FOUND_FIRST
