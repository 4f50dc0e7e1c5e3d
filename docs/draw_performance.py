"""`python docs/draw_performance.py`: draws the figures that `make bench` kept, as docs/performance.svg."""

import json
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FIGURES = ROOT / "bench" / "figures.json"

ROWS = (
    ("tutorial", "tutorial (boto3)", "#8a8f98"),
    ("autoincrement", "dynamodb-autoincrement", "#b9bec6"),
    ("one", "ours", "#2456c7"),
    ("block", "ours, count=100", "#5b86e0"),
    ("lease", "ours, lease=100", "#93b1ee"),
)
CHARTS = (
    ("init_ms", "init, ms", "{:.0f}"),
    ("cpu_ms", "CPU a request, ms", "{:.2f}"),
    ("peak_mb", "peak memory, MB", "{:.0f}"),
    ("units", "write units an integer", "{:.2f}"),
)
WIDTH, LABELS, BAR, GAP, HEAD = 760, 190, 16, 6, 34


def draw() -> str:
    figures: Mapping[str, Mapping[str, float]] = json.loads(FIGURES.read_text())["subjects"]
    height = len(CHARTS) * (HEAD + len(ROWS) * (BAR + GAP)) + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
        'font-family="system-ui, sans-serif" font-size="13" role="img">',
        "<title>Init, processor time, memory and write units: ours beside what users would otherwise deploy</title>",
        f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
    ]
    y = 0
    for column, title, form in CHARTS:
        y += HEAD
        parts.append(f'<text x="{LABELS}" y="{y - 10}" fill="#1c1f26" font-weight="600">{title}</text>')
        longest = max(figures[row][column] for row, _, _ in ROWS)
        for row, name, colour in ROWS:
            value = figures[row][column]
            bar = max(1, value / longest * (WIDTH - LABELS - 80))
            text = y + BAR - 4
            parts += [
                f'<text x="{LABELS - 8}" y="{text}" fill="#5d6470" text-anchor="end">{name}</text>',
                f'<rect x="{LABELS}" y="{y}" width="{bar:.1f}" height="{BAR}" rx="2" fill="{colour}"/>',
                f'<text x="{LABELS + bar + 6:.1f}" y="{text}" fill="#1c1f26">{form.format(value)}</text>',
            ]
            y += BAR + GAP
    return "\n".join([*parts, "</svg>", ""])


if __name__ == "__main__":
    (ROOT / "docs" / "performance.svg").write_text(draw())
