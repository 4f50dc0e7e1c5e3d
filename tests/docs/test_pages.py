"""The README and the pages: links lead somewhere, what is named exists, tables are what programs make."""

import re
from pathlib import Path

import pytest
import yaml

from components.monitoring.alarms import ALARMS
from local import operator_commands
from local.paths import ROOT
from tests.docs.pages import PAGES, blocks, code, page

CONTRIBUTORS = [ROOT / f"{name}.md" for name in ("CONTRIBUTING", "CHANGELOG", "SECURITY")]
README = page("../README.md")


@pytest.mark.parametrize("path", [*PAGES, *CONTRIBUTORS], ids=lambda path: path.name)
def test_links_lead_somewhere(path: Path) -> None:
    for target, _, anchor in re.findall(r"\]\(((?!https?:)[^)#]*)(#([^)]*))?\)", path.read_text()):
        linked = path.parent / target if target else path
        assert linked.exists(), f"{path.name}: {target}"
        if anchor:
            assert anchor in anchors(linked), f"{path.name}: {target}#{anchor}"


def anchors(path: Path) -> list[str]:
    """Return what GitHub makes of the page's headings."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)  # a shell's comments are none
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return [re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings]


def test_a_reader_finds_every_page_and_the_tasks_first() -> None:
    links = re.findall(r"\]\(docs/([^)#]+)", README.partition("## Read more\n")[2])
    order = (ROOT / "docs" / "site" / "conf.py").read_text()

    assert links[0] == re.findall(r"\]\(([^)]+)\)", page("runbook.md"))[0] == "tasks.md"
    for path in PAGES[1:]:
        assert f"](docs/{path.name}" in README
        assert re.search(rf'["<]docs/{path.stem}[">]', order), f"add {path.name} to CONTENTS in conf.py"


def test_the_readmes_table_is_what_the_demo_prints() -> None:
    shown = code(README, "text").rstrip()
    regions = yaml.safe_load((ROOT / "Pulumi.dev.yaml").read_text())["config"]["global-integers:regions"]
    _, _, *rows = shown.splitlines()
    urls = {row.split()[0]: url.strip() for row, url in zip(rows[::2], rows[1::2], strict=True)}
    stride = len(regions)
    first = {region: [*range(offset, 5 * stride + 1, stride)] for offset, region in enumerate(regions, 1)}
    layout = {region: {"offset": offset, "stride": stride} for offset, region in enumerate(regions, 1)}
    outputs = {"regions": regions, "layout": layout, "urls": urls}

    assert shown == operator_commands.table(outputs, first)


def test_the_readmes_first_lines_of_code_mint_an_integer() -> None:
    lines = "".join(code for _, code in blocks(README)).splitlines()[:10]

    assert any(re.search(r"\.next\(\)  # .*\d", line) for line in lines)


def test_the_architecture_names_folders_and_files_that_exist() -> None:
    text = page("architecture.md")
    rows = dict(re.findall(r"^\| `([\w/.]+)` \| (.*) \|$", text, re.MULTILINE))
    files = [*rows, *re.findall(r"^\d\. `([\w/.]+)`:", text, re.MULTILINE)]
    for folder, row in rows.items():
        named = re.findall(r"`([\w/]+(?:\.\w+|/))`", row) if folder.endswith("/") else []
        files += [f"{folder}{name}" for name in named if name != "__main__.py"]

    assert {"components/", "lambda/mint/", "lambda/coordinate/", "local/", "tests/"} <= {*files}
    assert [path for path in files if not (ROOT / path).exists()] == []


def test_every_alarm_has_its_paragraph_in_order() -> None:
    parts = re.split(r"^### (\w+)\n", page("operations.md").partition("## What it costs")[0], flags=re.MULTILINE)

    assert parts[1::2] == [*ALARMS]
    for name, text in zip(parts[1::2], parts[2::2], strict=True):
        assert re.findall(r"^\*(.*?)\* ", text, re.MULTILINE) == ["Look at", "Do"], name


def test_the_phases_of_the_log_are_named() -> None:
    phases = ["created", "begun", "joined", "granted", "put back", "lost", "deleting"]
    phases += ["stray", "unreachable", "throttled", "denied"]
    logging = [(ROOT / "lambda" / "coordinate" / file).read_text() for file in ("log.py", "dynamodb/calls.py")]

    assert [phase for phase in phases if f"`{phase}`" not in page("layouts.md")] == []
    assert [phase for phase in phases if f'"{phase}"' not in "".join(logging)] == []
