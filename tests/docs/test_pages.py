"""The README and the pages: links lead somewhere, what is named exists, pictures and tables are what programs make."""

import re
from pathlib import Path

import pytest
import yaml
from mint.api.pages import colour_of

from local import operator_commands
from local.paths import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
CONTRIBUTORS = [ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")]
README = PAGES[0].read_text()
DRAWINGS = sorted((ROOT / "docs").glob("*.svg"))
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
TABLE = re.findall(r"^\| `([\w/.]+)` \| ", ARCHITECTURE, re.MULTILINE)
LIST = re.findall(r"^\d\. `([\w/.]+)`:", ARCHITECTURE, re.MULTILINE)


@pytest.mark.parametrize("page", [*PAGES, *CONTRIBUTORS], ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target, _, anchor in re.findall(r"\]\(((?!https?:)[^)#]*)(#([^)]*))?\)", page.read_text()):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{page.name}: {target}#{anchor}"


def anchors(page: Path) -> list[str]:
    """Return what GitHub makes of the page's headings."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)  # a shell's comments are none
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings]


def test_every_page_is_linked_from_the_readme() -> None:
    assert [page.name for page in PAGES[1:] if f"](docs/{page.name}" not in README] == []


def test_the_readme_has_at_most_800_words() -> None:
    assert len(README.split()) <= 800


def test_the_readmes_table_is_what_the_demo_prints(monkeypatch: pytest.MonkeyPatch) -> None:
    (shown,) = re.findall(r"```text\n(.*?)\n```", README, re.DOTALL)
    regions = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["global-integers:regions"]
    _, _, *rows = shown.splitlines()
    urls = {row.split()[0]: url.strip() for row, url in zip(rows[::2], rows[1::2], strict=True)}
    offsets = {urls[region]: offset for offset, region in enumerate(regions, 1)}
    minted: dict[str, int] = {}

    def mint(url: str, **_: str) -> int:
        minted[url] = minted.get(url, offsets[url] - len(regions)) + len(regions)
        return minted[url]

    monkeypatch.setattr(operator_commands, "mint", mint)
    layout = {region: {"offset": offset, "stride": len(regions)} for offset, region in enumerate(regions, 1)}
    outputs = {"regions": regions, "layout": layout, "urls": urls}

    assert shown == operator_commands.table(outputs, operator_commands.mint_everywhere(outputs))


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_a_picture_can_be_read_on_light_and_dark_pages(drawing: Path) -> None:
    picture = drawing.read_text()
    _, _, width, height = re.findall(r'viewBox="(\d+) (\d+) (\d+) (\d+)"', picture)[0]

    assert re.search(r"prefers-color-scheme: dark\) \{\s*text \{ fill: #e", picture)
    assert f'<rect width="{width}" height="{height}"' not in picture, "it has no background of its own"
    assert "<title" in picture


@pytest.mark.parametrize("drawing", ["regions", "layout-change"])
def test_a_region_has_the_colour_that_it_has_on_the_page(drawing: str) -> None:
    picture = (ROOT / "docs" / f"{drawing}.svg").read_text()

    for region in ("us-east-1", "eu-west-1", "ap-southeast-2"):
        assert re.search(rf'<circle cx="\S+" cy="\S+" r="\d+" fill="{colour_of(region)}"/>', picture)


def test_the_architecture_names_folders_and_files_that_exist() -> None:
    assert {"global_integers_core/", "components/", "lambda/mint/", "lambda/coordinate/", "local/", "tests/"} <= set(
        TABLE
    )
    assert len(LIST) == 3
    assert [path for path in (*TABLE, *LIST) if not (ROOT / path).exists()] == []


@pytest.mark.parametrize("folder", [path for path in TABLE if path.endswith("/")])
def test_the_files_named_in_a_row_are_in_its_folder(folder: str) -> None:
    (row,) = re.findall(rf"^\| `{folder}` \| (.*) \|$", ARCHITECTURE, re.MULTILINE)

    named = [name for name in re.findall(r"`([\w/]+(?:\.\w+|/))`", row) if name != "__main__.py"]
    assert [name for name in named if not (ROOT / folder / name).exists()] == []
