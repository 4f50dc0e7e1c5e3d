"""Runs a function's archive by AWS's own runtime for Python, `awslambdaric`, as Lambda does: one event at a time.

The runtime asks Lambda's Runtime API for events and gives it the responses (Lambda guide, "Using the Lambda runtime
API for custom runtimes"). This is that API, for one process. The process sees its archive, and what is installed in
its Python; nothing of this checkout.
"""

import asyncio
import io
import json
import os
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Mapping
from concurrent.futures import Future
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from queue import Empty, SimpleQueue
from typing import Any
from uuid import uuid4

from local.resources.lambda_ import ARCHIVES
from proof.faulty_server import Request, Response, Server

API = "/2018-06-01/runtime/"
JSON = {"Content-Type": "application/json"}

POLL = 0.05
"""Seconds after which it is seen whether the process has ended."""


def unpack(code: str, folder: Path) -> None:
    """Unpack an archive, which a function's inputs name so (`local/resources/lambda_.py`), into a folder."""
    with zipfile.ZipFile(io.BytesIO(ARCHIVES[code])) as zipped:
        zipped.extractall(folder)


class FunctionError(Exception):
    """The function failed, in its initialisation or with an event."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        super().__init__(f"{document['errorType']}: {document['errorMessage']}")
        self.document = document
        """What Lambda returns to the caller: `errorType`, `errorMessage` and, from the runtime, `stackTrace`."""


@dataclass
class Runtime:
    """The runtime of a function, in a process of its own, which runs while this is used as a context."""

    folder: Path
    """The unpacked archive."""
    name: str
    handler: str
    region: str = "us-east-1"
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    """Also where AWS is if not at AWS."""
    memory_size: int = 128
    timeout: float = 900
    """Seconds for one event."""
    qualifier: str = ""
    """The version or alias by which it is called."""
    python: str = sys.executable
    """It has `awslambdaric`."""
    _asked: "SimpleQueue[tuple[str, Any]]" = field(default_factory=SimpleQueue, init=False)
    """What the process asks: the path below `API`, and the body, or the future event that it waits for."""
    _next: "Future[Response] | None" = field(default=None, init=False)
    """The event that the process waits for."""

    def __enter__(self) -> "Runtime":
        with ExitStack() as ends:
            self._log = ends.enter_context(tempfile.TemporaryFile())
            api = ends.enter_context(Server(self._respond, recording=False))
            self._begun = time.perf_counter()
            started = subprocess.Popen(
                [self.python, "-m", "awslambdaric", self.handler],
                cwd=self.folder,
                env=self._environment(api.url.removeprefix("http://")),
                stdin=subprocess.DEVNULL,
                stdout=self._log,
                stderr=subprocess.STDOUT,
            )
            self._process, self.pid = ends.enter_context(started), started.pid
            ends.callback(self._process.kill)
            self._ends = ends.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._ends.close()

    async def _respond(self, request: Request) -> Response:
        path = request.path.removeprefix(API)
        if request.method == "POST":  # a response or an error
            self._asked.put((path, request.document))
            return Response(202, b"{}", JSON)
        event = Future[Response]()
        self._asked.put((path, event))
        return await asyncio.wrap_future(event)

    def start(self) -> float:
        """Wait until the function is initialised. Return the seconds from the start of its process to now.

        Raises:
            FunctionError: its initialisation failed.
        """
        if not self._next:
            path, asked = self._wait()
            if path != "invocation/next":  # but "init/error"
                raise FunctionError(asked)
            self._next = asked
        return time.perf_counter() - self._begun

    def invoke(self, event: Any) -> Any:
        """Send an event, and return the response.

        Raises:
            FunctionError: the function failed, or it didn't respond within its timeout.
        """
        self.start()
        waiting, self._next, now = self._next, None, time.time()
        assert waiting
        arn = f"arn:aws:lambda:{self.region}:000000000000:function:{self.name}"
        headers = {
            "Aws-Request-Id": uuid4(),
            "Deadline-Ms": int((now + self.timeout) * 1000),
            "Invoked-Function-Arn": ":".join(filter(None, [arn, self.qualifier])),
            "Trace-Id": f"Root=1-{int(now):08x}-{uuid4().hex[:24]};Sampled=0",
        }
        named = {f"Lambda-Runtime-{name}": str(value) for name, value in headers.items()}
        waiting.set_result(Response(200, json.dumps(event).encode(), JSON | named))
        path, document = self._wait()
        if path.endswith("/response"):
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

    def _environment(self, api: str) -> dict[str, str]:
        """Return the process's environment (Lambda guide, "Defined runtime environment variables")."""
        major, minor, *_ = sys.version_info
        return {
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_LAMBDA_LOG_FORMAT": "JSON",
            "AWS_LAMBDA_LOG_LEVEL": "WARN",
            **self.variables,
            "_HANDLER": self.handler,
            "AWS_DEFAULT_REGION": self.region,
            "AWS_EXECUTION_ENV": f"AWS_Lambda_python{major}.{minor}",
            "AWS_LAMBDA_FUNCTION_MEMORY_SIZE": str(self.memory_size),
            "AWS_LAMBDA_FUNCTION_NAME": self.name,
            "AWS_LAMBDA_FUNCTION_VERSION": "$LATEST",
            "AWS_LAMBDA_RUNTIME_API": api,
            "AWS_REGION": self.region,
            "LAMBDA_TASK_ROOT": str(self.folder.resolve()),
            "PYTHONDONTWRITEBYTECODE": "1",  # Lambda mounts the archive read-only
            "TZ": ":UTC",
        }

    def _wait(self) -> tuple[str, Any]:
        """Wait for what the process asks next, and return it."""
        status, ends = None, time.monotonic() + self.timeout
        while status is None and time.monotonic() < ends:
            status = self._process.poll()
            with suppress(Empty):
                return self._asked.get(timeout=POLL)
        why = f"no response in {self.timeout} seconds" if status is None else f"exit status {status}"
        raise FunctionError({"errorType": "Runtime.ExitError", "errorMessage": f"{why}\n{self.log}"})
