"""Processes that outlive the command that started them: their ports, start, records and end, and how they serve."""

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Lock, Thread

import psutil

from ..paths import ROOT, VERSION, LocalError, state_folder, write


def is_free(port: int) -> bool:
    """Return whether a server could listen on the port."""
    try:
        with reserved(port):
            return True
    except OSError:
        return False


@contextmanager
def reserved(port: int = 0) -> Generator[int]:
    """Keep a port, by default any free one, until the server that is being started listens on it.

    Linux gives a bound port to nobody who asks for any. Several sockets with SO_REUSEADDR may be bound to it as long as
    none of them listens (socket(7)), and the servers here set that. On macOS they couldn't bind it then, so it is only
    chosen there. If somebody listens on the port, this is an `OSError`.
    """
    with socket.socket() as held:
        held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        held.bind(("127.0.0.1", port))
        chosen = held.getsockname()[1]
        if sys.platform != "linux":
            held.close()
        yield chosen


def works_in(process: psutil.Process, folder: Path) -> bool | None:
    """Return whether this is a process's working folder, or None where it can't be known.

    A folder that was deleted is not the one that has its name now: psutil adds that to its name.
    """
    try:
        return Path(process.cwd()) == folder.resolve()
    except psutil.Error:
        return None


def end_with_folder() -> None:
    """End this process as soon as its working folder is moved or deleted.

    Paths that it was started with lead elsewhere then, and what it saves must be where the next one begins.
    """
    here = Path.cwd()

    def poll() -> None:
        with suppress(FileNotFoundError, NotADirectoryError):  # it is gone
            while here.samefile("."):
                time.sleep(0.1)
        print(f"{here} was moved or deleted, so this process ends", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGTERM)

    Thread(target=poll, daemon=True).start()


START_TIMEOUT = 120
"""Seconds until it answers. It takes one or two, and ten times as long on a machine that is busy."""

ANSWER_TIMEOUT = 10

END_TIMEOUT = 10
"""Seconds to end after each signal."""

_starting = Lock()

_children: list[subprocess.Popen[bytes]] = []
"""Kept, since they outlive this process on purpose: Python warns of a forgotten one."""


@dataclass(frozen=True)
class Server:
    """A process that was started here, and the port on which it listens."""

    pid: int
    port: int
    version: int = VERSION
    """`VERSION` of the code that started it."""

    @property
    def endpoint(self) -> str:
        """Its URL."""
        return f"http://127.0.0.1:{self.port}"


@dataclass(frozen=True)
class BackgroundService:
    """A process of which one runs at a time in a state folder, which is its working folder."""

    name: str
    mark: str
    """The module that it runs: a part of its command line, which tells it from a later process with the same number."""
    what: str = ""
    """What errors call it."""
    question: tuple[str, str] = ("OPTIONS", "*")
    """Method and path of a request that it answers once it can serve."""

    @property
    def record(self) -> Path:
        """The file that says where it runs."""
        return state_folder() / f"{self.name}.json"

    @property
    def log(self) -> Path:
        """The file with what it prints."""
        return state_folder() / f"{self.name}.log"

    def start(self, arguments: Sequence[str], environment: Mapping[str, str], port: int) -> Server:
        """Start it in the state folder, in a session of its own, and record where it is.

        None of the user's AWS settings or proxies reach it: it sees just `environment` and what every one needs.
        """
        path = os.environ.get("PATH", os.defpath)
        every = {"PATH": path, "PYTHONPATH": str(ROOT), "AWS_EC2_METADATA_DISABLED": "true"}
        with self.log.open("w") as log:
            process = subprocess.Popen(
                arguments,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=state_folder(),
                env={**every, **environment},
                start_new_session=True,  # Ctrl-C at `up` is not for it
            )
            server = Server(process.pid, port)
            try:
                write(self.record, json.dumps(asdict(server)))
            except OSError:
                process.kill()
                process.wait()
                raise
        _children.append(process)
        while process.poll() is None and not self.alive(process.pid):
            time.sleep(0.001)  # its command line is empty for an instant
        return server

    def launch(self, port: int, *arguments: str, environment: Mapping[str, str]) -> Server:
        """Start its module on this port (0: on any free one). Return it once it answers, or raise `LocalError`.

        One that doesn't answer is ended, and stays recorded.
        """
        with reserved(port) as chosen:
            server = self.start([sys.executable, "-m", self.mark, str(chosen), *arguments], environment, chosen)
            if self.comes_up(server):
                return server
            ended = _children[-1].poll()
            self.end(signal.SIGTERM, signal.SIGKILL)
            problem = f"is silent on port {chosen}" if ended is None else f"ended with status {ended}"
            raise LocalError(f"{self.what} {problem}.\n{self.log_end()}")

    def comes_up(self, server: Server) -> bool:
        """Wait until it answers. Return False if it ends instead, or doesn't answer for `START_TIMEOUT` seconds."""
        ends = time.monotonic() + START_TIMEOUT
        while self.alive(server.pid):
            if self.answers(server):
                return True
            if time.monotonic() > ends:
                return False
            time.sleep(0.05)
        return False

    def answers(self, server: Server) -> bool:
        """Return whether it answers now, within `ANSWER_TIMEOUT` seconds."""
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=ANSWER_TIMEOUT)
        try:
            connection.request(*self.question)
            return connection.getresponse().status < HTTPStatus.INTERNAL_SERVER_ERROR
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()

    def waited_for(self, server: Server) -> bool:
        """Wait until it answers. Return False if it has ended. It isn't ended, however slow it is.

        Raises:
            LocalError: it doesn't answer for `START_TIMEOUT` seconds.
        """
        if self.comes_up(server):
            return True
        if not self.alive(server.pid):
            return False
        raise LocalError(
            f"{self.what} (process {server.pid}) runs, but hasn't answered on {server.endpoint} for {START_TIMEOUT} s: "
            f"wait, and repeat the command. Only if it never answers, end it: kill {server.pid}\n{self.log_end()}"
        )

    def running(self, endpoint: str) -> Server:
        """Return this project's own service, once it answers. If it doesn't run, start it, on the same port if free.

        `endpoint` is the local AWS server's URL, for a process that is started. One that runs may have another one.
        """
        with _starting:
            before = self.recorded()
            if before and self.waited_for(before):
                return before
            self.stop()
            folder = str(state_folder().resolve())
            environment = {"PYTHONDONTWRITEBYTECODE": "1", "HOME": folder, "GLOBAL_INTEGERS_LOCAL": folder}
            port = before.port if before and is_free(before.port) else 0
            return self.launch(port, endpoint, environment=environment)

    def recorded(self) -> Server | None:
        """Return the last one started and not ended, running or not.

        If its record is lost, damaged or another one's, or was never written, since who started it was interrupted, it
        is looked for: a second one must not begin from what the first has saved.
        """
        server = self._read()
        if server is None or not self.alive(server.pid):
            found = self._found()
            if found is not None:
                write(self.record, json.dumps(asdict(found)))
                return found
        return server

    def _read(self) -> Server | None:
        """Return what the record says; None: there is none that anything can be done with."""
        try:
            record = json.loads(self.record.read_text())
            return Server(*(int(record[name]) for name in ("pid", "port", "version")))
        except (FileNotFoundError, ValueError, TypeError, KeyError, RecursionError):
            return None

    def _found(self) -> Server | None:
        """Return the one that works in this state folder, of all processes. It leads a session, unlike its children.

        One whose folder was deleted, or whose folder can't be known, isn't taken for it, unlike by `alive`.
        """
        for process in psutil.process_iter():
            with suppress(psutil.Error, OSError, ValueError):  # ended meanwhile, of another user, or something else
                line, leads = process.cmdline(), os.getsid(process.pid) == process.pid
                if self.mark in line and leads and works_in(process, state_folder()):
                    return Server(process.pid, int(line[line.index(self.mark) + 1]))
        return None

    def runs(self) -> bool:
        """Return whether the recorded process runs."""
        server = self.recorded()
        return server is not None and self.alive(server.pid)

    def alive(self, pid: int) -> bool:
        """Return whether the process runs and is this one.

        After a reboot, another process may have its number. A record that was copied from another state folder
        names that folder's process, which works there.
        """
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            return self.mark in process.cmdline() and works_in(process, state_folder()) is not False
        return False

    def stop(self) -> bool:
        """End it and what it started. Return False if it didn't run."""
        running = self.end(signal.SIGTERM, signal.SIGKILL)
        self.record.unlink(missing_ok=True)
        return running

    def end(self, *signs: signal.Signals) -> bool:
        """Do the same by these signals, of which the next is sent after `END_TIMEOUT` seconds. It stays recorded."""
        server = self.recorded()
        if server is None or not self.alive(server.pid):
            return False
        for sign in signs:  # it leads a group, and what it started belongs to that
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(server.pid, sign)
            deadline = time.monotonic() + END_TIMEOUT
            while self.alive(server.pid) and time.monotonic() < deadline:
                time.sleep(0.02)
        for child in (child for child in _children if child.pid == server.pid):
            child.wait()
        return True

    def log_end(self) -> str:
        """Return the end of its log, with the log's path."""
        end = self.log.read_text(errors="replace").splitlines()[-15:] if self.log.exists() else []
        return "\n  ".join([f"The end of {self.log}:", *(end or ["(nothing)"])])


@dataclass(frozen=True)
class ServedResponse:
    """What a caller gets. `serve` adds `Content-Length`."""

    status: int
    headers: Mapping[str, str]
    body: bytes


def serve(port: int, respond: Callable[[str, str, Sequence[tuple[str, str]], bytes], ServedResponse]) -> None:
    """Serve on 127.0.0.1 until the process is ended, or its folder moved or deleted.

    `respond` gets method, target, headers and body, in any thread.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def respond(self) -> None:
            if "Transfer-Encoding" in self.headers:
                self.close_connection = True
                self.send_error(HTTPStatus.LENGTH_REQUIRED)
                return
            length = int(self.headers.get("Content-Length", 0))
            response = respond(self.command, self.path, self.headers.items(), self.rfile.read(length))
            self.send_response_only(response.status)
            for name, value in response.headers.items():
                self.send_header(name, value)
            if "content-length" not in map(str.lower, response.headers) and response.status != HTTPStatus.NO_CONTENT:
                self.send_header("Content-Length", str(len(response.body)))
            self.end_headers()
            if self.command != "HEAD":
                self.wfile.write(response.body)

        do_GET = do_POST = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_OPTIONS = respond  # noqa: N815

        def log_request(self, code: int | str = "-", size: int | str = "-") -> None:
            """Log nothing: the log is for errors."""

    end_with_folder()
    ThreadingHTTPServer(("127.0.0.1", port), Handler).serve_forever()
