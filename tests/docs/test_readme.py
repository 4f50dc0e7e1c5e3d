"""The README says what is so."""

import json
import re
import subprocess
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_settings_are_those_of_the_project_file() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| (.+?) \| (.+) \|$", README, re.MULTILINE)
    declared = yaml.safe_load((ROOT / "Pulumi.yaml").read_text())["config"]

    assert rows == [
        (
            key,
            entry["type"],
            f"`{entry['default'] if isinstance(entry['default'], str) else json.dumps(entry['default'])}`"
            if "default" in entry
            else "required",
            entry["description"],
        )
        for key, entry in declared.items()
    ]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    text = page.read_text()
    for target, _, anchor in re.findall(r"\]\(((?!https?:)[^)#]*)(#([^)]*))?\)", text):
        linked = page.parent / target if target else page
        assert linked.exists(), f"{page.name}: {target}"
        if anchor:
            headings = [
                re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-")
                for heading in re.findall(r"^#+ (.+)$", linked.read_text(), re.MULTILINE)
            ]
            assert anchor in headings, f"{page.name}: {target}#{anchor}"


def test_every_make_target_that_is_named_exists() -> None:
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = {name for page in PAGES for name in re.findall(r"(?:^|`)make ([a-z]+)", page.read_text(), re.MULTILINE)}

    assert {"demo", "test", "down"} <= named
    assert named <= targets


@pytest.mark.needs("make")
def test_make_help_lists_every_target() -> None:
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    targets = re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert all(f"make {target}" in shown for target in targets if target != "help")


@pytest.mark.parametrize("drawing", sorted((ROOT / "docs").glob("draw_*.py")), ids=lambda path: path.name)
def test_the_pictures_are_what_their_programs_draw(drawing: Path) -> None:
    import runpy

    drawn = runpy.run_path(str(drawing))["draw"]()
    picture = drawing.with_name(drawing.stem.removeprefix("draw_").replace("_", "-") + ".svg")

    assert picture.read_text() == drawn


def test_the_runbook_quotes_the_message_of_a_lost_table() -> None:
    from coordinate.model import Register
    from coordinate.refusals import lost

    said = str(lost(Register("integers", 1, ("eu-west-1",), 1, "x"), "eu-west-1", None))

    assert said in (ROOT / "docs" / "runbook.md").read_text()
