"""Compares the client with other sources of ids: `python -m bench.callers`, a part of `make bench`.

The stack and the database run on this machine. Each subject runs in a process of its own (bench/caller.py).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.databases import mariadb
from bench.figures import Figures
from bench.processes import PYTHON, check_installed
from local.paths import ROOT

SUBJECTS = {
    "memory": "next(), from memory",
    "one": "next(), lease=100000",
    "eight": "next(), lease=100000, 8 threads",
    "tasks": "await next(), lease=100000, 100 tasks",
    "paced": "next(), lease=5000, 10,000 a second",
    "crowd": "next(), lease=100, 64 threads, 50 ms away",
    "request": "next(), lease=1: a request each",
    "uuid4": "uuid.uuid4()",
    "snowflake": "snowflake-id",
    "mariadb": "MariaDB AUTO_INCREMENT, an insert each",
}

IMPORTS = (
    "from global_integers import Integers",
    "from global_integers import AsyncIntegers",
    "import httpx",
)

COLUMNS = {
    "per_s": ("integers/s", "{:,.0f}"),
    "p50_us": ("p50 µs", "{:.1f}"),
    "p99_us": ("p99 µs", "{:.1f}"),
    "p9999_us": ("p99.99 µs", "{:.0f}"),
    "requests": ("requests/integer", "{:.6f}"),
    "least": ("least", "{:.2f}"),
    "most": ("most", "{:.2f}"),
    "trip_ms": ("round trip ms", "{:.1f}"),
}


def table(figures: Figures) -> str:
    """Return a table with a row per subject. Figures that a subject doesn't have are left empty."""
    rows = [["", *(title for title, _ in COLUMNS.values())]]
    for key, name in SUBJECTS.items():
        found = figures.get(key, {})
        rows.append([name, *(form.format(found[c]) if c in found else "" for c, (_, form) in COLUMNS.items())])
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join(
        "  ".join(
            cell.ljust(w) if i == 0 else cell.rjust(w) for i, (cell, w) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def measure(rounds: int = 3, seconds: float = 4) -> Figures:
    """Run every subject `rounds` times, in turn. Return the medians. Without MariaDB, its subject is left out."""
    check_installed()
    runs: dict[str, list[dict[str, float]]] = {subject: [] for subject in SUBJECTS}
    with (
        tempfile.TemporaryDirectory() as folder,
        stack(Path(folder) / "stack") as urls,
        mariadb(Path(folder) / "db") as socket,
    ):
        for _ in range(rounds):
            for subject, made in runs.items():
                place = socket if subject == "mariadb" else urls
                python = str(PYTHON) if subject in ("snowflake", "mariadb") else sys.executable
                if place:
                    made.append(run(python, subject, seconds, place))
    return {
        subject: {column: median(one[column] for one in made) for column in made[0]}
        for subject, made in runs.items()
        if made
    }


def import_ms(statement: str, runs: int = 15) -> float:
    """Return the milliseconds that a statement takes at the start of a process, at best."""
    program = f"import time\nbegan = time.perf_counter()\n{statement}\nprint(time.perf_counter() - began)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "client" / "src")}
    command = [sys.executable, "-c", program]
    found = [subprocess.run(command, env=environment, check=True, capture_output=True, text=True) for _ in range(runs)]
    return min(float(done.stdout) for done in found) * 1000


def run(python: str, subject: str, seconds: float, place: str) -> dict[str, float]:
    """Run one subject in a process of its own. Return its figures."""
    command = [python, "-m", "bench.caller", subject, str(seconds), place]
    environment = {**os.environ, "PYTHONPATH": f"{ROOT}:{ROOT / 'client' / 'src'}"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{subject} failed:\n{done.stderr}")
    return json.loads(done.stdout)


@contextmanager
def stack(folder: Path) -> Generator[str]:
    """Deploy stack `dev` on this machine, and yield its URLs as JSON."""
    environment = {**os.environ, "GLOBAL_INTEGERS_LOCAL": str(folder)}

    def local(*arguments: str) -> str:
        command = [sys.executable, "-m", "local", *arguments]
        return subprocess.run(command, cwd=ROOT, env=environment, check=True, capture_output=True, text=True).stdout

    local("up", "--port", "0")
    try:
        yield json.dumps(json.loads(local("outputs", "--json"))["urls"])
    finally:
        local("down")


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.callers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each subject runs (3)")
    parser.add_argument("--seconds", type=float, default=4, help="for each subject in each round (4)")
    options = parser.parse_args()
    print(table(measure(options.rounds, options.seconds)))
    print()
    for statement in IMPORTS:
        print(f"{statement:40} {import_ms(statement):6.1f} ms")


if __name__ == "__main__":
    main()
