"""How figures are shown, as a table and as bars, and where `make bench` keeps the last ones."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

FILE = Path(__file__).resolve().parent / "figures.json"
PICTURE = FILE.parent.parent / "docs" / "performance.svg"

Figures = Mapping[str, Mapping[str, float]]
"""By subject and column."""

Columns = Mapping[str, tuple[str, str]]
"""Column → heading and format."""

CHARTS: Columns = {
    "start_ms": ("start, ms", "{:.0f}"),
    "cpu_ms": ("CPU per request, ms", "{:.2f}"),
    "peak_mb": ("peak memory, MB", "{:.0f}"),
    "units": ("write units per integer", "{:.2f}"),
}
COLOURS = ("#d3d7dd", "#8a8f98", "#2563eb", "#5b86e0", "#93b1ee")
"""Of each subject's bars."""

MARGIN = 28
LABELS = MARGIN + 182
WIDTH, BAR, GAP, HEAD = 790, 16, 6, 34
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 13px }
  .head { font-weight: 600 } .name { fill: #5d6470; text-anchor: end }
  @media (prefers-color-scheme: dark) { text { fill: #e5e7eb } .name { fill: #b6bcc6 } }
"""


def aligned(rows: Sequence[Sequence[str]], *, names: bool = False) -> str:
    """Return rows as a table whose cells stand at the right; those of the first column at the left, if `names`."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = [[cell.rjust(width) for cell, width in zip(row, widths, strict=True)] for row in rows]
    if names:
        lines = [[row[0].ljust(widths[0]), *line[1:]] for row, line in zip(rows, lines, strict=True)]
    return "\n".join("  ".join(line).rstrip() for line in lines)


def compared(figures: Figures, subjects: Mapping[str, str], columns: Columns) -> str:
    """Return a table with a row per subject, under its title. Figures that a subject doesn't have are left empty."""
    rows = [["", *(title for title, _ in columns.values())]]
    for subject, row in figures.items():
        cells = (form.format(row[column]) if column in row else "" for column, (_, form) in columns.items())
        rows.append([subjects[subject], *cells])
    return aligned(rows, names=True)


def drawn(figures: Figures, subjects: Mapping[str, str]) -> str:
    """Return bars of the figures of each subject, as SVG."""
    shown = {column: [row for row in subjects if column in figures[row]] for column in CHARTS}
    height = sum(HEAD + len(rows) * (BAR + GAP) for rows in shown.values()) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Start, processor time, memory and write units of this function, compared with what users '
        "would otherwise deploy.</title>",
        f"<style>{STYLE}</style>",
    ]
    colours = dict(zip(subjects, COLOURS, strict=True))
    y = 0
    for column, (title, form) in CHARTS.items():
        y += HEAD
        parts.append(f'<text class="head" x="{LABELS}" y="{y - 10}">{title}</text>')
        longest = max(figures[row][column] for row in shown[column])
        for row in shown[column]:
            value = figures[row][column]
            bar = max(1, value / longest * (WIDTH - LABELS - 80))
            text = y + BAR - 4
            parts += [
                f'<text class="name" x="{LABELS - 8}" y="{text}">{subjects[row]}</text>',
                f'<rect x="{LABELS}" y="{y}" width="{bar:.1f}" height="{BAR}" rx="2" fill="{colours[row]}"/>',
                f'<text x="{LABELS + bar + 6:.1f}" y="{text}">{form.format(value)}</text>',
            ]
            y += BAR + GAP
    return "\n".join([*parts, "</svg>", ""])


def read() -> dict[str, Figures]:
    """Return the figures that were kept last: `subjects`, `https` and `callers`."""
    return json.loads(FILE.read_text())


def write(**parts: Figures) -> None:
    """Keep figures. Those of other parts stay as they are."""
    FILE.write_text(json.dumps(read() | parts, indent=2) + "\n")
