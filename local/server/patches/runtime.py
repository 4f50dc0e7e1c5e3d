"""How a function runs: its start, its end, its errors and its log.

A function's error has the type and message that Lambda gives it; ministack calls all of them alike (Lambda guide, "AWS
Lambda function errors in Python": `errorType`). For functions that don't start or that end by themselves, see
`awslambdaric.bootstrap` and "Troubleshoot execution issues in Lambda".
"""

import json
import re
from collections.abc import Callable, Mapping
from threading import Event, Lock, Timer
from typing import Any

from . import ministack, replaces
from .versions import LAMBDA

RUNTIME = ministack("core.lambda_runtime")

LOGS = ministack("services.cloudwatch_logs")

LOG_WAIT = 0.005
"""Seconds to wait for what a function has logged before its response. ministack would wait 0.05, with each request.
What comes later belongs to the next request."""

TRACE = "Traceback (most recent call last):"

RAISED = re.compile(r"\n(?:  .*\n)+(?:[A-Za-z_]\w*\.)*([A-Za-z_]\w*)(?=:|\n|$)")
"""The end of a traceback's frames, and the class of the error without its module."""

NOT_STARTED = "Worker init failed: "

ENDED = ("Worker process exited immediately", "Worker process died")

TIMED_OUT = "Task timed out after "
"""What ministack says of a function that doesn't start, ends by itself, or takes too long."""

LOGGING = Lock()


@replaces(LAMBDA, "_execute_function_warm", 'error_type = "Runtime.HandlerError"')
def with_error_type(execute: Callable[..., dict[str, Any]], function: Any, *arguments: Any) -> dict[str, Any]:
    """Give a function's error its type and message."""
    result = execute(function, *arguments)
    if not result.get("error") or result.get("throttle"):
        return result
    body, log = result["body"], str(result.get("log", ""))
    message = str(body.get("errorMessage", ""))
    if message.startswith(NOT_STARTED):
        log = message.removeprefix(NOT_STARTED)
        body = _not_started(log, function["config"]["Handler"])
    elif message.startswith(ENDED):
        body = {"errorMessage": "Error: Runtime exited", "errorType": "Runtime.ExitError"}
    elif message.startswith(TIMED_OUT):
        body = {**body, "errorType": "Sandbox.Timedout"}
    elif body["errorType"] == "Runtime.HandlerError" and (raised := RAISED.match(log.rpartition(TRACE)[2])):
        body = {**body, "errorType": raised[1]}
    return {**result, "body": body, "log": log or message}


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


@replaces(RUNTIME, "_PYTHON_WORKER_SCRIPT", '"error": str(e)})')
def with_trace(script: str) -> str:
    """Return ministack's program for a Python function so that it reports the traceback of a failed start."""
    return script.replace('"error": str(e)})', '"error": traceback.format_exc()})')


@replaces(RUNTIME, "_PYTHON_WORKER_SCRIPT", "\n    _ms_install_invoke_depth()")
def plain(script: str) -> str:
    """Let a function start without botocore, by which ministack finds functions that call themselves: ours don't.

    And it keeps nothing that it has compiled: on AWS, its folder can't be written.
    """
    return script.replace("\n    _ms_install_invoke_depth()", "\n    sys.dont_write_bytecode = True")


@replaces(RUNTIME.Worker, "_spawn", "self._proc.stdout.readline()")
def within_timeout(spawn: Callable[[Any], None], worker: Any) -> None:
    """Let a function's start end with its timeout. ministack would wait for it without end."""
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
            raise RuntimeError(f"{TIMED_OUT}{seconds}.00 seconds") from error
        raise
    finally:
        timer.cancel()


@replaces(RUNTIME.Worker, "invoke", "self._spawn()")
def alone(invoke: Callable[..., Any], worker: Any, *arguments: Any, **more: Any) -> dict[str, Any]:
    """Let a process that can't start end no other one of its function. ministack would end those at work, too."""
    try:
        return invoke(worker, *arguments, **more)
    except (OSError, RuntimeError) as error:
        RUNTIME.kill_workers([worker])
        return {"status": "error", "error": str(error)}


@replaces(RUNTIME.Worker, "_drain_stderr_bounded", "first_line_wait: float = 0.050,")
def soon(drain: Callable[..., str], worker: Any) -> str:
    """Wait less for a function's log."""
    return drain(worker, first_line_wait=LOG_WAIT)


@replaces(LAMBDA, "_emit_lambda_logs", 'group["streams"][stream_name] = {')
@replaces(LOGS, "_describe_log_groups", 'for s in g["streams"].values()')
def in_turn(function: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """Describe log groups while none of their streams begins, as one does with each invocation: that would fail."""
    with LOGGING:
        return function(*arguments, **named)


@replaces(LOGS, "_filter_log_events", 'return json_response({"events": events, "searchedLogStreams": []})')
def in_pages(find: Callable[[Any], Any], asked: Mapping[str, Any]) -> Any:
    """Return a page of a log, of 10,000 events at most (CloudWatch Logs API reference, "FilterLogEvents").

    The token of the next one: the last event's time, and how many events of that time are known.
    """
    if not re.fullmatch(r"\d+ \d+", token := asked.get("nextToken", f"{asked.get('startTime', 0)} 0")):
        return LOGS.error_response_json("InvalidParameterException", "The specified nextToken is invalid.", 400)
    since, known = map(int, token.split())
    most = min(asked.get("limit", 10_000) + known, 10_000)
    status, headers, body = find({**asked, "startTime": since, "limit": most})
    found = json.loads(body)
    times = [event["timestamp"] for event in found.get("events", [])]
    if len(times) == most:
        found["nextToken"] = f"{times[-1]} {times.count(times[-1])}"
    return status, headers, json.dumps({**found, "events": found.get("events", [])[known:]}).encode()
