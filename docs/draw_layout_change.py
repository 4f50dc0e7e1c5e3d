"""Draw docs/layout-change.svg: a third region is added while two mint. `python docs/draw_layout_change.py`."""

from pathlib import Path

BLUE, ORANGE, GREEN, GREY = "#2563eb", "#c2410c", "#15803d", "#6b7280"
LANES = (("us-east-1", BLUE, 70), ("eu-west-1", ORANGE, 150), ("ap-southeast-2", GREEN, 230))
MARGIN = 28
SIZE = (900, 352)
STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 13px }
  .head { font-weight: 600 } .number { fill: #fff; text-anchor: middle; font-weight: 600; font-size: 11px }
  .register { font-size: 12px; text-anchor: middle } .grey { stroke: #6b7280 }
  @media (prefers-color-scheme: dark) { text { fill: #e5e7eb } .number { fill: #fff } .grey { stroke: #9ca3af } }
"""
MINTS = {
    0: ((170, "1"), (215, "3"), (275, "5"), (340, "7"), (400, "9"), (455, "11"), (660, "28"), (730, "31"), (800, "34")),
    1: ((190, "2"), (290, "4"), (365, "6"), (430, "8"), (500, "10"), (690, "29"), (770, "32")),
    2: ((705, "30"), (785, "33")),
}
EVENTS = (
    (250, "decided", "next: 3 regions"),
    (385, "fenced", "ceilings 27 and 26"),
    (600, "opened", "epoch 2, base 28"),
)


def draw() -> str:
    """Return the picture as SVG. Positions in the tables above are without the margin."""
    width, height = SIZE
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Two regions mint below their fenced ceilings 27 and 26 until epoch 2 opens at base 28 in '
        "all three regions.</title>",
        f"<style>{STYLE}</style>",
        f'<g transform="translate({MARGIN} 0)">',
        f'<rect x="385" y="40" width="215" height="225" fill="{GREY}" fill-opacity="0.13"/>',
        '<text x="492" y="34" text-anchor="middle">minting goes on, up to the ceilings</text>',
    ]
    for index, (region, colour, y) in enumerate(LANES):
        begin = 150 if index < 2 else 600
        parts.append(f'<text class="head" x="0" y="{y + 5}">{region}</text>')
        parts.append(f'<line x1="{begin}" y1="{y}" x2="845" y2="{y}" stroke="{colour}" stroke-width="2"/>')
        for x, number in MINTS[index]:
            parts.append(f'<circle cx="{x}" cy="{y}" r="13" fill="{colour}"/>')
            parts.append(f'<text class="number" x="{x}" y="{y + 4}">{number}</text>')
    parts.append('<text class="head" x="0" y="299">register</text>')
    parts.append('<line class="grey" x1="150" y1="295" x2="845" y2="295" stroke-width="2"/>')
    for x, what, more in EVENTS:
        parts.append(f'<line class="grey" x1="{x}" y1="45" x2="{x}" y2="295" stroke-dasharray="4 4"/>')
        parts.append(f'<circle class="grey" cx="{x}" cy="295" r="6" fill="{GREY}"/>')
        parts.append(f'<text class="register head" x="{x}" y="319">{what}</text>')
        parts.append(f'<text class="register" x="{x}" y="336">{more}</text>')
    parts.append("</g>")
    parts.append("</svg>")
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    Path(__file__).with_name("layout-change.svg").write_text(draw())
