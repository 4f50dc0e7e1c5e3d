"""What is measured of each subject, how it is shown, and where the last figures are kept."""

import json
from collections.abc import Collection, Mapping
from pathlib import Path

FILE = Path(__file__).resolve().parent / "figures.json"

SUBJECTS = {
    "empty": "empty function",
    "tutorial": "tutorial function (boto3)",
    "autoincrement": "dynamodb-autoincrement",
    "one": "ours",
    "block": "ours, count=100",
    "lease": "ours, lease=100",
    "exchange": "an exchange on the socket alone",
}

COLUMNS = {
    "start_ms": ("start ms", "{:.0f}"),
    "first_ms": ("first ms", "{:.1f}"),
    "cpu_ms": ("CPU ms/request", "{:.3f}"),
    "peak_mb": ("peak MB", "{:.1f}"),
    "units": ("writes/integer", "{:.3f}"),
    "requests_per_s": ("requests/s", "{:.0f}"),
    "integers_per_s": ("integers/s", "{:.0f}"),
    "refused": ("refused by 8", "{:.0%}"),
}
"""Heading and format.

`start`: until the runtime asks for the first event; `first`: the first request; `refused`: of 8 writers' writes.
"""

ALONE = ("start_ms", "first_ms", "cpu_ms", "peak_mb")
"""What is measured of a function alone, against the stub."""

RATIOS = {"start_ms": "start", "cpu_ms": "CPU", "peak_mb": "memory"}
"""Also shown relative to the tutorial's."""

Figures = Mapping[str, Mapping[str, float]]
"""By subject and column."""


def above_empty(figures: Figures) -> dict[str, float]:
    """Return start, processor time and memory above the empty function: ours divided by the tutorial's."""
    ours, theirs, empty = figures["one"], figures["tutorial"], figures["empty"]
    return {column: (ours[column] - empty[column]) / (theirs[column] - empty[column]) for column in RATIOS}


def table(figures: Figures, columns: Collection[str] = COLUMNS.keys()) -> str:
    """Return a table with a row per subject, then ours relative to the tutorial's."""
    rows = [["", *(COLUMNS[column][0] for column in columns)]]
    for subject, row in figures.items():
        cells = (COLUMNS[column][1].format(row[column]) if column in row else "" for column in columns)
        rows.append([SUBJECTS[subject], *cells])
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    lines = ["  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]).rstrip() for row in rows]
    parts = ", ".join(f"{RATIOS[column]} {ratio:.2f}" for column, ratio in above_empty(figures).items())
    return "\n".join([*lines, "", f"above the empty function, ours ÷ tutorial: {parts}"])


def read() -> dict[str, Figures]:
    """Return the figures that were kept last: `subjects`, `https`, `program` by number of regions, and `callers`."""
    return json.loads(FILE.read_text())


def write(**parts: Figures) -> None:
    """Keep figures. Those of other parts stay as they are."""
    FILE.write_text(json.dumps(read() | parts, indent=2) + "\n")
