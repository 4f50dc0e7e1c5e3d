"""Draw docs/architecture.svg: the parts and who calls whom. `python docs/draw_architecture.py`."""

from pathlib import Path

REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
WIDTH, HEIGHT, MARGIN = 916, 640, 28
COLUMN, BETWEEN = 276, 16
LEFT, RIGHT = 70, 204
"""Centres of the two boxes of a row, from the left edge of a region."""
BOX = (122, 38)

CALLERS, ENTRIES, FUNCTION, TABLES, HOME, WATCH, PULUMI = 20, 108, 184, 260, 410, 484, 582
"""Where the rows begin; a region encloses those from `TOP` on."""
TOP = 88

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 13px }
  .head { font-weight: 600 } .small { font-size: 12px } .middle { text-anchor: middle }
  .region { fill: #6b7280; fill-opacity: 0.08; stroke: #9ca3af } .box { fill: #fff; stroke: #6b7280; stroke-width: 1.3 }
  .table { fill: #e5e7eb } .optional { stroke-dasharray: 5 4 } .call { fill: none; stroke-width: 1.8 }
  .mint { stroke: #2563eb } .layout { stroke: #c2410c } .mint-head { fill: #2563eb } .layout-head { fill: #c2410c }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .box { fill: #161b22; stroke: #9ca3af } .table { fill: #30363d }
    .mint { stroke: #6ea8fe } .mint-head { fill: #6ea8fe } .layout { stroke: #f0883e } .layout-head { fill: #f0883e }
  }
"""


def draw() -> str:
    """Return the picture as SVG."""
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
        'role="img" aria-labelledby="title">',
        '<title id="title">Callers mint in their region: Function URL, minting function, tables; or API Gateway and '
        "the counters table. pulumi up and a schedule call the coordinator, which writes the layouts table, its mirror "
        "and every region's counters table.</title>",
        f"<style>{STYLE}</style>",
        *(_arrow_head(kind) for kind in ("mint", "layout")),
    ]
    for number, region in enumerate(REGIONS):
        parts += _region(region, MARGIN + number * (COLUMN + BETWEEN), home=number == 0)
    parts += [*_coordinator(), *_legend(), "</svg>"]
    return "\n".join(parts) + "\n"


def _region(region: str, x: int, *, home: bool) -> list[str]:
    bottom = PULUMI - 24 if home else TABLES + BOX[1] + 50
    left, right = x + LEFT, x + RIGHT
    return [
        f'<rect class="region" x="{x}" y="{TOP}" width="{COLUMN}" height="{bottom - TOP}" rx="10"/>',
        f'<text class="head" x="{x + 16}" y="{TABLES + 70}">{region}</text>',
        *([f'<text class="small" x="{x + 16}" y="{TABLES + 87}">home region</text>'] if home else []),
        *_box(x + (LEFT + RIGHT) // 2, CALLERS, "callers", width=COLUMN - 32),
        *_box(left, ENTRIES, "Function URL"),
        *_box(right, ENTRIES, "API Gateway", "optional"),
        *_box(left, FUNCTION, "minting function"),
        *_box(left, TABLES, "receipts table", "table"),
        *_box(right, TABLES, "counters table", "table"),
        _call("mint", f"M {left} {CALLERS + BOX[1]} V {ENTRIES - 3}"),
        _call("mint optional", f"M {right} {CALLERS + BOX[1]} V {ENTRIES - 3}"),
        _call("mint", f"M {left} {ENTRIES + BOX[1]} V {FUNCTION - 3}"),
        _call("mint", f"M {left} {FUNCTION + BOX[1]} V {TABLES - 3}"),
        _call("mint", f"M {left + BOX[0] // 2} {FUNCTION + 19} H {right - 30} V {TABLES - 3}"),
        _call("mint optional", f"M {right} {ENTRIES + BOX[1]} V {TABLES - 3}"),
    ]


def _coordinator() -> list[str]:
    left, right, bottom = MARGIN + LEFT, MARGIN + RIGHT, TABLES + BOX[1] + 3
    middle, edge = HOME + BOX[1] // 2, MARGIN + RIGHT + BOX[0] // 2
    others = [MARGIN + number * (COLUMN + BETWEEN) + RIGHT for number in range(1, len(REGIONS))]
    return [
        *_box(left, HOME, "layouts table", "table"),
        *_box(left, WATCH, "mirror", "table"),
        *_box(right, HOME, "coordinator"),
        *_box(right + 2, WATCH, "schedule", width=74),
        *_box(right, PULUMI, "pulumi up"),
        _call("layout", f"M {right + 50} {PULUMI} V {HOME + BOX[1] + 3}"),
        _call("layout", f"M {right + 2} {WATCH} V {HOME + BOX[1] + 3}"),
        _call("layout", f"M {right - 48} {HOME + BOX[1]} V {WATCH + BOX[1] // 2} H {left + BOX[0] // 2 + 3}"),
        _call("layout", f"M {right - BOX[0] // 2} {middle} H {left + BOX[0] // 2 + 3}"),
        _call("layout", f"M {right} {HOME} V {bottom}"),
        *(_call("layout", f"M {edge} {middle} H {x} V {bottom}") for x in others),
    ]


def _legend() -> list[str]:
    x = MARGIN + COLUMN + BETWEEN + 16
    rows = (
        ("mint", "a request: stays in the region"),
        ("mint optional", "the same without a function, with the setting apiGateway"),
        ("layout", "a deployment, or every five minutes: lays out who mints what"),
    )
    parts: list[str] = []
    for number, (kind, text) in enumerate(rows):
        y = 490 + number * 28
        parts.append(_call(kind, f"M {x} {y} H {x + 40}"))
        parts.append(f'<text x="{x + 56}" y="{y + 4}">{text}</text>')
    return parts


def _box(x: int, y: int, text: str, kind: str = "", *, width: int = BOX[0]) -> list[str]:
    """Return a box with its top centre at x, y."""
    height = BOX[1]
    rounded = 3 if kind == "table" else 9
    return [
        f'<rect class="box {kind}" x="{x - width // 2}" y="{y}" width="{width}" height="{height}" rx="{rounded}"/>',
        f'<text class="middle" x="{x}" y="{y + 24}">{text}</text>',
    ]


def _call(kind: str, path: str) -> str:
    return f'<path class="call {kind}" d="{path}" marker-end="url(#{kind.split()[0]})"/>'


def _arrow_head(kind: str) -> str:
    return (
        f'<marker id="{kind}" markerWidth="9" markerHeight="8" refX="7" refY="4" orient="auto" '
        f'markerUnits="userSpaceOnUse"><path class="{kind}-head" d="M 0 0 L 9 4 L 0 8 z"/></marker>'
    )


if __name__ == "__main__":
    Path(__file__).with_name("architecture.svg").write_text(draw())
