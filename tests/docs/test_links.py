"""Links on the pages lead somewhere."""

import re
from pathlib import Path

import pytest

from local.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in re.findall(r"\]\(((?!https?:)[^)#]*)(#([^)]*))?\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{page.name}: {target}#{anchor}"


@pytest.mark.parametrize("page", PAGES[1:], ids=lambda page: page.name)
def test_every_page_is_linked_from_the_readme(page: Path) -> None:
    assert f"](docs/{page.name}" in PAGES[0].read_text()


def anchors(page: Path) -> list[str]:
    """Return what GitHub makes of the page's headings."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings]
