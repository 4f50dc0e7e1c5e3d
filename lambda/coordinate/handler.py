"""The function's entry point: carries out a deployment, repairs what has changed since, or creates counters."""

import os
import secrets
import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from aws_client.service import set_deadline

from .check import ask, check
from .dynamodb.store import Store
from .events import Check, Create, ScheduledRun, request_of
from .log import log_change, warn_of
from .metrics import Metrics, RunStatistics
from .protocol.model import Deploy, Refused
from .protocol.operations import CarryOut, Clock, MayBegin, Operation, Parallel, Steps, TakeRunLock
from .run import RunResult, reply, run

RESERVE = 60_000
"""Milliseconds before the function's timeout in which no further counter is begun."""

CALLS = 256
"""How many DynamoDB calls of batches run at the same time. At 150 ms a call, fewer wouldn't fill one processor."""

COUNTERS = 48
"""How many counters are in progress at the same time."""

METRICS = Metrics()
"""Of this process: Lambda may run the function many times in it."""

T = TypeVar("T")


class CoordinatorError(Exception):
    """What the deployment shows its user: one message with everything that was refused."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Carry out what the event asks for (`events.py` says what it may be), and report the counters' layouts.

    Returns:
        `counters`, the layout of each counter that was asked for; `created`, which of them are new; `pending`, the
        regions that have yet to follow; and `registered`, how many counters there are. If there are any: `unfinished`,
        how many counters weren't begun; `unknown`, those without a register, with their regions; `stray`, keys that
        can't be read, with their tables. A scheduled run returns `skipped` if another run is at work. A check
        returns the region that was `checked`.

    Raises:
        CoordinatorError: something was refused, or time ran out. The next run continues where this one stopped.
    """
    result = RunResult()
    kind = "schedule" if "schedule" in event else "deployment" if "desired" in event else "creation"
    statistics = RunStatistics(os.environ["STACK"], kind, result)
    try:
        request = request_of(event)
        if isinstance(request, Check):
            return _check(request, context)
        _run(request, statistics, context)
        statistics.failed = False
    except Refused as refusal:
        raise CoordinatorError(str(refusal)) from None
    finally:
        if "check" not in event:  # whoever deploys sees what is wrong
            METRICS.write(statistics)
    warn_of(result.scan)
    return reply(result)


def _check(asked: Check, context: Any) -> dict[str, Any]:
    """Check what a deployment has updated."""
    set_deadline(context)
    _, partition, _, _, account, *_ = str(context.invoked_function_arn).split(":")
    function = f"arn:{partition}:lambda:{asked.region}:{account}:function:{os.environ['MINT_FUNCTION']}"
    return check(asked, _store().carry_out, lambda method, path: ask(function, method, path))


def _store() -> Store:
    return Store(*map(os.environ.__getitem__, ("AWS_REGION", "LAYOUTS_TABLE", "MIRROR_TABLE", "COUNTERS_TABLE")))


def _run(request: Deploy | ScheduledRun | Create, statistics: RunStatistics, context: Any) -> None:
    token = secrets.token_hex(8)
    store = _store()
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
                statistics.keep(operation, answer)
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
