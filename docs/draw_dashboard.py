"""Draw docs/dashboard.svg from the dashboard's own definition, for three regions. `python docs/draw_dashboard.py`."""

import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from components.dashboard import HEIGHT, Graph, Row, rows
from components.resource_names import ResourceNames
from components.thresholds import thresholds
from components.watched import Watched

REGIONS = ("us-east-1", "eu-west-1", "ap-southeast-2")
WATCH_MINUTES = 5
STACK = Watched(
    ResourceNames("global-integers-production"),
    home=REGIONS[0],
    regions=REGIONS,
    leaving=(),
    paused=(),
    watch_minutes=WATCH_MINUTES,
    thresholds=thresholds({}, WATCH_MINUTES),
    function_urls=True,
    apis={},
    signed=True,
)
COLOURS = ("#2563eb", "#c2410c", "#15803d", "#6ea8fe", "#f0883e", "#5fb878")
WIDTH, MARGIN, BETWEEN, HEAD = 1000, 16, 10, 34
UNIT = 34
"""Height of a unit of the dashboard's grid."""
LABEL = 14
"""Height of a label."""

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 12px }
  .head { font-size: 16px; font-weight: 600 } .title { font-weight: 600 } .small { font-size: 11px }
  .graph { fill: #6b7280; fill-opacity: 0.08; stroke: #9ca3af } .axis { stroke: #9ca3af }
  .line { fill: none; stroke-width: 1.6 } .limit { stroke: #dc2626; stroke-dasharray: 5 4 } .alarm { fill: #dc2626 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .limit { stroke: #f87171 } .alarm { fill: #f87171 }
  }
"""


def draw() -> str:
    """Return the picture as SVG."""
    shown = rows(STACK)
    tall = HEIGHT * UNIT
    height = MARGIN + len(shown) * (HEAD + tall + BETWEEN)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title">',
        f'<title id="title">The dashboard of three regions. {" ".join(map(_told, shown))}</title>',
        f"<style>{STYLE}</style>",
    ]
    for number, row in enumerate(shown):
        y = MARGIN + number * (HEAD + tall + BETWEEN)
        parts.append(f'<text class="head" x="{MARGIN}" y="{y + 20}">{escape(row.heading)}</text>')
        wide = (WIDTH - 2 * MARGIN - BETWEEN * (len(row.graphs) - 1)) / len(row.graphs)
        for place, graph in enumerate(row.graphs):
            parts += _graph(graph, round(MARGIN + place * (wide + BETWEEN)), y + HEAD, round(wide), tall)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _told(row: Row) -> str:
    return escape(f"{row.heading.rstrip('?')}: {'; '.join(graph.title for graph in row.graphs)}.")


def _graph(graph: Graph, x: int, y: int, wide: int, tall: int) -> list[str]:
    """Return a graph with an example of each of its lines, the threshold of its alarm, and its labels."""
    left, right, top = x + 12, x + wide - 12, y + 32
    bottom = y + tall - 12 - LABEL * len(graph.lines)
    parts = [
        f'<rect class="graph" x="{x}" y="{y}" width="{wide}" height="{tall}" rx="6"/>',
        f'<text class="title" x="{left}" y="{y + 20}">{escape(graph.title)}</text>',
        f'<path class="axis" d="M {left} {bottom} H {right}"/>',
    ]
    if graph.limit is not None:
        limit = bottom - 6 if graph.limit.bad == "below" else top + 6
        parts.append(f'<path class="limit" d="M {left} {limit} H {right}"/>')
        text = f"alarm {graph.limit.alarm}: {graph.limit.bad} {graph.limit.value:,}"
        parts.append(f'<text class="small alarm" x="{left}" y="{top}">{escape(text)}</text>')
    for number, line in enumerate(graph.lines):
        colour = COLOURS[number % len(COLOURS)]
        points = " ".join(
            f"{left + step * (right - left) / 8:.0f},{bottom - 12 - number * 6 - (step * (number + 3) * 5) % 11:.0f}"
            for step in range(9)
        )
        parts.append(f'<polyline class="line" stroke="{colour}" points="{points}"/>')
        label = bottom + LABEL * (number + 1)
        parts.append(f'<path class="line" stroke="{colour}" d="M {left} {label - 4} h 10"/>')
        parts.append(f'<text class="small" x="{left + 14}" y="{label}">{escape(line.label)}</text>')
    return parts


if __name__ == "__main__":
    Path(__file__).with_name("dashboard.svg").write_text(draw())
