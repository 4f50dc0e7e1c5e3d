"""The files that are written from the code have what would be written; of .txt files, other tests say so."""

import re
from pathlib import Path

import pytest

from local.paths import ROOT
from tools import generated
from tools.generated import FILES, PAGES, PARTS, REFUSALS_TABLE, SLOW, refusals


@pytest.mark.parametrize("path", [path for path in FILES if path.suffix != ".txt"], ids=lambda path: path.name)
def test_a_file_has_what_would_be_written(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(generated, "PARTS", {part: PARTS[part] for part in PARTS if part not in SLOW})
    text = path.read_text(encoding="utf-8")

    assert FILES[path](text) == text, "if that is meant: make fix, and read the difference"


@pytest.mark.long
def test_the_page_has_the_refusals() -> None:
    text = (ROOT / "docs" / "layouts.md").read_text(encoding="utf-8")

    assert REFUSALS_TABLE.sub("".join(refusals()), text) == text, "if that is meant: make fix, and read the difference"
    assert 3 <= len(refusals()) <= 20


@pytest.mark.parametrize("pattern", [part for part in PARTS if part not in SLOW], ids=lambda part: part.pattern[-40:])
def test_old_figures_are_found_and_replaced(pattern: re.Pattern[str]) -> None:
    texts = [page.read_text(encoding="utf-8") for page in PAGES]
    pages = [text for text in texts if pattern.search(text)]

    assert pages
    for text in pages:
        old = pattern.sub(lambda part: re.sub(r"\d", "1", part[0]), text)
        assert old != text
        assert pattern.sub(lambda _: PARTS[pattern](), old) == text
