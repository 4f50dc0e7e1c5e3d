"""ministack with a queue in front of its functions: `python -m local.server.ministack_server <port>`.

What it has outlives it (`saved.py`). It also treats a function's versions and aliases as Lambda does
(`qualifiers.py`), enforces the policies of tables (`table_policies.py`), and names the error that a function has
raised, or why it doesn't start.

ministack runs each concurrent request to a function in a process of its own, as AWS does. On a small machine with 200
callers at once, none would get a response in time. So only `AT_ONCE` requests to Function URLs run. The others wait in
order, and get 429 after `PATIENCE` seconds, as from AWS where a function is at its limit. Requests to other services
don't wait, since functions need them to end.
"""

import asyncio
import json
import os
import re
import sys
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partialmethod, wraps
from pathlib import Path
from threading import Event, Lock, Timer
from typing import Any

AT_ONCE = 2 * (os.cpu_count() or 1)
"""Requests to functions that run at the same time. A function spends much of its time waiting for its table."""

PATIENCE = 1.5
"""Seconds that a request waits. The client gives an attempt 3 seconds."""

BACKLOG = 1024
"""Connections that the kernel keeps until they are accepted. If it drops one, its caller waits for seconds."""

LOG_WAIT = 0.005
"""Seconds to wait for what a function has logged before its response. ministack would wait 0.05, with each request.
What comes later belongs to the next request."""

THROTTLED = json.dumps({"Reason": "ConcurrentInvocationLimitExceeded", "Type": "User", "message": "Rate Exceeded."})

FUNCTION_URLS = "/_aws/lambda-url/"
"""The beginning of every Function URL's path. ministack also has host names for them, which no resolver here knows."""

RAISED = re.compile(r"\n(?:  .*\n)+(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?=:|\n|$)")
"""The end of a traceback's frames, and the class of the error without its module."""

TRACE = "Traceback (most recent call last):"

NOT_STARTED = "Worker init failed: "

ENDED = ("Worker process exited immediately", "Worker process died")

TIMED_OUT = re.compile(r"Task timed out after \d+\.\d+ seconds")
"""What ministack says of a function that doesn't start, ends by itself, or takes too long."""

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Scope]]
Send = Callable[[Scope], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


class Queue:
    """An ASGI application that lets only some requests to functions in at once. `patience` is in seconds."""

    def __init__(self, app: App, at_once: int = AT_ONCE, patience: float = PATIENCE) -> None:
        self._app = app
        self._places = asyncio.Semaphore(at_once)
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] != "http" or not scope["path"].startswith(FUNCTION_URLS):
            await self._app(scope, receive, send)
            return
        try:
            async with asyncio.timeout(self._patience):
                await self._places.acquire()
        except TimeoutError:
            await _throttle(send)
            return
        try:
            await self._app(scope, receive, send)
        finally:
            self._places.release()


async def _throttle(send: Send) -> None:
    headers = [(b"content-type", b"application/json"), (b"retry-after", b"1")]
    await send({"type": "http.response.start", "status": 429, "headers": headers})
    await send({"type": "http.response.body", "body": THROTTLED.encode()})


def with_error_type(execute: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Give a function's error the type and message that Lambda gives it; ministack calls all of them alike.

    Source: Lambda guide, "AWS Lambda function errors in Python": `errorType`. For functions that don't start or that
    end by themselves, `awslambdaric.bootstrap` and "Troubleshoot execution issues in Lambda".
    """

    @wraps(execute)
    def executed(function: dict[str, Any], *arguments: Any) -> dict[str, Any]:
        result = execute(function, *arguments)
        if not result.get("error") or result.get("throttle"):
            return result
        body = result["body"]
        message = str(body.get("errorMessage", ""))
        if message.startswith(NOT_STARTED):
            trace = message.removeprefix(NOT_STARTED)
            handler = function["config"]["Handler"]
            result |= {"body": _not_started(trace, handler), "log": trace}
        elif message.startswith(ENDED):
            result |= {"body": {"errorMessage": "Error: Runtime exited", "errorType": "Runtime.ExitError"}}
            result["log"] = result.get("log") or message
        elif TIMED_OUT.fullmatch(message):
            result |= {"body": {**body, "errorType": "Sandbox.Timedout"}}
            result["log"] = result.get("log") or message
        elif body["errorType"] == "Runtime.HandlerError":
            _, _, trace = str(result.get("log", "")).rpartition(TRACE)
            if raised := RAISED.match(trace):
                body["errorType"] = raised[1]
        return result

    return executed


def _not_started(trace: str, handler: str) -> dict[str, str]:
    """Return the payload of a function whose module can't be imported, or has no such handler."""
    last = trace.rpartition(TRACE)[2]
    raised = RAISED.match(last)
    kind = raised[1] if raised else "Exception"
    text = last[raised.end() if raised else 0 :].removeprefix(":").strip()
    module, _, name = handler.rpartition(".")
    if kind in ("ImportError", "ModuleNotFoundError"):
        kind, text = "Runtime.ImportModuleError", f"Unable to import module '{module}': {text}"
    elif kind in ("SyntaxError", "IndentationError", "TabError"):
        kind, text = "Runtime.UserCodeSyntaxError", f"Syntax error in module '{module}': {text}"
    elif kind == "AttributeError" and f"module '{module}' has no attribute '{name}'" in text:
        kind, text = "Runtime.HandlerNotFound", f"Handler '{name}' missing on module '{module}'"
    return {"errorMessage": text, "errorType": kind}


def with_trace(script: str) -> str:
    """Return ministack's program for a Python function so that it reports the traceback of a failed start."""
    before, after = '"error": str(e)})', '"error": traceback.format_exc()})'
    if script.count(before) != 1:
        raise RuntimeError("this version of ministack reports a failed start in another way")
    return script.replace(before, after)


def within_timeout(spawn: Callable[[Any], None]) -> Callable[[Any], None]:
    """Let a function's start end with its timeout. ministack would wait for it without end."""

    @wraps(spawn)
    def spawned(worker: Any) -> None:
        seconds, ended = worker.config.get("Timeout", 3), Event()

        def end() -> None:
            ended.set()
            worker._proc.kill()

        timer = Timer(seconds, end)
        timer.start()
        try:
            spawn(worker)
        except RuntimeError as error:
            if ended.is_set():
                raise RuntimeError(f"Task timed out after {seconds}.00 seconds") from error
            raise
        finally:
            timer.cancel()

    return spawned


def alone(invoke: Callable[..., dict[str, Any]], end: Callable[[list[Any]], None]) -> Callable[..., dict[str, Any]]:
    """Let a process that can't start end no other one of its function. ministack would end those at work, too."""

    @wraps(invoke)
    def invoked(worker: Any, *arguments: Any, **more: Any) -> dict[str, Any]:
        try:
            return invoke(worker, *arguments, **more)
        except (OSError, RuntimeError) as error:
            end([worker])
            return {"status": "error", "error": str(error)}

    return invoked


def in_turn(*functions: Callable[..., Any]) -> list[Callable[..., Any]]:
    """Return these functions so that one waits for another to end.

    Each invocation begins a log stream of its own. ministack fails to describe log groups if one begins meanwhile.
    """
    lock = Lock()

    def waiting(function: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(function)
        def called(*args: Any, **more: Any) -> Any:
            with lock:
                return function(*args, **more)

        return called

    return [waiting(function) for function in functions]


def main() -> None:
    """Run ministack. Its other settings are in the environment (local/server/aws_server.py)."""
    os.environ["GATEWAY_PORT"] = sys.argv.pop()  # ministack reads options of its own
    os.environ.pop("PYTHONPATH", None)  # functions have only what is in their archives
    from hypercorn.config import Config
    from ministack import app as ministack  # pyright: ignore[reportMissingTypeStubs]
    from ministack.core import lambda_runtime, persistence  # pyright: ignore[reportMissingTypeStubs]
    from ministack.services import cloudwatch_logs, dynamodb, lambda_svc  # pyright: ignore[reportMissingTypeStubs]

    from . import qualifiers, table_policies
    from .process import end_with_folder
    from .saved import Saved

    Config.backlog = BACKLOG
    numbers = qualifiers.apply()
    table_policies.apply()
    functions: Any = lambda_svc
    functions._execute_function_warm = with_error_type(functions._execute_function_warm)
    logs: Any = cloudwatch_logs
    functions._emit_lambda_logs, logs._describe_log_groups = in_turn(
        functions._emit_lambda_logs, logs._describe_log_groups
    )
    runtime: Any = lambda_runtime
    runtime._PYTHON_WORKER_SCRIPT = with_trace(runtime._PYTHON_WORKER_SCRIPT)
    worker = runtime.Worker
    worker._spawn = within_timeout(worker._spawn)
    worker.invoke = alone(worker.invoke, runtime.kill_workers)
    worker._drain_stderr_bounded = partialmethod(worker._drain_stderr_bounded, first_line_wait=LOG_WAIT)
    server: Any = ministack
    folder = Path(os.environ["STATE_DIR"])
    saved = Saved(folder, server, persistence, functions, dynamodb, {"numbers": numbers})
    server.app = saved.around(Queue(server.app))
    end_with_folder()
    server.main()


if __name__ == "__main__":
    main()
