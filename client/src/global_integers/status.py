"""Returns the state of every region, for `global-integers status`."""

from collections.abc import Mapping
from typing import Any

from . import calls
from .answers import Failure
from .integers import Integers

Row = dict[str, Any]


def rows(integers: Integers, counter: str = "") -> list[Row]:
    """Return a row for each region: whether it can mint and if not, why; its latency, position, ceiling and epoch.

    `version` is that of the code that runs there.
    """
    health = integers.health()
    found: list[Row] = []
    for region, well in health.items():
        row: Row = {
            "region": region,
            "reachable": well.seconds is not None,
            "latency_ms": None if well.seconds is None else round(well.seconds * 1000, 1),
        }
        answer: Mapping[str, Any] | Failure | None = None
        if well.seconds is not None:
            answer = integers.ask(region, calls.document(f"-/status?counter={counter}" if counter else "-/status"))
        if isinstance(answer, Mapping):
            row |= {
                name: answer.get(name)
                for name in ("ok", "counter", "position", "ceiling", "epoch", "stride", "version")
            }
            row |= {"pending": answer.get("pending"), "reason": answer.get("reason", "")}
        else:
            row |= {"ok": False, "reason": answer.reason if answer is not None else well.reason}
        found.append(row)
    return found


COLUMNS = ("region", "state", "latency", "position", "epoch", "counter", "version")


def table(found: list[Row], *, colour: bool) -> str:
    """Return rows as a table, in colour for a terminal. The reasons of regions that can't mint are below it."""
    cells = [COLUMNS, *(_cells(row) for row in found)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(COLUMNS))]
    lines: list[str] = []
    for number, line in enumerate(cells):
        text = "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        lines.append(_painted(text, found[number - 1]) if colour and number else text)
    lines.insert(1, "  ".join("─" * width for width in widths))
    lines += [f"{row['region']}: {row['reason']}" for row in found if row.get("reason")]
    return "\n".join(lines)


def _cells(row: Row) -> tuple[str, ...]:
    def shown(name: str) -> str:
        return "-" if row.get(name) is None else str(row[name])

    state = "well" if row["ok"] else "no response" if not row["reachable"] else "ill"
    if row.get("pending"):
        state += ", pending"
    latency = "-" if row["latency_ms"] is None else f"{row['latency_ms']:.0f} ms"
    return (row["region"], state, latency, shown("position"), shown("epoch"), shown("counter"), shown("version"))


def _painted(text: str, row: Row) -> str:
    return f"\x1b[{32 if row['ok'] else 31}m{text}\x1b[0m"
