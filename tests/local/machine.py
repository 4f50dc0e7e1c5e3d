"""`python -m local` as a user runs it, in a folder of its own, and clients of what it deploys."""

import json
import os
import re
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections import defaultdict
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

from local.paths import ROOT

OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Command(subprocess.Popen[str]):
    """A command that is killed where a test ends before it, rather than waited for."""

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            self.kill()
        super().__exit__(*error)


class Machine:
    """One folder, one server, and the checkout whose program it deploys."""

    def __init__(self, folder: Path, port: int, checkout: Path = ROOT) -> None:
        self.folder = folder
        self.checkout = checkout
        self.port = port
        self.environment = {**os.environ, "GLOBAL_INTEGERS_LOCAL": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, *arguments: str) -> Command:
        return Command(
            [sys.executable, "-m", "local", *arguments],
            cwd=self.checkout,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        with self.start(*arguments) as process:
            out, err = process.communicate(timeout=240)  # `up` takes 5 s, on a very busy machine a minute
        return subprocess.CompletedProcess(arguments, process.returncode, out, err)

    def up(self, *regions: str, settings: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
        port = [] if (self.folder / "server.json").exists() else ["--port", str(self.port)]
        return self.run("up", *port, *chosen(*regions, settings=settings))

    def end(self) -> None:
        """End what runs, if anything does."""
        if (self.folder / "server.json").exists():
            self.run("down")

    def outputs(self) -> dict[str, Any]:
        return json.loads(self.run("outputs", "--json").stdout)

    def server(self) -> int:
        """Return the server's process."""
        return json.loads((self.folder / "server.json").read_text())["pid"]


def chosen(*regions: str, settings: tuple[str, ...] = ()) -> list[str]:
    """Return regions (by default the stack's own) and settings as options of `up`."""
    wanted = [f"regions={json.dumps(regions)}"] if regions else []
    return [option for setting in (*wanted, *settings) for option in ("-c", setting)]


def mint(url: str, path: str = "", method: str = "POST") -> tuple[int, dict[str, Any]]:
    """Return status and document."""
    try:
        with OPENER.open(urllib.request.Request(url + path, method=method), timeout=30) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


class Clients:
    """Clients that mint from all URLs all the time, until `end`. What each got is kept in order."""

    def __init__(self, urls: dict[str, str], each: int = 2) -> None:
        self.minted: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.failed: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        self.retried = 0
        self.stop = Event()
        self.pool = ThreadPoolExecutor(16)
        self.each = each
        self.running: list[Future[None]] = []
        self.add(urls)

    def add(self, urls: dict[str, str]) -> None:
        for region, url in urls.items():
            for number in range(self.each):
                self.running.append(self.pool.submit(self._mint, region, number, url))

    def _mint(self, region: str, number: int, url: str) -> None:
        while not self.stop.is_set():
            status, document = mint(url)
            if status == 200:
                self.minted[region, number].append(document["integer"])
            elif status == 503:
                self.retried += 1
                time.sleep(0.1)  # shorter than Retry-After
            else:
                self.failed[region].append((status, document))
                return

    def end(self) -> list[int]:
        """Stop all clients and return all integers."""
        self.stop.set()
        for run in self.running:
            run.result()
        self.pool.shutdown()
        return [integer for integers in self.minted.values() for integer in integers]


def processes_of(folder: Path) -> list[int]:
    """Return the processes whose command line or environment names the folder: the server and its functions."""
    found: list[int] = []
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            command = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
        except OSError:
            continue
        if str(folder).encode() in command and int(entry.name) != os.getpid():
            found.append(int(entry.name))
    return found


def coordinators(folder: Path) -> list[int]:
    """Return the coordinator function's processes."""
    pattern = re.compile(rb"lambda-global-integers-\w+-coordinate-")
    return [pid for pid in processes_of(folder) if pattern.search(Path(f"/proc/{pid}/cmdline").read_bytes())]
