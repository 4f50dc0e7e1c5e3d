"""Compares the client with other sources of ids: `python -m bench.callers`, a part of `make bench`.

The stack and the database run on this machine. Each subject runs in a process of its own (bench/caller.py).
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from bench.figures import Columns, Figures, compared
from bench.functions import PYTHON, check_installed
from local.paths import ROOT

SUBJECTS = {
    "memory": "next(), from memory",
    "one": "next(), lease=100000",
    "eight": "next(), lease=100000, 8 threads",
    "tasks": "await next(), lease=100000, 100 tasks",
    "paced": "next(), lease=5000, 10,000 a second",
    "request": "next(), lease=1: a request each",
    "uuid4": "uuid.uuid4()",
    "mariadb": "MariaDB AUTO_INCREMENT, an insert each",
}

COLUMNS: Columns = {
    "per_s": ("integers/s", "{:,.0f}"),
    "p50_us": ("p50 µs", "{:.1f}"),
    "p99_us": ("p99 µs", "{:.1f}"),
    "p9999_us": ("p99.99 µs", "{:.0f}"),
    "requests": ("requests/integer", "{:.6f}"),
    "trip_ms": ("round trip ms", "{:.1f}"),
}

PATHS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""Debian puts mariadbd into /usr/sbin, which is often not in a user's PATH."""


def table(figures: Figures) -> str:
    """Return a table with a row per subject."""
    return compared(figures, SUBJECTS, COLUMNS)


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
                python, place = (str(PYTHON), socket) if subject == "mariadb" else (sys.executable, urls)
                if place:
                    made.append(run(python, subject, seconds, place))
    return {
        subject: {column: median(one[column] for one in made) for column in made[0]}
        for subject, made in runs.items()
        if made
    }


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


@contextmanager
def mariadb(folder: Path) -> Generator[str]:
    """Run MariaDB with an empty table `bench.ids`, and yield its socket. Without MariaDB, yield an empty string."""
    programs = [shutil.which(name, path=PATHS) for name in ("mariadb-install-db", "mariadbd", "mariadb")]
    if None in programs:
        print("MariaDB is not installed, and is left out; apt-get install mariadb-server-core mariadb-client-core")
        yield ""
        return
    install, server, client = (str(program) for program in programs)
    folder.mkdir()
    socket = folder / "socket"
    options = [f"--datadir={folder / 'data'}", "--user=root"]
    assert _succeeds(install, "--no-defaults", "--auth-root-authentication-method=normal", *options)
    command = [server, "--no-defaults", "--skip-networking", f"--socket={socket}", *options]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            create = "CREATE DATABASE bench; CREATE TABLE bench.ids (id BIGINT AUTO_INCREMENT PRIMARY KEY)"
            deadline = time.monotonic() + 60
            while not _succeeds(client, "--no-defaults", f"--socket={socket}", "--user=root", "-e", create):
                if time.monotonic() > deadline:
                    raise SystemExit("MariaDB did not start within a minute")
                time.sleep(0.2)
            yield str(socket)
        finally:
            process.terminate()


def _succeeds(*command: str) -> bool:
    return not subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL).returncode


def main() -> None:
    """Measure, and print the figures."""
    parser = argparse.ArgumentParser(prog="python -m bench.callers", description=__doc__)
    parser.add_argument("--rounds", type=int, default=3, help="how often each subject runs (3)")
    parser.add_argument("--seconds", type=float, default=4, help="for each subject in each round (4)")
    options = parser.parse_args()
    print(table(measure(options.rounds, options.seconds)))


if __name__ == "__main__":
    main()
