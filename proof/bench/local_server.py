"""Measures the local AWS server beside that of another revision: `python -m proof.bench.local_server`."""

import argparse
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from functools import partial
from http.client import HTTPConnection, HTTPException
from itertools import product
from pathlib import Path
from urllib.parse import urlsplit

from local.environment import isolate
from local.paths import ROOT
from proof.bench.callers import stack
from proof.bench.figures import compared, measured

CALLERS, ROUNDS, SECONDS = (1, 20, 200), 5, 4.0


def measure(urls: Mapping[str, str], callers: int, seconds: float) -> dict[str, float]:
    """Return how many integers a second so many callers get, each over its own connection to the first region."""
    url = urlsplit(next(iter(urls.values())))
    ends = time.monotonic() + seconds

    def work(_: int) -> int:
        minted, connection = 0, HTTPConnection(str(url.netloc), timeout=60)
        while time.monotonic() < ends:
            try:
                connection.request("POST", url.path)
                response = connection.getresponse()
                response.read()
                minted += response.status == 200  # else it was busy
            except (OSError, HTTPException):
                connection.close()
        connection.close()
        return minted

    with ThreadPoolExecutor(callers) as pool:
        began = time.monotonic()
        minted = sum(pool.map(work, range(callers)))
    return {"per_s": minted / (time.monotonic() - began)}


def main() -> None:
    """Measure in turn, and print medians."""
    parser = argparse.ArgumentParser(prog="python -m proof.bench.local_server", description=__doc__)
    parser.add_argument("--beside", metavar="REVISION", help="another revision, by git")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, ExitStack() as ends:
        checkouts = {"this": ROOT}
        if options.beside:
            checkouts[options.beside] = Path(folder) / "beside"
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "--detach", str(checkouts[options.beside]), options.beside], check=True)
            ends.callback(subprocess.run, [*git, "remove", "--force", str(checkouts[options.beside])], check=True)
        urls = {name: ends.enter_context(stack(checkout)) for name, checkout in checkouts.items()}
        subjects = {
            f"{name}, {callers} callers": partial(measure, urls[name], callers, SECONDS)
            for callers, name in product(CALLERS, checkouts)
        }
        found = measured(subjects, ROUNDS)
        print(compared(found, dict(zip(found, found, strict=True)), {"per_s": ("integers/s", "{:,.0f}")}))


if __name__ == "__main__":
    isolate()
    main()
