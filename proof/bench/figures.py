"""How figures are shown, and where `make bench` keeps the last ones."""

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import median

FILE = Path(__file__).resolve().parent / "figures.json"

Figures = Mapping[str, Mapping[str, float]]
"""By subject and column."""

Columns = Mapping[str, tuple[str, str]]
"""Column → heading and format."""


def aligned(rows: Sequence[Sequence[str]], *, names: bool = False) -> str:
    """Return rows as a table, aligned to the right; with `names`, the first column to the left."""
    widths = [max(map(len, cells)) for cells in zip(*rows, strict=True)]
    sides = ["<" if names else ">", *">" * (len(widths) - 1)]
    form = "  ".join(f"{{:{side}{width}}}" for side, width in zip(sides, widths, strict=True))
    return "\n".join(form.format(*row).rstrip() for row in rows)


def compared(figures: Figures, subjects: Mapping[str, str], columns: Columns) -> str:
    """Return a table with a row per subject, under its title. Figures that a subject doesn't have are left empty."""
    rows = [["", *(title for title, _ in columns.values())]]
    for subject, row in figures.items():
        cells = (form.format(row[column]) if column in row else "" for column, (_, form) in columns.items())
        rows.append([subjects[subject], *cells])
    return aligned(rows, names=True)


def measured(subjects: Mapping[str, Callable[[], Mapping[str, float]]], rounds: int) -> Figures:
    """Measure each subject once in each round, in turn. Return its medians by column."""
    runs: dict[str, list[Mapping[str, float]]] = {subject: [] for subject in subjects}
    for _ in range(rounds):
        for subject, run in subjects.items():
            runs[subject].append(run())
    return {
        subject: {column: median(run[column] for run in made) for column in made[0]} for subject, made in runs.items()
    }


def read() -> dict[str, Figures]:
    """Return the figures that were kept last: `subjects`, `https` and `callers`."""
    return json.loads(FILE.read_text())


def write(**parts: Figures) -> None:
    """Keep figures for `read`."""
    FILE.write_text(json.dumps(parts, indent=2) + "\n")
