"""The function's entry point: deployments, scheduled runs, counters created or deleted, grants, checks, releases."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from aws_client.service import set_deadline

from .dynamodb.store import Store
from .events import Back, Check, CheckSelf, Listing, Release, admissible, request_of
from .functions import Functions
from .listing import listed
from .log import log_change, warn_of
from .metrics import Metrics, RunStatistics
from .protocol.model import Deploy, Refused, TooMany
from .protocol.operations import CarryOut, Clock, MayBegin, Operation, Parallel, Steps, TakeRunLock
from .protocol.run import Create, Delete, Grant, Run, RunResult, ScheduledRun, reply, run
from .release import back, check_version, release
from .self_check import check_self

RESERVE = 60_000
"""Milliseconds before the function's timeout in which no further counter is begun."""

CALLS = 416
"""How many DynamoDB calls of batches run at the same time. At 150 ms a call, fewer wouldn't fill one processor."""

COUNTERS = 100
"""How many counters are in progress at the same time."""

GRANT_SECONDS = 5
"""Seconds for which transient errors of the home region are retried for a grant: the region asks again."""

METRICS = Metrics()
"""Of this process: Lambda may run the function many times in it."""

T = TypeVar("T")


class CoordinatorError(Exception):
    """What the deployment shows its user: one message with everything that was refused."""


class TooManyCounters(CoordinatorError):
    """What a caller sees who may create no more counters: minting functions know it by this name."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Carry out what the event asks for (`events.py` says what it may be), and report the counters' layouts.

    Returns:
        `counters`, the layout of each counter that was asked for; `created`, which of them are new; `pending`, the
        regions that have yet to follow; and `registered`, how many counters this run has seen to. If there are any:
        `unfinished`, how many counters weren't begun; `stray`, keys that can't be read, with their tables. A deletion
        returns those that are `deleted`. A scheduled run returns `skipped` if another run is at work. What isn't a run
        returns what `release.py`, `self_check.py` or `listing.py` says.

    Raises:
        CoordinatorError: something was refused, or time ran out. The next run continues where this one stopped.
    """
    set_deadline(context)
    event = event if isinstance(event, Mapping) else {}  # pyright: ignore[reportUnnecessaryIsInstance] (any JSON)
    invoked = str(context.invoked_function_arn)
    result, qualifier = RunResult(), ":".join(invoked.split(":")[7:])
    try:
        request = admissible(request_of(event), qualifier, int(os.environ.get("MAX_COUNTERS", "0")))
        if isinstance(request, Check | Release | CheckSelf | Back | Listing):
            return _without_run(request, invoked, qualifier)
        statistics = RunStatistics(os.environ["STACK"], KINDS[type(request)], result, "DASHBOARD" in os.environ)
        try:
            _run(request, statistics, context)
            statistics.failed = False
        finally:
            METRICS.write(statistics)
            warn_of(result.scan)
    except TooMany as refusal:
        raise TooManyCounters(str(refusal)) from None
    except Refused as refusal:
        raise CoordinatorError(str(refusal)) from None
    return reply(result)


KINDS = {ScheduledRun: "schedule", Deploy: "deployment", Create: "creation", Delete: "deletion", Grant: "grant"}
"""What metrics call a run, by what it was asked for. All else changes no layout."""


def _without_run(request: Check | Release | CheckSelf | Back | Listing, invoked: str, qualifier: str) -> dict[str, Any]:
    if isinstance(request, Listing):
        return listed(request, lambda steps: drive(steps, _store().carry_out), time.sleep)
    carry_out, functions = _store().carry_out, Functions(invoked, os.environ["MINT_FUNCTION"])
    match request:
        case Check():
            return check_version(request, carry_out, functions)
        case Release():
            return release(request, carry_out, functions)
        case CheckSelf(build):
            return check_self(invoked, qualifier, build, carry_out, functions)
        case Back():
            return back(carry_out, functions)


def _store(patience: float | None = None) -> Store:
    tables = ("LAYOUTS_TABLE", "MIRROR_TABLE", "COUNTERS_TABLE", "RECEIPTS_TABLE")
    return Store(*map(os.environ.__getitem__, ("AWS_REGION", *tables)), patience=patience)


def _run(request: Run, statistics: RunStatistics, context: Any) -> None:
    token = secrets.token_hex(8)
    store = _store(GRANT_SECONDS if isinstance(request, Grant) else None)
    run_lock = store.run_lock(token)

    def carry_out(operation: Operation) -> Any:
        match operation:
            case Clock():
                return int(time.time())
            case TakeRunLock(over):
                return run_lock.take(over=over)
            case MayBegin():
                return context.get_remaining_time_in_millis() > RESERVE and run_lock.still_held()
            case _:
                answer = store.carry_out(operation)
                log_change(operation, answer)
                return answer

    try:
        drive(run(request, token, statistics.result), carry_out)
    finally:
        run_lock.give_back()


def drive(steps: Steps[T], carry_out: CarryOut) -> T:
    """Take all steps, and return what they return. `carry_out` is called from several threads."""
    with ThreadPoolExecutor(CALLS) as calls, ThreadPoolExecutor(COUNTERS) as counters:

        def take(steps: Steps[Any]) -> Any:
            try:
                batch = next(steps)
                while True:
                    batch = steps.send(answers(batch))
            except StopIteration as stop:
                return stop.value
            finally:
                steps.close()

        def answers(batch: Sequence[Operation] | Parallel) -> Sequence[Any]:
            if isinstance(batch, Parallel):
                return list(counters.map(take_part, batch.steps))
            if len(batch) == 1:
                return [carry_out(batch[0])]
            return list(calls.map(carry_out, batch))

        def take_part(steps: Steps[Any]) -> Any:
            try:
                return take(steps)
            except Refused as refusal:
                return refusal

        return take(steps)
