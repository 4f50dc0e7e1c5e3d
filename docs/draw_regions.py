"""Draw docs/regions.svg: three regions and the integers that each mints. `python docs/draw_regions.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lambda"))

from mint.api.pages import colour_of

REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
STRIDE = len(REGIONS)
SHOWN = 12
CELL = 52
MARGIN = 28
LEFT = MARGIN + 150
HEIGHT = 300
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937 }
  .small { font-size: 13px } .number { font-size: 17px; font-weight: 600; fill: #fff; text-anchor: middle }
  .line { stroke: #9ca3af; stroke-width: 1.5 }
  @media (prefers-color-scheme: dark) { text { fill: #e5e7eb } .number { fill: #fff } }
"""


def draw() -> str:
    """Return the picture as SVG."""
    width = LEFT + SHOWN * CELL + MARGIN + 16
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {HEIGHT}" width="{width}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Three regions mint 1, 4, 7 …, 2, 5, 8 … and 3, 6, 9 …; together every integer once.</title>',
        f"<style>{STYLE}</style>",
    ]
    for offset, region in enumerate(REGIONS, 1):
        y, colour = 62 * offset - 14, colour_of(region)
        parts.append(f'<text x="{MARGIN}" y="{y}" font-weight="600">{region}</text>')
        parts.append(f'<text class="small" x="{MARGIN}" y="{y + 18}">offset {offset}, stride {STRIDE}</text>')
        parts.append(f'<line class="line" x1="{LEFT}" y1="{y + 4}" x2="{LEFT + SHOWN * CELL + 10}" y2="{y + 4}"/>')
        for n in range(offset, SHOWN + 1, STRIDE):
            x = LEFT + (n - 0.5) * CELL
            parts.append(f'<line x1="{x}" y1="{y + 22}" x2="{x}" y2="234" stroke="{colour}" stroke-opacity="0.5"/>')
            parts.append(f'<circle cx="{x}" cy="{y + 4}" r="19" fill="{colour}"/>')
            parts.append(f'<text class="number" x="{x}" y="{y + 10}">{n}</text>')
    parts.append(f'<text x="{MARGIN}" y="259" font-weight="600">all together</text>')
    for n in range(1, SHOWN + 1):
        colour = colour_of(REGIONS[(n - 1) % STRIDE])
        x = LEFT + (n - 1) * CELL + 3
        parts.append(f'<rect x="{x}" y="234" width="{CELL - 6}" height="38" rx="7" fill="{colour}"/>')
        parts.append(f'<text class="number" x="{x + CELL / 2 - 3}" y="259">{n}</text>')
    parts.append(f'<text x="{LEFT + SHOWN * CELL + 8}" y="259">…</text>')
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("regions.svg").write_text(draw())
