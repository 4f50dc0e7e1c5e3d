"""The files that are written from the code have what would be written; for transcripts, test_transcript.py says so."""

import re
from pathlib import Path

import pytest

from local.paths import ROOT
from tools import generated
from tools.generated import (
    DOMAIN_REGION_COSTS,
    FILES,
    HOURS,
    IDLE_COSTS,
    REGION_COSTS,
    SETTINGS_TABLE,
    TRANSCRIPTS,
    refusals,
)

SLOW = ROOT / "docs" / "layouts.md"
"""Its table comes from all losses."""


@pytest.mark.parametrize(
    "path", [path for path in FILES if path not in (SLOW, *TRANSCRIPTS)], ids=lambda path: path.name
)
def test_a_file_has_what_would_be_written(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert FILES[path](text) == text, "if that is meant: make fix, and read the difference"


@pytest.mark.long
def test_the_page_has_the_refusals() -> None:
    text = SLOW.read_text(encoding="utf-8")

    assert FILES[SLOW](text) == text, "if that is meant: make fix, and read the difference"
    assert 3 <= len(refusals()) <= 20


@pytest.mark.parametrize(
    ("page", "part"),
    [
        ("settings.md", "| `memorySize` |"),
        ("operations.md", "| [`ceiling`]"),
        ("operations.md", "| 30 |"),
        ("performance.md", "hosted zones "),
        ("permissions.md", "| `apiGateway`, "),
        ("permissions.md", "| `GET /-/health` at a domain"),
    ],
)
def test_a_table_without_a_row_gets_it(page: str, part: str) -> None:
    path = ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    without = "".join(line for line in text.splitlines(keepends=True) if not line.startswith(part))

    assert without != text
    assert FILES[path](without) == text


@pytest.mark.parametrize("path", [ROOT / "README.md", ROOT / "docs" / "tasks.md"], ids=lambda path: path.name)
def test_an_old_price_is_replaced(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    (found,) = IDLE_COSTS.findall(text)
    old = text.replace(found, "$0.01 a month")

    assert old != text
    assert FILES[path](old) == text


@pytest.mark.parametrize(
    ("page", "pattern", "old"),
    [
        ("api.md", HOURS, "1"),
        ("openapi.yaml", HOURS, "1"),
        ("domain.md", DOMAIN_REGION_COSTS, "| $0.01 | $0.01 |"),
        ("permissions.md", REGION_COSTS, "a region costs at most 0.01 a day, three regions 0.03"),
    ],
)
def test_an_old_figure_is_replaced(page: str, pattern: re.Pattern[str], old: str) -> None:
    path = ROOT / "docs" / page
    text = path.read_text(encoding="utf-8")
    before, count = pattern.subn(old, text)

    assert count == 1
    assert FILES[path](before) == text != before


def test_what_differs_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    same, differs = tmp_path / "same", tmp_path / "differs"
    same.write_text("SAME")
    differs.write_text("differs")
    monkeypatch.setattr(generated, "FILES", {same: str.upper, differs: str.upper})

    assert list(generated.rewritten()) == [differs]
    assert differs.read_text() == "DIFFERS"


def test_the_page_has_the_defaults() -> None:
    (table,) = [match[0] for match in SETTINGS_TABLE.finditer((ROOT / "docs" / "settings.md").read_text())]

    assert "| `memorySize` | integer | `256` |" in table
    assert '| `domain` | string | `""` |' in table
