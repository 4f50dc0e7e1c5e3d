"""Draw docs/layout-change.svg: a region is added, another one is unreachable. `python docs/draw_layout_change.py`."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "lambda"))

from mint.api.pages import colour_of

GREY = "#6b7280"
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2", "us-west-2")
UNREACHABLE = REGIONS[2]
WIDTH, HEIGHT, MARGIN = 900, 556, 28
LEFT, RIGHT = 62, 712
"""Where time begins and ends."""
TOP, BOTTOM = 74, 460
"""The heights of the integers `LAST` and 0."""
LAST = 44
FENCE, BEGIN, BACK = 300, 424, 562
"""When the regions that answer are fenced, when epoch 2 begins, and when the region is back."""
LIMIT, BASE = 30, 31
FENCES = ((13, REGIONS[0]), (14, REGIONS[1]))

MINTS = {
    0: ((84, 1), (165, 4), (246, 7), (328, 10), (446, 33), (528, 37), (606, 41)),
    1: ((111, 2), (192, 5), (273, 8), (382, 11), (474, 34), (552, 38), (668, 42)),
    2: ((138, 3), (219, 6), (355, 9), (408, 12), (452, 15), (500, 18), (545, 21), (586, 31), (626, 35), (690, 39)),
    3: ((502, 32), (578, 36), (646, 40)),
}
"""Each region's integers, and where in time it mints them."""

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 13px }
  .head { font-weight: 600 } .small { font-size: 12px } .middle { text-anchor: middle } .end { text-anchor: end }
  .number { fill: #fff; text-anchor: middle; font-weight: 600; font-size: 11px }
  .axis { stroke: #9ca3af; stroke-width: 1.5 } .event { stroke: #6b7280; stroke-dasharray: 4 4 }
  .limit { stroke: #b91c1c; stroke-width: 2 } .base { stroke: #1f2937; stroke-width: 2 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .number { fill: #fff } .event { stroke: #9ca3af } .limit { stroke: #f87171 }
    .base { stroke: #e5e7eb }
  }
"""


def draw() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Two regions are fenced at 13 and 14. The third one is away and may mint up to the limit 30, '
        "so epoch 2 begins at 31 in all others, and in the third one when it is back.</title>",
        f"<style>{STYLE}</style>",
        *_legend(),
        *_time(),
        *_bounds(),
        *_integers(),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def height(integer: float) -> float:
    """Return where an integer is drawn."""
    return round(BOTTOM - integer * (BOTTOM - TOP) / LAST, 1)


def _legend() -> list[str]:
    parts: list[str] = []
    for index, region in enumerate(REGIONS):
        x = MARGIN + 8 + index * 140
        parts.append(f'<circle cx="{x}" cy="24" r="7" fill="{colour_of(region)}"/>')
        parts.append(f'<text x="{x + 14}" y="29">{region}</text>')
    return parts


def _time() -> list[str]:
    away = height(0) + 52
    events = ((FENCE, "fenced", "by a deployment"), (BEGIN, "epoch 2 begins", "base 31"), (BACK, "back", "renewed"))
    begin, middle = FENCE - 98, (FENCE - 98 + BACK) // 2
    parts = [
        f'<rect x="{begin}" y="{away}" width="{BACK - begin}" height="24" rx="5" fill="{colour_of(UNREACHABLE)}" '
        'fill-opacity="0.18"/>',
        f'<text class="small middle" x="{middle}" y="{away + 16}">'
        f"{UNREACHABLE} is away: it doesn't answer the coordinator</text>",
        f'<line class="axis" x1="{LEFT}" y1="{BOTTOM}" x2="{RIGHT}" y2="{BOTTOM}"/>',
        f'<line class="axis" x1="{LEFT}" y1="{TOP - 16}" x2="{LEFT}" y2="{BOTTOM}"/>',
        f'<text class="small end" x="{RIGHT}" y="{BOTTOM + 18}">time</text>',
        f'<text class="small" x="{MARGIN}" y="{TOP - 22}">integers</text>',
    ]
    for x, what, more in events:
        parts.append(f'<line class="event" x1="{x}" y1="{TOP - 10}" x2="{x}" y2="{BOTTOM}"/>')
        parts.append(f'<text class="head middle" x="{x}" y="{BOTTOM + 20}">{what}</text>')
        parts.append(f'<text class="small middle" x="{x}" y="{BOTTOM + 37}">{more}</text>')
    return parts


def _bounds() -> list[str]:
    limit, base = height(LIMIT), height(BASE) - 2
    skipped = height(14.6)
    parts = [
        f'<rect x="{BEGIN}" y="{TOP - 10}" width="{RIGHT - BEGIN}" height="{base - TOP + 10}" fill="{GREY}" '
        'fill-opacity="0.13"/>',
        f'<line class="limit" x1="{LEFT}" y1="{limit + 2}" x2="{BACK}" y2="{limit + 2}"/>',
        f'<line class="base" x1="{BEGIN}" y1="{base}" x2="{RIGHT}" y2="{base}"/>',
        f'<text class="head" x="{LEFT + 10}" y="{limit - 6}">limit of epoch 1: 30</text>',
        f'<text class="small" x="{LEFT + 10}" y="{limit + 20}">no region may mint more</text>',
        f'<text class="head" x="{RIGHT + 12}" y="{base - 40}">epoch 2</text>',
        f'<text class="small" x="{RIGHT + 12}" y="{base - 22}">above both fences,</text>',
        f'<text class="small" x="{RIGHT + 12}" y="{base - 5}">and above the limit for</text>',
        f'<text class="small" x="{RIGHT + 12}" y="{base + 12}">the one that is away</text>',
        f'<text class="small" x="{RIGHT + 12}" y="{skipped - 22}">integers between the</text>',
        f'<text class="small" x="{RIGHT + 12}" y="{skipped - 5}">fences and the base</text>',
        f'<text class="small" x="{RIGHT + 12}" y="{skipped + 12}">may be skipped</text>',
    ]
    for integer, region in FENCES:
        y, colour = height(integer) - 12 * (integer - 13) - 8, colour_of(region)
        parts.append(f'<line x1="{FENCE}" y1="{y}" x2="{BEGIN}" y2="{y}" stroke="{colour}" stroke-width="3"/>')
        parts.append(f'<text class="small end" x="{FENCE - 8}" y="{y + 4}">fence {integer}</text>')
    return parts


def _integers() -> list[str]:
    parts: list[str] = []
    for index, minted in MINTS.items():
        for x, integer in minted:
            parts.append(f'<circle cx="{x}" cy="{height(integer)}" r="12" fill="{colour_of(REGIONS[index])}"/>')
            parts.append(f'<text class="number" x="{x}" y="{height(integer) + 4}">{integer}</text>')
    return parts


if __name__ == "__main__":
    Path(__file__).with_name("layout-change.svg").write_text(draw())
