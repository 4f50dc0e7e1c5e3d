"""Draw docs/performance.svg from the figures that `make bench` kept. `python docs/draw_performance.py`."""

import json
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "bench" / "figures.json"

ROWS = (
    ("empty", "empty function", "#d3d7dd"),
    ("tutorial", "tutorial (boto3)", "#8a8f98"),
    ("autoincrement", "dynamodb-autoincrement", "#b0b5bd"),
    ("one", "ours", "#2563eb"),
    ("block", "ours, count=100", "#5b86e0"),
    ("lease", "ours, lease=100", "#93b1ee"),
)
CHARTS = (
    ("start_ms", "start, ms", "{:.0f}"),
    ("cpu_ms", "CPU per request, ms", "{:.2f}"),
    ("peak_mb", "peak memory, MB", "{:.0f}"),
    ("units", "write units per integer", "{:.2f}"),
)
MARGIN = 28
LABELS = MARGIN + 182
WIDTH, BAR, GAP, HEAD = 790, 16, 6, 34
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 13px }
  .head { font-weight: 600 } .name { fill: #5d6470; text-anchor: end }
  @media (prefers-color-scheme: dark) { text { fill: #e5e7eb } .name { fill: #b6bcc6 } }
"""


def draw() -> str:
    """Return the picture as SVG."""
    figures: Mapping[str, Mapping[str, float]] = json.loads(FIGURES.read_text())["subjects"]
    shown = {column: [row for row in ROWS if column in figures[row[0]]] for column, _, _ in CHARTS}
    height = sum(HEAD + len(rows) * (BAR + GAP) for rows in shown.values()) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Start, processor time, memory and write units of this function, compared with what users '
        "would otherwise deploy.</title>",
        f"<style>{STYLE}</style>",
    ]
    y = 0
    for column, title, form in CHARTS:
        y += HEAD
        parts.append(f'<text class="head" x="{LABELS}" y="{y - 10}">{title}</text>')
        longest = max(figures[row][column] for row, _, _ in shown[column])
        for row, name, colour in shown[column]:
            value = figures[row][column]
            bar = max(1, value / longest * (WIDTH - LABELS - 80))
            text = y + BAR - 4
            parts += [
                f'<text class="name" x="{LABELS - 8}" y="{text}">{name}</text>',
                f'<rect x="{LABELS}" y="{y}" width="{bar:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
                f'<text x="{LABELS + bar + 6:.1f}" y="{text}">{form.format(value)}</text>',
            ]
            y += BAR + GAP
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / "docs" / "performance.svg").write_text(draw())
