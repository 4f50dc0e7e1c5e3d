"""The pictures are what their programs draw, and can be read in dark mode."""

import re
import runpy
from pathlib import Path

import pytest

DRAWINGS = sorted((Path(__file__).resolve().parents[2] / "docs").glob("draw_*.py"))


def picture_of(drawing: Path) -> str:
    return drawing.with_name(drawing.stem.removeprefix("draw_").replace("_", "-") + ".svg").read_text()


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_the_picture_is_what_its_program_draws(drawing: Path) -> None:
    assert picture_of(drawing) == runpy.run_path(str(drawing))["draw"]()


@pytest.mark.parametrize("drawing", DRAWINGS, ids=lambda path: path.stem)
def test_it_has_a_dark_style_and_no_background_of_its_own(drawing: Path) -> None:
    picture = picture_of(drawing)
    _, _, width, height = re.findall(r'viewBox="(\d+) (\d+) (\d+) (\d+)"', picture)[0]

    assert re.search(r"prefers-color-scheme: dark\) \{\s*text \{ fill: #e", picture)
    assert f'<rect width="{width}" height="{height}"' not in picture
    assert "<title" in picture
