"""`python -m local` in a folder of its own, and clients of what it deploys."""

import gc
import io
import json
import os
import random
import signal
import subprocess
import sys
import time
import traceback
import urllib.error
import urllib.request
from collections import defaultdict
from collections.abc import Callable, Generator, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from threading import Condition, Event
from typing import IO, Any

import psutil
import pytest
from global_integers.testing.region import WINDOW

from local.aws_clients import Aws
from local.command_line import main
from local.operator_commands import OPENER
from local.paths import ROOT
from local.server.process import is_free

HANGING = 600
"""Seconds after which a command hangs. An `up` takes five, and ten times as long on a machine that is busy."""


class Command(subprocess.Popen[str]):
    """A command that is killed where a test ends before it, rather than waited for."""

    def __exit__(self, *error: Any) -> None:
        if error[0] is not None:
            self.kill()
        super().__exit__(*error)


class Machine:
    """One folder, one server, and the checkout whose program it deploys."""

    def __init__(self, folder: Path, checkout: Path = ROOT) -> None:
        self.folder = folder
        self.checkout = checkout
        self.wanted_port = unlikely_port()
        self.environment = {**os.environ, "GLOBAL_INTEGERS_LOCAL": str(folder), "PYTHONDONTWRITEBYTECODE": "1"}

    def start(self, *arguments: str, stdout: IO[str] | int = subprocess.PIPE) -> Command:
        """Start a command in a process of its own, as a user does."""
        return Command(
            [sys.executable, "-m", "local", *arguments],
            cwd=self.checkout,
            env=self.environment,
            stdout=stdout,
            stderr=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: str) -> "subprocess.CompletedProcess[str]":
        """Run a command to its end.

        It runs in this process, since imports are a third of what a process of its own costs. Another checkout's runs
        in one, and so does the demo, since the client's command writes into its output.
        """
        if self.checkout != ROOT or "demo" in arguments:
            with self.start(*arguments) as process:
                out, err = process.communicate(timeout=HANGING)
            return subprocess.CompletedProcess(arguments, process.returncode, out, err)
        output, failed = io.StringIO(), io.StringIO()
        with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(failed):
            patch.setenv("GLOBAL_INTEGERS_LOCAL", str(self.folder))
            try:
                status = main(arguments)
            except SystemExit as ended:
                status = ended.code if isinstance(ended.code, int) else 1
            except Exception:
                traceback.print_exc()
                status = 1
        gc.collect()  # what an `up` leaves is 50 MB, in cycles
        return subprocess.CompletedProcess(arguments, status, output.getvalue(), failed.getvalue())

    def up(self, *regions: str, settings: tuple[str, ...] = ()) -> "subprocess.CompletedProcess[str]":
        return self.run(*self.command(*regions, settings=settings))

    def command(self, *regions: str, settings: tuple[str, ...] = ()) -> list[str]:
        """Return the arguments of `up` with these regions and settings."""
        return ["up", "--port", str(self.wanted_port), *chosen(*regions, settings=settings)]

    def end(self) -> None:
        """End what runs, if anything does."""
        if (self.folder / "server.json").exists():
            self.run("down")

    def kill(self, sign: signal.Signals = signal.SIGKILL, name: str = "server") -> None:
        """End the server and its functions, as a crash does or, with SIGTERM, a shutdown. Wait for the server's end.

        `name` is another process's, `gateway` or `domain`.
        """
        pid = self.server(name)
        os.killpg(pid, sign)
        deadline = time.monotonic() + HANGING
        with suppress(FileNotFoundError, ProcessLookupError):
            while Path(f"/proc/{pid}/cmdline").read_bytes():  # a process that nobody has waited for has none
                assert time.monotonic() < deadline
                time.sleep(0.01)

    def outputs(self) -> dict[str, Any]:
        return json.loads(self.run("outputs", "--json").stdout)

    def server(self, name: str = "server") -> int:
        """Return the server's process, or another one's that is recorded under this name."""
        return json.loads((self.folder / f"{name}.json").read_text())["pid"]

    @property
    def port(self) -> int:
        """The server's port."""
        return json.loads((self.folder / "server.json").read_text())["port"]

    @property
    def endpoint(self) -> str:
        """The server's URL."""
        return f"http://127.0.0.1:{self.port}"


def chosen(*regions: str, settings: tuple[str, ...] = ()) -> list[str]:
    """Return regions (by default the stack's own) and settings as options of `up`."""
    wanted = [f"regions={json.dumps(regions)}"] if regions else []
    return [option for setting in (*wanted, *settings) for option in ("-c", setting)]


def unlikely_port() -> int:
    """Return a free port that the kernel gives to nobody who doesn't ask for it: a killed server gets it back.

    It chooses others from 32768 on (Linux) or 49152 on (macOS).
    """
    while True:
        port = random.randrange(10_000, 32_768)
        if is_free(port):
            return port


def mint(
    url: str, path: str = "", method: str = "POST", headers: Mapping[str, str] | None = None
) -> tuple[int, dict[str, Any]]:
    """Return status and document."""
    request = urllib.request.Request(url + path, method=method, headers=dict(headers or {}))
    try:
        with OPENER.open(request, timeout=HANGING) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        with error:
            return error.code, json.load(error)


def integers_of(block: dict[str, Any]) -> list[int]:
    """Return the integers of a block, of which a large one comes in short form."""
    return block.get("integers") or [*range(block["first"], block["last"] + 1, block["stride"])]


PAUSE = 0.1
"""Seconds between a client's requests: without it, what is deployed meanwhile takes twice as long."""


class Clients:
    """Clients that mint from all URLs all the time, until `end`. What each got is kept in order."""

    def __init__(self, urls: dict[str, str], each: int = 2) -> None:
        """Start `each` clients of each region. They try again after 429 and 503."""
        self.minted: dict[tuple[str, int], list[int]] = defaultdict(list)
        self.failed: dict[str, list[tuple[int, Any]]] = defaultdict(list)
        self.retried = 0
        self.stop = Event()
        self.got = Condition()
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
            if status in (429, 503):
                self.retried += 1
                self.stop.wait(PAUSE)  # shorter than Retry-After
                continue
            with self.got:
                if status == 200:
                    self.minted[region, number].append(document["integer"])
                else:
                    self.failed[region].append((status, document))
                self.got.notify_all()
            if status != 200:
                return
            self.stop.wait(PAUSE)

    def wait_for_more(self, regions: Iterable[str], more: int = 1) -> None:
        """Wait until every client of these regions has minted some more. A client that was refused fails the test."""
        with self.got:
            wanted = {
                (region, number): len(self.minted[region, number]) + more
                for region in regions
                for number in range(self.each)
            }
            assert self.got.wait_for(
                lambda: (
                    any(region in self.failed for region, _ in wanted)
                    or all(len(self.minted[client]) >= count for client, count in wanted.items())
                ),
                HANGING,
            )
            assert not any(region in self.failed for region, _ in wanted), self.failed

    def end(self) -> list[int]:
        """Stop all clients and return all integers."""
        self.stop.set()
        for run in self.running:
            run.result()
        self.pool.shutdown()
        return [integer for integers in self.minted.values() for integer in integers]


def processes_of(folder: Path, part: str = "") -> list[int]:
    """Return the processes whose command line or environment names the folder (the server and its functions).

    `part` is another part of the command line.
    """
    found: list[int] = []
    for process in psutil.process_iter():
        with suppress(psutil.Error):  # it has ended, or is another user's
            command = " ".join(process.cmdline())
            named = str(folder) in " ".join([command, *process.environ().values()])
            found += [process.pid] if named and part in command and process.pid != os.getpid() else []
    return found


def kill_coordinators(folder: Path) -> None:
    """Kill the coordinator function's processes, in whichever regions."""
    for pid in processes_of(folder, "-coordinate-"):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def burn(machine: Machine, region: str) -> None:
    """Delete a region's tables and functions: here, every region answers, so a lost one is one without anything."""
    aws = Aws(machine.endpoint)
    dynamodb, functions = aws.client("dynamodb", region), aws.client("lambda", region)
    for table in dynamodb.list_tables()["TableNames"]:
        dynamodb.update_table(TableName=table, DeletionProtectionEnabled=False)
        dynamodb.delete_table(TableName=table)
    for each in functions.list_functions()["Functions"]:
        functions.delete_function(FunctionName=each.get("FunctionName", ""))


def up(machine: Machine, *regions: str, settings: tuple[str, ...] = ()) -> Machine:
    """Deploy to a machine, and return it."""
    result = machine.up(*regions, settings=settings)
    assert result.returncode == 0, result.stderr
    return machine


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Generator[Callable[[], Machine]]:
    made: list[Machine] = []

    def make() -> Machine:
        made.append(Machine(tmp_path_factory.mktemp("local")))
        return made[-1]

    yield make
    for machine in made:
        machine.end()


@pytest.fixture
def fresh(machines: Callable[[], Machine]) -> Generator[Machine]:
    """A machine on which nothing runs yet."""
    machine = machines()
    yield machine
    machine.end()


@pytest.fixture(scope="session")
def deployed(machines: Callable[[], Machine]) -> Machine:
    """Stack `dev`, deployed. A test that changes it sets it back."""
    return up(machines())


@pytest.fixture(scope="session")
def small(machines: Callable[[], Machine]) -> Machine:
    """Stack `dev` with one region. A test that changes it sets it back."""
    return up(machines(), "us-east-1")


@pytest.fixture(scope="session")
def opened(machines: Callable[[], Machine]) -> Machine:
    """Stack `dev` with the counters `integers` and `orders`, to which callers may add others. No test changes it.

    Its windows are those of a stack in memory (`global_integers.testing`), with which it is compared.
    """
    return up(machines(), settings=('counters=["integers", "orders"]', "openCounters=true", f"window={WINDOW}"))
