"""What is measured of each subject, how it is shown, and where the last figures are kept."""

import json
from collections.abc import Mapping
from pathlib import Path

FILE = Path(__file__).resolve().parent / "figures.json"

SUBJECTS = {
    "tutorial": "tutorial function (boto3)",
    "autoincrement": "dynamodb-autoincrement",
    "one": "ours",
    "block": "ours, count=100",
    "lease": "ours, lease=100",
}

COLUMNS = {
    "init_ms": ("init ms", "{:.0f}"),
    "first_ms": ("first ms", "{:.1f}"),
    "cpu_ms": ("CPU ms/request", "{:.3f}"),
    "peak_mb": ("peak MB", "{:.1f}"),
    "units": ("writes/integer", "{:.3f}"),
    "requests_per_s": ("requests/s", "{:.0f}"),
    "integers_per_s": ("integers/s", "{:.0f}"),
    "refused": ("refused by 8", "{:.0%}"),
}
"""Heading and format. `init`: import and set-up; `first`: the first request; `refused`: of 8 writers' writes."""

RATIOS = ("init_ms", "cpu_ms", "peak_mb")
"""Also shown relative to the tutorial's."""

Figures = Mapping[str, Mapping[str, float]]
"""By subject and column."""


def table(figures: Figures) -> str:
    """Return a table with a row per subject, then some figures relative to the tutorial's."""
    head = ["", *(title for title, _ in COLUMNS.values())]
    rows = [head]
    for key, name in SUBJECTS.items():
        rows.append([name, *(form.format(figures[key][column]) for column, (_, form) in COLUMNS.items())])
    widths = [max(len(row[i]) for row in rows) for i in range(len(head))]
    lines = [
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        for row in rows
    ]
    parts = ", ".join(
        f"{COLUMNS[column][0]} {figures['one'][column] / figures['tutorial'][column]:.2f}" for column in RATIOS
    )
    return "\n".join([*(line.rstrip() for line in lines), "", f"ours ÷ tutorial: {parts}"])


def read() -> dict[str, Figures]:
    """Return the figures that were kept last: `subjects`, `https`, `program` by number of regions, and `callers`."""
    return json.loads(FILE.read_text())


def write(**parts: Figures) -> None:
    """Keep figures. Those of other parts stay as they are."""
    FILE.write_text(json.dumps(read() | parts, indent=2) + "\n")
