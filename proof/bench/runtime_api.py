"""Runs a function's archive by AWS's own runtime for Python, `awslambdaric`, as Lambda does: one event at a time.

The runtime asks Lambda's Runtime API for events and gives it the responses (Lambda guide, "Using the Lambda runtime
API for custom runtimes"). This is that API, for one process. The process sees its archive, and what is installed in
its Python; nothing of this checkout.
"""

import base64
import http.client
import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO
from uuid import uuid4

API = "/2018-06-01/runtime/"


def unpack(code: str, folder: Path) -> None:
    """Unpack an archive, a zip file as base64 text (`local/engine/inputs.py` makes it so), into a folder."""
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(code))) as zipped:
        zipped.extractall(folder)


class FunctionError(Exception):
    """The function failed, in its initialisation or with an event."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(f"{document['errorType']}: {document['errorMessage']}")
        self.document = document
        """What Lambda returns to the caller: `errorType`, `errorMessage` and, from the runtime, `stackTrace`."""


@dataclass
class Runtime:
    """The runtime of a function, in a process of its own, which runs while this is used as a context.

    Nothing is served in the background: `start` and `invoke` wait for the runtime's next request, and respond.
    """

    folder: Path
    """The unpacked archive."""
    name: str
    handler: str
    region: str = "us-east-1"
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Also its role's credentials, and where AWS is if not at AWS."""
    memory_size: int = 128
    timeout: float = 900
    """Seconds for one event. After that the process is killed."""
    qualifier: str = ""
    """The version or alias by which it is called."""
    python: str = sys.executable
    """It has `awslambdaric`."""
    _connection: socket.socket | None = field(default=None, init=False)
    _idle: bool = field(default=False, init=False)  # else the process has asked for an event and waits for it
    _started: float = field(default=0.0, init=False)
    _failure: FunctionError | None = field(default=None, init=False)  # why no process could get an event any more

    def __enter__(self) -> "Runtime":
        with ExitStack() as ends:
            self._log = ends.enter_context(tempfile.TemporaryFile())
            self._listener = ends.enter_context(socket.create_server(("127.0.0.1", 0)))
            self._listener.settimeout(0.05)  # then it is seen whether the process has ended
            self._begun = time.perf_counter()
            started = subprocess.Popen(
                [self.python, "-m", "awslambdaric", self.handler],
                cwd=self.folder,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
            )
            self._process, self.pid = ends.enter_context(started), started.pid
            ends.callback(self._process.kill)
            ends.callback(self._hang_up)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    def start(self) -> float:
        """Wait until the function is initialised. Return the seconds from the start of its process to that.

        Raises:
            FunctionError: its initialisation failed.
        """
        if not self._started:
            self._until_idle("init")
            self._started = time.perf_counter() - self._begun
        return self._started

    def invoke(self, event: Any) -> Any:
        """Send an event, and return the response.

        Raises:
            FunctionError: the function failed, or it didn't respond within its timeout.
        """
        self.start()  # the time for an event begins when the function is initialised
        request, now = str(uuid4()), time.time()
        self._until_idle(request)
        self._idle = False
        arn = f"arn:aws:lambda:{self.region}:000000000000:function:{self.name}"
        headers = {
            "Aws-Request-Id": request,
            "Deadline-Ms": int((now + self.timeout) * 1000),
            "Invoked-Function-Arn": ":".join(filter(None, [arn, self.qualifier])),
            "Trace-Id": f"Root=1-{int(now):08x}-{uuid4().hex[:24]};Sampled=0",
        }
        named = {f"Lambda-Runtime-{name}": value for name, value in headers.items()}
        self._answer("200 OK", json.dumps(event).encode(), named)
        path, document = self._asked(request)
        self._answer("202 Accepted")
        if path == f"invocation/{request}/response":
            return document
        raise FunctionError(document)

    def usage(self) -> tuple[float, float]:
        """Return the processor seconds that the process has used so far, and its peak memory in MB.

        Raises:
            OSError: the process has ended, or this isn't Linux.
        """
        # clock_getcpuclockid(3) of that process: exact to nanoseconds, and with the threads that have ended. The times
        # in /proc/<pid>/stat are multiples of 10 ms.
        cpu = time.clock_gettime(~self.pid << 3 | 2)
        # getrusage(2) would include the peak of this process, from before the exec.
        peak = Path(f"/proc/{self.pid}/status").read_text().partition("VmHWM:")[2].split()[0]
        return cpu, int(peak) / 1e3

    @property
    def log(self) -> str:
        """What the process has written so far."""
        file = self._log.fileno()  # read by position, since the process shares the file's offset
        return os.pread(file, os.fstat(file).st_size, 0).decode(errors="replace")

    def _environment(self) -> dict[str, str]:
        """Return the process's environment (Lambda guide, "Defined runtime environment variables")."""
        major, minor, *_ = sys.version_info
        return {
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_LOG_LEVEL": "WARN",
            **self.variables,
            "_HANDLER": self.handler,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{major}.{minor}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.memory_size),
            "AWS_LAMBDA_FUNCTION_NAME": self.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_INITIALIZATION_TYPE": "on-demand",
            "AWS_LAMBDA_LOG_GROUP_NAME": f"/aws/lambda/{self.name}",
            "AWS_LAMBDA_LOG_STREAM_NAME": "local",
            "AWS_LAMBDA_RUNTIME_API": f"127.0.0.1:{self._listener.getsockname()[1]}",
            "AWS_REGION": self.region,
            "LAMBDA_TASK_ROOT": str(self.folder.resolve()),
            "LANG": "en_US.UTF-8",
            "PATH": os.environ.get("PATH", os.defpath),
            "PYTHONDONTWRITEBYTECODE": "1",  # Lambda mounts the archive read-only
            "TZ": ":UTC",
        }

    def _until_idle(self, request: str) -> None:
        """Wait until the process asks for an event."""
        if self._failure:
            raise self._failure
        if not self._idle:
            path, document = self._asked(request)
            if path != "invocation/next":  # but "init/error"
                self._answer("202 Accepted")
                self._failure = FunctionError(document)
                raise self._failure
            self._idle = True

    def _asked(self, request: str) -> tuple[str, Any]:
        """Wait for what the process asks the API. Return the path below `API`, and the body."""
        ends = time.monotonic() + self.timeout
        while (left := ends - time.monotonic()) > 0:
            if self._connection is None:
                self._accept()
                continue
            self._connection.settimeout(left)
            with suppress(ConnectionError, TimeoutError):
                line = self._requests.readline()
                if line:
                    length = http.client.parse_headers(self._requests).get("Content-Length", "0")
                    body = self._requests.read(int(length))
                    return line.split()[1].decode().removeprefix(API), json.loads(body or b"null")
            self._hang_up()
        self._process.kill()
        message = f"RequestId: {request} Error: Task timed out after {self.timeout:.2f} seconds"
        raise self._failed("Sandbox.Timedout", message)

    def _accept(self) -> None:
        """Accept a connection from the process if there is one yet."""
        try:
            self._connection, _ = self._listener.accept()
        except TimeoutError:
            if (status := self._process.poll()) is not None:
                end = f"signal {-status}" if status < 0 else f"exit status {status}"
                raise self._failed("Runtime.ExitError", f"Error: Runtime exited with error: {end}") from None
        else:
            self._connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._requests: BinaryIO = self._connection.makefile("rb")

    def _answer(self, status: str, body: bytes = b"{}", headers: Mapping[str, object] | None = None) -> None:
        all_headers = {"Content-Type": "application/json", "Content-Length": len(body), **(headers or {})}
        head = "".join(f"{name}: {value}\r\n" for name, value in all_headers.items())
        with suppress(ConnectionError):  # it has ended: what is asked next finds that
            assert self._connection
            self._connection.sendall(f"HTTP/1.1 {status}\r\n{head}\r\n".encode() + body)

    def _hang_up(self) -> None:
        if self._connection is not None:
            self._requests.close()
            self._connection.close()
            self._connection = None

    def _failed(self, error: str, message: str) -> FunctionError:
        """Return the error of this event and of all later ones."""
        self._failure = FunctionError({"errorType": error, "errorMessage": message})
        return self._failure
