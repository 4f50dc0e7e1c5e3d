"""Draw docs/address.svg: a name, its health checks, and a region that is left out. `python docs/draw_address.py`."""

from pathlib import Path

DOMAIN = "integers.example.com"
REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
UNWELL = 1
WIDTH, HEIGHT, MARGIN = 916, 500, 28
COLUMN, BETWEEN = 276, 16
CENTRES = tuple(MARGIN + COLUMN // 2 + number * (COLUMN + BETWEEN) for number in range(len(REGIONS)))
TALL, LOW = 50, 38
"""The heights of boxes with two lines and with one."""
ABOVE, TOP, API, FUNCTION, TABLES, BOTTOM = 22, 168, 186, 266, 332, 424
"""Where the rows begin; a region is between `TOP` and `BOTTOM`."""
HALF = 96
"""Half the width of the boxes above."""

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 13px }
  .head { font-weight: 600 } .small { font-size: 12px } .middle { text-anchor: middle } .end { text-anchor: end }
  .region { fill: #6b7280; fill-opacity: 0.08; stroke: #9ca3af } .box { fill: #fff; stroke: #6b7280; stroke-width: 1.3 }
  .table { fill: #e5e7eb } .call { fill: none; stroke-width: 1.8 } .unwell { fill: #b91c1c; font-weight: 600 }
  .name { stroke: #6b7280; stroke-dasharray: 5 4 } .mint { stroke: #2563eb } .health { stroke: #c2410c }
  .name-head { fill: #6b7280 } .mint-head { fill: #2563eb } .health-head { fill: #c2410c }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .box { fill: #161b22; stroke: #9ca3af } .table { fill: #30363d } .unwell { fill: #f87171 }
    .name { stroke: #9ca3af } .name-head { fill: #9ca3af } .mint { stroke: #6ea8fe } .mint-head { fill: #6ea8fe }
    .health { stroke: #f0883e } .health-head { fill: #f0883e }
  }
"""


def draw() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">A caller in Frankfurt asks Route 53 for the name. eu-west-1 is nearest, but its health '
        "check fails with 503, so the answer is us-east-1, whose API calls its minting function.</title>",
        f"<style>{STYLE}</style>",
        *(_arrow_head(kind) for kind in ("name", "mint", "health")),
    ]
    for number, region in enumerate(REGIONS):
        parts += _region(region, number)
    return "\n".join([*parts, *_above(), *_lines(), *_legend(), "</svg>"]) + "\n"


def _region(region: str, number: int) -> list[str]:
    centre = CENTRES[number]
    left = centre - COLUMN // 2
    return [
        f'<rect class="region" x="{left}" y="{TOP}" width="{COLUMN}" height="{BOTTOM - TOP}" rx="10"/>',
        *_box(centre, API, "API Gateway", f"{region}.{DOMAIN}", width=COLUMN - 28),
        *_box(centre, FUNCTION, "minting function", width=140),
        *_box(centre, TABLES, "counters table", kind="table", width=140),
        f'<text class="head" x="{left + 14}" y="{BOTTOM - 14}">{region}</text>',
        *([f'<text class="unwell end" x="{left + COLUMN - 14}" y="{BOTTOM - 14}">can\'t mint</text>'] * _is(number)),
        _call("mint", f"M {centre} {API + TALL} V {FUNCTION - 3}"),
        _call("mint", f"M {centre} {FUNCTION + LOW} V {TABLES - 3}"),
    ]


def _is(number: int) -> int:
    return int(number == UNWELL)


def _above() -> list[str]:
    caller, zone, checkers = CENTRES
    return [
        *_box(caller, ABOVE, "caller in Frankfurt", f"https://{DOMAIN}/", width=2 * HALF),
        *_box(zone, ABOVE, "zone in Route 53", "a record for each region", width=2 * HALF),
        *_box(checkers, ABOVE, "health checkers", "from many places, every 10 s", width=2 * HALF),
    ]


def _lines() -> list[str]:
    caller, zone, checkers = CENTRES
    under, bus = ABOVE + TALL, 138
    parts = [
        _call("name", f"M {caller + HALF} {ABOVE + 15} H {zone - HALF - 3}"),
        _call("name", f"M {zone - HALF} {ABOVE + 36} H {caller + HALF + 3}"),
        _text("small middle", (caller + zone) // 2, ABOVE + 9, "which region?"),
        _text("small middle", (caller + zone) // 2, ABOVE + 52, REGIONS[0]),
        _call("mint", f"M {caller} {under} V {API - 3}"),
        _text("small end", caller - 8, 112, "mints here"),
        _call("health", f"M {checkers - HALF} {ABOVE + 25} H {zone + HALF + 3}"),
        _text("small middle", (zone + checkers) // 2, ABOVE + 18, "2 of 3 well"),
        _call("health", f"M {checkers} {under} V {API - 3}"),
        *(_call("health", f"M {checkers} {bus} H {x} V {API - 3}") for x in (caller + 60, zone)),
        _text("small", zone + 8, bus - 7, "GET /-/health"),
    ]
    answers = zip((caller + 60, zone, checkers), ("200", "503", "200"), strict=True)
    return parts + [_text("unwell" if status == "503" else "small", x + 8, API - 24, status) for x, status in answers]


def _legend() -> list[str]:
    rows = (("name", "DNS"), ("mint", "a request for an integer"), ("health", "a health check and its result"))
    parts: list[str] = []
    for number, (kind, text) in enumerate(rows):
        x = MARGIN + number * (COLUMN + BETWEEN)
        parts += [_call(kind, f"M {x} {BOTTOM + 44} H {x + 40}"), _text("", x + 54, BOTTOM + 48, text)]
    return parts


def _box(x: int, y: int, *lines: str, kind: str = "", width: int) -> list[str]:
    """Return a box of one or two lines with its top centre at x, y."""
    height = TALL if len(lines) > 1 else LOW
    rounded = 3 if kind == "table" else 9
    first = y + (21 if len(lines) > 1 else 24)
    return [
        f'<rect class="box {kind}" x="{x - width // 2}" y="{y}" width="{width}" height="{height}" rx="{rounded}"/>',
        *(_text("small middle" if row else "middle", x, first + 18 * row, line) for row, line in enumerate(lines)),
    ]


def _text(kind: str, x: int, y: int, text: str) -> str:
    return f'<text class="{kind}" x="{x}" y="{y}">{text}</text>'


def _call(kind: str, path: str) -> str:
    return f'<path class="call {kind}" d="{path}" marker-end="url(#{kind})"/>'


def _arrow_head(kind: str) -> str:
    return (
        f'<marker id="{kind}" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path class="{kind}-head" d="M 0 0 L 9 4 L 0 8 z"/></marker>'
    )


if __name__ == "__main__":
    Path(__file__).with_name("address.svg").write_text(draw())
