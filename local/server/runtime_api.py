"""Runs a function's archive by AWS's own runtime for Python, `awslambdaric`, as Lambda does: one event at a time.

The runtime asks Lambda's Runtime API for events and gives it the responses (Lambda guide, "Using the Lambda runtime
API for custom runtimes"). This is that API, for one process. The process sees its archive, and what is installed in
its Python; nothing of this checkout.
"""

import base64
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from contextlib import ExitStack
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from threading import Lock, Thread
from typing import Any, TypeVar, cast
from uuid import uuid4

ACCOUNT = "000000000000"
API = "/2018-06-01/runtime"
EXITED, TIMED_OUT = "Runtime.ExitError", "Sandbox.Timedout"
T = TypeVar("T")


@dataclass(frozen=True)
class LoadedFunction:
    """What Lambda knows of a function."""

    name: str
    handler: str
    region: str = "us-east-1"
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Its own environment variables."""
    memory_size: int = 128
    timeout: float = 900
    """Seconds for one event. After that the process is killed."""
    log_format: str = "JSON"
    log_level: str = "WARN"
    """Of what the function logs."""

    @classmethod
    def registered(cls, inputs: Mapping[str, Any]) -> "LoadedFunction":
        """Return the function that the program registers with these inputs (`aws.lambda_.Function`)."""
        return cls(
            inputs["name"],
            inputs["handler"],
            inputs["region"],
            inputs["environment"]["variables"],
            inputs["memorySize"],
            inputs["timeout"],
            inputs["loggingConfig"]["logFormat"],
            inputs["loggingConfig"]["applicationLogLevel"],
        )

    @property
    def arn(self) -> str:
        """Its ARN."""
        return f"arn:aws:lambda:{self.region}:{ACCOUNT}:function:{self.name}"


def unpack(code: str, folder: Path) -> None:
    """Unpack an archive, a zip file as base64 text (`inputs.py` makes it so), into a folder."""
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(code))) as zipped:
        zipped.extractall(folder)


class FunctionError(Exception):
    """The function failed, in its initialisation or with an event."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(f"{document['errorType']}: {document['errorMessage']}")
        self.document = document
        """What Lambda returns to the caller: `errorType`, `errorMessage` and, from the runtime, `stackTrace`."""


@dataclass(frozen=True)
class Usage:
    """What the process has used so far. Only Linux knows it."""

    cpu_seconds: float
    peak_mb: float


@dataclass(frozen=True)
class _Event:
    body: bytes
    headers: Mapping[str, str]


class Runtime:
    """The runtime in a process of its own, which runs while this is used as a context."""

    def __init__(
        self,
        function: LoadedFunction,
        folder: Path,
        *,
        more: Mapping[str, str] | None = None,
        python: str = sys.executable,
    ) -> None:
        """Start nothing yet.

        Args:
            function: what is run.
            folder: the unpacked archive.
            more: further environment variables: its role's credentials, and where AWS is if not at AWS.
            python: the Python that runs it, in which `awslambdaric` is installed.
        """
        self._function, self._folder, self._python = function, folder.resolve(), python
        self._more = more or {}
        self._lock = Lock()
        self._events: SimpleQueue[_Event | None] = SimpleQueue()
        self._ready: Future[float] = Future()
        self._responses: dict[str, Future[Any]] = {}
        self._failure: Mapping[str, Any] | None = None

    def __enter__(self) -> "Runtime":
        with ExitStack() as ends:
            self._log = ends.enter_context(tempfile.TemporaryFile())
            self._server = ends.enter_context(_Server(self))
            _run(self._server.serve, ends)
            ends.callback(self._server.end)
            self._begun = time.perf_counter()
            self._process = ends.enter_context(
                subprocess.Popen(
                    [self._python, "-m", "awslambdaric", self._function.handler],
                    cwd=self._folder,
                    env=self._environment(),
                    stdin=subprocess.DEVNULL,
                    stdout=self._log,
                    stderr=subprocess.STDOUT,
                )
            )
            ends.callback(self._process.kill)
            _run(self._wait, ends)
            ends.callback(self._process.kill)  # before the thread that waits for its end is waited for
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    def start(self) -> float:
        """Wait until the function is initialised. Return the seconds from the start of its process to that.

        Raises:
            FunctionError: its initialisation failed.
        """
        return self._result(self._ready, "init")

    def invoke(self, event: Any) -> Any:
        """Send an event, and return the response.

        Raises:
            FunctionError: the function failed, or it didn't respond within its timeout.
        """
        self.start()  # the time for an event begins when the function is initialised
        request, response = str(uuid4()), Future[Any]()
        with self._lock:
            if self._failure:
                raise FunctionError(self._failure)
            self._responses[request] = response
        now = time.time()
        headers = {
            "Lambda-Runtime-Aws-Request-Id": request,
            "Lambda-Runtime-Deadline-Ms": str(int((now + self._function.timeout) * 1000)),
            "Lambda-Runtime-Invoked-Function-Arn": self._function.arn,
            "Lambda-Runtime-Trace-Id": f"Root=1-{int(now):08x}-{uuid4().hex[:24]};Sampled=0",
        }
        self._events.put(_Event(json.dumps(event).encode(), headers))
        return self._result(response, request)

    def _result(self, future: Future[T], request: str) -> T:
        try:
            return future.result(self._function.timeout)
        except TimeoutError:
            message = f"RequestId: {request} Error: Task timed out after {self._function.timeout:.2f} seconds"
            document = {"errorType": TIMED_OUT, "errorMessage": message}
            self.fail(document)
            self._process.kill()
            raise FunctionError(document) from None

    @property
    def pid(self) -> int:
        """The process."""
        return self._process.pid

    def usage(self) -> Usage:
        """Return what the process has used so far.

        Raises:
            OSError: the process has ended, or this isn't Linux.
        """
        # clock_getcpuclockid(3) of that process: exact to nanoseconds, and with the threads that have ended. The times
        # in /proc/<pid>/stat are multiples of 10 ms.
        cpu = time.clock_gettime(~self.pid << 3 | 2)
        # getrusage(2) would include the peak of this process, from before the exec.
        peak = Path(f"/proc/{self.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
        return Usage(cpu, int(peak) / 1e3)

    @property
    def log(self) -> str:
        """What the process has written so far."""
        file = self._log.fileno()  # read by position, since the process shares the file's offset
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def _environment(self) -> dict[str, str]:
        """Return the process's environment (Lambda guide, "Defined runtime environment variables")."""
        function, (major, minor, *_) = self._function, sys.version_info
        return {
            **function.variables,
            **self._more,
            "_HANDLER": function.handler,
            "AWS_DEFAULT_REGION": function.region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{major}.{minor}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(function.memory_size),
            "AWS_LAMBDA_FUNCTION_NAME": function.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_FORMAT": function.log_format,
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{function.name}",
            "AWS_LAMBDA_LOG_LEVEL": function.log_level,
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._server.server_port}",
            "AWS_REGION": function.region,
            "LAMBDA_TASK_ROOT": str(self._folder),
            "LANG": "en_US.UTF-8",
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONDONTWRITEBYTECODE": "1",  # Lambda mounts the archive read-only
            "TZ": ":UTC",
        }

    def next_event(self) -> _Event | None:
        """Wait for an event, as the process asks. Return None at its end."""
        with self._lock:
            if not self._ready.done():
                self._ready.set_result(time.perf_counter() - self._begun)
        return self._events.get()

    def respond(self, request: str, document: Any, *, failed: bool) -> bool:
        """Take the response to an event from the process. Return False if none is waited for."""
        with self._lock:
            response = self._responses.pop(request, None)
        if response is None:
            return False
        if failed:
            response.set_exception(FunctionError(document))
        else:
            response.set_result(document)
        return True

    def fail(self, document: Mapping[str, Any]) -> None:
        """Let all that wait fail, now and from now on. Later calls change nothing."""
        with self._lock:
            self._failure = self._failure or document
            waiting: list[Future[Any]] = [*self._responses.values()]
            self._responses.clear()
            if not self._ready.done():
                waiting.append(self._ready)
            for future in waiting:
                future.set_exception(FunctionError(self._failure))

    def _wait(self) -> None:
        """Wait for the end of the process."""
        status = self._process.wait()
        self._events.put(None)  # for the thread that waits for an event, if there is one
        end = f"signal {-status}" if status < 0 else f"exit status {status}"
        self.fail({"errorType": EXITED, "errorMessage": f"Error: Runtime exited with error: {end}"})


def _run(target: Callable[[], None], ends: ExitStack) -> None:
    """Run it in a thread, which is waited for at the end."""
    thread = Thread(target=target)
    thread.start()
    ends.callback(thread.join)


class _Server(ThreadingHTTPServer):
    """The Runtime API of one process."""

    daemon_threads = True

    def __init__(self, runtime: Runtime) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.runtime = runtime
        self._ended = False

    def serve(self) -> None:
        """Serve until the end, which `serve_forever` would look for twice a second."""
        while not self._ended:
            self.handle_request()

    def end(self) -> None:
        """End `serve`, which waits for a connection."""
        self._ended = True
        socket.create_connection(("127.0.0.1", self.server_port)).close()

    def handle_error(self, request: object, client_address: object) -> None:
        """Ignore a process that ends between two requests."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(cast("Any", request), client_address)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    @property
    def _runtime(self) -> Runtime:
        return cast("_Server", self.server).runtime

    def do_GET(self) -> None:
        if self.path != f"{API}/invocation/next":
            return self._answer(404)
        event = self._runtime.next_event()
        if event is None:
            self.close_connection = True
            return None
        return self._answer(200, event.body, event.headers)

    def do_POST(self) -> None:
        document = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        match self.path.removeprefix(f"{API}/").split("/"):
            case ["init", "error"]:
                self._runtime.fail(document)
                self._answer(202)
            case ["invocation", request, "response" | "error" as what]:
                known = self._runtime.respond(request, document, failed=what == "error")
                self._answer(202 if known else 400)
            case _:
                self._answer(404)

    def _answer(self, status: int, body: bytes = b"{}", headers: Mapping[str, str] | None = None) -> None:
        self.send_response(status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(body)), **(headers or {})}
        for name, value in given.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 (the interface's name)
        """Log nothing."""
