"""The function's entry point: carries out a deployment, repairs what has changed since, or creates counters."""

import os
import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from aws import deadline

from .accept import Deployment, accept, finish
from .asking import ask
from .check import check
from .journal import journal, warn_of_unknown
from .metrics import Metrics, RunOf, kind_of
from .model import Record, Refused
from .observed import Observed
from .protocol import Outcome, settle
from .refusals import no_region, nothing_deployed
from .report import note, nowhere, reply
from .request import Check, Create, Watch, request_of
from .run import drive, settle_all
from .store import Store
from .survey import survey

RESERVE = 60_000
"""Milliseconds before the function's timeout in which no further counter is begun."""

METRICS = Metrics()
"""Of this process: Lambda may run the function many times in it."""


class CoordinatorError(Exception):
    """What the deployment shows its user: one message with everything that was refused."""


def handler(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Carry out what the event asks for (`request.py` says what it may be), and report the counters' layouts.

    Returns:
        `counters`, the layout of each counter that was asked for; `created`, which of them are new; `pending`, the
        regions that have yet to follow; and `registered`, how many counters there are. The schedule's run returns
        `skipped` if another run is at work. A check returns the region that was `checked`.

    Raises:
        CoordinatorError: something was refused, or time ran out. The next run continues where this one stopped.
    """
    if event.get("tf", {}).get("action") == "delete":  # the end of an invocation of version 1
        return {}
    if "check" in event:
        return _check(event, context)
    observed = Observed()
    failed = True
    try:
        reply = _carry_out(event, context, observed)
        failed = False
    except Refused as refusal:
        raise CoordinatorError(str(refusal)) from None
    finally:
        METRICS.write(RunOf(os.environ["STACK"], kind_of(event), failed, time.time()), observed)
    return reply


def _check(event: Mapping[str, Any], context: Any) -> dict[str, Any]:
    """Check what a deployment has updated. It writes no metrics: whoever deploys sees what is wrong."""
    deadline.begin(context)
    try:
        request = request_of(event)
        if not isinstance(request, Check):
            raise TypeError("an event with a check asks for nothing else")
        _, partition, _, _, account, *_ = str(context.invoked_function_arn).split(":")
        function = f"arn:{partition}:lambda:{request.region}:{account}:function:{os.environ['MINT_FUNCTION']}"
        return check(request, _store().carry_out, lambda method, path: ask(function, method, path))
    except Refused as refusal:
        raise CoordinatorError(str(refusal)) from None


def _store() -> Store:
    environment = os.environ
    return Store(
        environment["AWS_REGION"],
        environment["LAYOUTS_TABLE"],
        environment["MIRROR_TABLE"],
        environment["COUNTERS_TABLE"],
    )


def _carry_out(event: Mapping[str, Any], context: Any, observed: Observed) -> dict[str, Any]:
    request = request_of(event)
    run = Run(context, observed)
    match request:
        case Create(counters):
            return run.create(counters)
        case Watch():
            return run.watch()
        case Deployment():
            return run.deploy(request)
        case Check():
            raise TypeError("a check is no run")  # `handler` has taken it


class Run:
    """One run of the coordinator."""

    def __init__(self, context: Any, observed: Observed) -> None:
        self._context = context
        self._observed = observed
        self._token = secrets.token_hex(8)
        self._store = _store()
        self._carry_out = observed.observing(journal(self._store.carry_out))
        self._lease = self._store.lease(self._token)

    def deploy(self, deployment: Deployment) -> dict[str, Any]:
        """Accept a deployment, and carry it out.

        Raises:
            Refused: it was refused, or a counter was, or no region of the layout answers, or time ran out.
        """
        record = drive(accept(deployment, _now()), self._carry_out)
        assert record is not None  # noqa: S101 (a deployment makes the record)
        self._lease.take_over()
        try:
            return self._carry_on(record, deployment)
        finally:
            self._lease.give_back()

    def watch(self) -> dict[str, Any]:
        """Carry out what was accepted, and repair what has changed since.

        Raises:
            Refused: a counter was refused.
        """
        if not self._lease.take():
            return {"skipped": "another run is at work"}
        try:
            record = drive(accept(None, _now()), self._carry_out)
            return {"skipped": "nothing is deployed"} if record is None else self._carry_on(record, None)
        finally:
            self._lease.give_back()

    def create(self, counters: tuple[str, ...]) -> dict[str, Any]:
        """Create counters that don't exist, in the regions of the last deployment.

        Raises:
            Refused: nothing is deployed, a counter was refused, or time ran out.
        """
        if drive(accept(None, _now()), self._carry_out) is None:
            raise nothing_deployed(", ".join(counters))
        outcomes, all_begun = self._settle(counters, self._has_time)
        if not all_begun:
            raise Refused(f"{len(outcomes)} of {len(counters)} counters are done; time ran out. Send it again.")
        return reply(outcomes, counters)

    def _carry_on(self, record: Record, deployment: Deployment | None) -> dict[str, Any]:
        looked = drive(survey(record, _now()), self._carry_out)
        self._observed.outcomes |= looked.settled
        warn_of_unknown(looked.unknown)
        done, all_begun = self._settle(looked.unsettled, lambda: self._has_time() and self._lease.kept())
        outcomes = {**looked.settled, **done}
        unmintable = nowhere(outcomes.values())
        if not all_begun:
            total = len(looked.settled) + len(looked.unsettled)
            if deployment is not None:
                why = "another run has taken over" if self._has_time() else "time ran out"
                raise Refused(
                    f"{len(outcomes)} of {total} counters are done; {why}. The schedule continues. Deploy "
                    "again, now or when it has finished: regions that have left are deleted only then."
                )
            return {**reply(outcomes, ()), "unfinished": total - len(outcomes)}
        if unmintable is not None and deployment is not None:
            raise no_region(unmintable.counter, unmintable.regions)
        report = note(outcomes, record) if unmintable is None else None
        drive(finish(record, report, looked.mirror), self._carry_out)
        unknown = {"unknown": looked.unknown} if looked.unknown else {}
        return {**reply(outcomes, record.wish.counters), **unknown}

    def _settle(self, counters: Iterable[str], may_start: Callable[[], bool]) -> tuple[dict[str, Outcome], bool]:
        settlings = (settle(counter, self._token, _now()) for counter in counters)
        outcomes, refused, all_begun = settle_all(settlings, self._carry_out, may_start)
        done = {outcome.register.counter: outcome for outcome in outcomes}
        self._observed.outcomes |= done
        if refused:
            raise Refused(_listed(refused))
        return done, all_begun

    def _has_time(self) -> bool:
        return self._context.get_remaining_time_in_millis() > RESERVE


def _now() -> int:
    return int(time.time())


def _listed(refused: list[Refused], most: int = 10) -> str:
    lines = list(dict.fromkeys(str(refusal) for refusal in refused))
    more = [f"… and {len(lines) - most} more"] if len(lines) > most else []
    return "\n".join([*lines[:most], *more])
