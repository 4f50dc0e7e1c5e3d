"""`make site` builds the documentation as a site that needs no server and no other one."""

import re
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path
from urllib.parse import urlencode

import global_integers.testing
import pytest
from playwright.sync_api import Browser, Page, Request

import components
from components.settings.args import SETTINGS
from local.paths import ROOT
from tests.docs.test_tasks import TASKS
from tests.local.browser import browser
from tools.built_site import found_in

SITE = ROOT / "dist" / "site"
CONFIGURATION = (ROOT / "docs" / "site" / "conf.py").read_text()


ONLY_TYPES = ("global_integers.Event", "global_integers.testing.Fault")
"""What stands for several types or texts, and has no text of its own."""


def public(client: type) -> list[str]:
    """Return the methods that callers use; a client calls the two others for itself."""
    return [name for name in dir(client) if not name.startswith("_") and name not in ("drop", "forget")]


@pytest.mark.parametrize("name", [path.name for path in sorted((ROOT / "docs").glob("*.md"))])
def test_a_page_has_a_place_in_the_order_of_reading(name: str) -> None:
    assert re.search(rf'["<]docs/{name.removesuffix(".md")}[">]', CONFIGURATION), f"add {name} to CONTENTS in conf.py"


@pytest.fixture(scope="module")
def site() -> Path:
    subprocess.run(["make", "site", f"PYTHON={sys.executable}"], cwd=ROOT, check=True)
    return SITE


@pytest.fixture(scope="module")
def chromium() -> Generator[Browser]:
    with browser() as launched:
        yield launched


@pytest.fixture
def elsewhere() -> list[str]:
    """The URLs that pages requested, other than files."""
    return []


@pytest.fixture
def phone(chromium: Browser, elsewhere: list[str]) -> Generator[Page]:
    context = chromium.new_context(viewport={"width": 390, "height": 844}, color_scheme="dark")

    def note(request: Request) -> None:
        if not request.url.startswith(("file:", "data:")):
            elsewhere.append(request.url)

    context.on("request", note)
    yield context.new_page()
    context.close()


@pytest.mark.long
@pytest.mark.needs("make")
def test_the_built_site_has_no_wrong_link(site: Path) -> None:
    assert list(found_in(site)) == []
    assert len(list(site.rglob("*.html"))) > 20


@pytest.mark.long
@pytest.mark.needs("make")
def test_a_link_to_a_source_leads_to_the_repository_if_any(site: Path, tmp_path: Path) -> None:
    url = "https://git.example/us/it"
    sphinx = [ROOT / ".venv-site" / "bin" / "python", "-m", "sphinx", "-q", "-W", "-E", "-D", f"repository={url}"]
    subprocess.run([*sphinx, "-c", "docs/site", "-d", tmp_path / "read", ".", tmp_path / "site"], cwd=ROOT, check=True)

    layouts, examples = "docs/layouts.html", "examples/README.html"
    assert f'href="{url}/tree/main/tests/proof/simulation/transcripts"' in (tmp_path / "site" / layouts).read_text()
    assert f'href="{url}/blob/main/examples/go/main.go"' in (tmp_path / "site" / examples).read_text()
    assert "(<code" in (site / examples).read_text()


@pytest.mark.long
@pytest.mark.needs("make")
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
    assert not re.search(r"(?<!`)`\w+`", re.sub(r"<[^>]*>", "", text)), "a docstring's code shows its backticks"


@pytest.mark.long
@pytest.mark.needs("make", "chromium")
def test_pages_fit_a_phone_and_request_nothing(site: Path, phone: Page, elsewhere: list[str]) -> None:
    for path in sorted(site.rglob("*.html")):
        phone.goto(path.as_uri())
        assert phone.evaluate("document.documentElement.scrollWidth") <= 390, path.name
    assert elsewhere == []


@pytest.mark.long
@pytest.mark.needs("make", "chromium")
def test_it_is_searched_without_a_server(site: Path, phone: Page, elsewhere: list[str]) -> None:
    phone.goto(f"{(site / 'search.html').as_uri()}?q=window")
    phone.wait_for_selector("#search-results li a")

    assert "Settings" in phone.locator("#search-results li a").all_inner_texts()
    assert elsewhere == []


@pytest.mark.long
@pytest.mark.needs("make", "chromium")
def test_a_search_finds_tasks_first(site: Path, phone: Page) -> None:
    asked = {**dict(zip(TASKS.values(), TASKS.values(), strict=True)), **TASKS}
    asked |= {"restore a table": "Back up and restore", "archive": "Delete, archive or rename a counter"}
    several = ("3 → 4 regions", "A region is down", "a region is down")  # several headings have these words
    asked |= dict.fromkeys(several, "Tasks")
    found: dict[str, str] = {}
    for question in asked:
        phone.goto(f"{(site / 'search.html').as_uri()}?{urlencode({'q': question})}")
        phone.wait_for_selector("#search-results li a")
        found[question] = (
            phone.locator("#search-results li a").first.inner_text().removeprefix("Tasks > ").replace("’", "'")
        )
    assert found == asked


@pytest.mark.long
@pytest.mark.needs("make", "chromium")
def test_it_is_dark_where_the_browser_is_dark(site: Path, phone: Page) -> None:
    background = "getComputedStyle(document.body).backgroundColor.match(/\\d+/g).every((part) => part < 64)"

    phone.goto((site / "index.html").as_uri())
    assert phone.evaluate(background) is True
    phone.emulate_media(color_scheme="light")
    assert phone.evaluate(background) is False
