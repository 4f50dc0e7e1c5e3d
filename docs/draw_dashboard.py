"""Draw docs/dashboard.svg from the dashboard's own definition, for three regions. `python docs/draw_dashboard.py`.

It has each graph's title, legend and threshold, but no data: only CloudWatch has them.
"""

import sys
from html import escape
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from components.monitoring.dashboard import Graph, Row, rows
from components.monitoring.metrics import Watched
from components.names import ResourceNames
from components.settings.alarms import thresholds

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
TITLE, LABEL = 30, 16
"""Heights of a graph's title, and of a label."""

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1f2937; font-size: 12px }
  .head { font-size: 16px; font-weight: 600 } .title { font-weight: 600 } .small { font-size: 11px }
  .graph { fill: #6b7280; fill-opacity: 0.08; stroke: #9ca3af }
  .line { stroke-width: 2 } .limit { stroke: #dc2626; stroke-dasharray: 5 3 } .alarm { fill: #dc2626 }
  @media (prefers-color-scheme: dark) {
    text { fill: #e5e7eb } .limit { stroke: #f87171 } .alarm { fill: #f87171 }
  }
"""


def draw() -> str:
    """Return the picture as SVG."""
    shown = rows(STACK)
    talls = [TITLE + LABEL * max(map(_labels, row.graphs)) + MARGIN - LABEL // 2 for row in shown]
    height = MARGIN + sum(HEAD + tall + BETWEEN for tall in talls)
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" '
        'role="img" aria-labelledby="title">',
        f'<title id="title">The dashboard of three regions. {" ".join(map(_told, shown))}</title>',
        f"<style>{STYLE}</style>",
    ]
    y = MARGIN
    for row, tall in zip(shown, talls, strict=True):
        parts.append(f'<text class="head" x="{MARGIN}" y="{y + 20}">{escape(row.heading)}</text>')
        wide = (WIDTH - 2 * MARGIN - BETWEEN * (len(row.graphs) - 1)) / len(row.graphs)
        for place, graph in enumerate(row.graphs):
            parts += _graph(graph, round(MARGIN + place * (wide + BETWEEN)), y + HEAD, round(wide), tall)
        y += HEAD + tall + BETWEEN
    return "\n".join([*parts, "</svg>"]) + "\n"


def _told(row: Row) -> str:
    return escape(f"{row.heading.rstrip('?')}: {'; '.join(graph.title for graph in row.graphs)}.")


def _labels(graph: Graph) -> int:
    return len(graph.lines) + (graph.limit is not None)


def _graph(graph: Graph, x: int, y: int, wide: int, tall: int) -> list[str]:
    """Return a graph's title, its lines, and the threshold of its alarm."""
    parts = [
        f'<rect class="graph" x="{x}" y="{y}" width="{wide}" height="{tall}" rx="6"/>',
        f'<text class="title" x="{x + 12}" y="{y + 20}">{escape(graph.title)}</text>',
    ]
    label = y + TITLE
    for number, line in enumerate(graph.lines):
        label += LABEL
        colour = COLOURS[number % len(COLOURS)]
        parts.append(f'<path class="line" stroke="{colour}" d="M {x + 12} {label - 4} h 12"/>')
        parts.append(f'<text class="small" x="{x + 30}" y="{label}">{escape(line.label)}</text>')
    if graph.limit is not None:
        label += LABEL
        text = f"alarm {graph.limit.alarm}: {'below' if graph.limit.bad == 'below' else 'from'} {graph.limit.value:,}"
        parts.append(f'<path class="limit" d="M {x + 12} {label - 4} h 12"/>')
        parts.append(f'<text class="small alarm" x="{x + 30}" y="{label}">{escape(text)}</text>')
    return parts


if __name__ == "__main__":
    Path(__file__).with_name("dashboard.svg").write_text(draw())
