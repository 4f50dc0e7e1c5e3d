"""One whole run of the coordinator, as a generator of operations: admit, scan, reconcile each counter, finish.

The Lambda function (`handler.py`) and the simulation drive the same code. Like `protocol/`, it does no I/O.
"""

import json
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from global_integers_core.lattice import places
from global_integers_core.names import CHECK_COUNTER

from .events import Create, ScheduledRun
from .protocol.admit import admit, finish
from .protocol.model import Deploy, DeploymentRecord, Refused, Register
from .protocol.operations import MayBegin, Observation, Parallel, Steps, TakeRunLock, one
from .protocol.reconcile import Outcome, TablesScan, reconcile, scan_tables
from .protocol.refusals import no_region, nothing_deployed

SHOWN = 10
"""How many refusals of counters are shown."""


@dataclass
class RunResult:
    """The state of a run: it fills this while it goes on, and returns it in the end."""

    record: DeploymentRecord | None = None
    """What it carries out; None if nothing is deployed."""
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    """The counters that have what was asked for, as far as their regions answer."""
    reported: tuple[str, ...] = ()
    """The counters that the reply is about."""
    scan: TablesScan = field(default_factory=TablesScan)
    """What it has found in all tables; empty if it hasn't looked."""
    unfinished: int = 0
    """How many counters weren't begun, since time ran out or another run has taken over."""
    skipped: str | None = None


def run(request: Deploy | ScheduledRun | Create, token: str, result: RunResult) -> Steps[RunResult]:
    """Carry out a deployment, or what was admitted before; or create counters. Return `result`, filled.

    No other run has this random token. `result` also shows how far a refused run got.

    Raises:
        Refused: the deployment or a counter is refused. A deployment and a creation are also refused if time runs out;
            a scheduled run then returns. The next run continues.
    """
    match request:
        case Create(counters):
            yield from _create(counters, token, result)
        case ScheduledRun():
            if not (yield from one(TakeRunLock(over=False))):
                result.skipped = "another run is at work"
                return result
            result.record = yield from admit(None)
            if result.record is None:
                result.skipped = "nothing is deployed"
            else:
                yield from _carry_on(result.record, token, result, wanted=False)
        case Deploy():
            result.record = yield from admit(request)
            assert result.record is not None  # noqa: S101 (a deployment makes the record)
            yield [TakeRunLock(over=True)]
            yield from _carry_on(result.record, token, result, wanted=True)
    return result


def _create(counters: tuple[str, ...], token: str, result: RunResult) -> Steps[None]:
    result.record = yield from admit(None)
    if result.record is None:
        raise nothing_deployed(", ".join(counters))
    refused = yield from _reconcile_each(dict.fromkeys(counters), result.record, token, result)
    if refused:
        raise refused
    if result.unfinished:
        done = len(result.outcomes)
        raise Refused(f"{done} of {len(counters)} counters are done; time ran out. Send it again.")
    result.reported = counters


def _carry_on(record: DeploymentRecord, token: str, result: RunResult, *, wanted: bool) -> Steps[None]:
    """Scan all tables, reconcile counters, and finish the record. If `wanted`, what stays undone is refused."""
    scan = result.scan = yield from scan_tables(record)
    result.outcomes |= scan.reconciled
    refused = yield from _reconcile_each(scan.unreconciled, record, token, result)
    if refused or result.unfinished:
        undone = [scan.unreconciled[name] for name in scan.unreconciled if name not in result.outcomes]
        unreadable = {table for tables in scan.stray.values() for table in tables}
        if None not in undone and not {"layouts", "mirror"} & unreadable:
            # Every register has its copy, so the mirror is whole: the next loss needs no operator.
            with suppress(Refused):
                yield from finish(record, None, scan.mirror_id)
    if refused:
        raise refused
    if result.unfinished:
        if wanted:
            total = len(scan.reconciled) + len(scan.unreconciled)
            raise Refused(
                f"{len(result.outcomes)} of {total} counters are done; time ran out, or another run has taken over. "
                "The schedule continues. Deploy again, now or when it has finished: what has left is deleted only then."
            )
        return
    unmintable = nowhere(result.outcomes.values())
    if unmintable is not None and wanted:
        raise no_region(unmintable.counter, unmintable.regions)
    report = note(result.outcomes, record) if unmintable is None else None
    result.record = yield from finish(record, report, scan.mirror_id)
    result.reported = record.desired.counters


def _reconcile_each(
    counters: Mapping[str, Observation | None], record: DeploymentRecord, token: str, result: RunResult
) -> Steps[Refused | None]:
    """Reconcile counters at the same time. Return what was refused, which does not stop the others."""
    steps = (_reconcile(counter, token, record, observation, result) for counter, observation in counters.items())
    answers = yield Parallel(steps)
    result.unfinished = sum(not answer for answer in answers)
    refused = list(dict.fromkeys(str(answer) for answer in answers if isinstance(answer, Refused)))
    shown = refused if len(refused) <= SHOWN else [*refused[:SHOWN], f"… and {len(refused) - SHOWN} more"]
    return Refused("\n".join(shown)) if refused else None


def _reconcile(
    counter: str, token: str, record: DeploymentRecord, observation: Observation | None, result: RunResult
) -> Steps[bool]:
    """Reconcile a counter, unless time is short or the run lock is lost. Return whether it was begun."""
    if not (yield from one(MayBegin())):
        return False
    result.outcomes[counter] = yield from reconcile(counter, token, record, observation)
    return True


def pending_regions(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the regions in which some counter has yet to follow."""
    return sorted({region for outcome in outcomes for region in outcome.pending})


def reply(result: RunResult) -> dict[str, Any]:
    """Return the state of the counters that were asked for, and how many there are in all, without `CHECK_COUNTER`."""
    if result.skipped is not None:
        return {"skipped": result.skipped}
    reported = {counter: result.outcomes[counter] for counter in result.reported if counter != CHECK_COUNTER}
    found = {
        "unfinished": result.unfinished,
        "unknown": {counter: list(regions) for counter, regions in result.scan.unknown.items()},
        "stray": {key: list(tables) for key, tables in result.scan.stray.items()},
    }
    return {
        "counters": {counter: _layout(outcome) for counter, outcome in reported.items()},
        "created": [counter for counter, outcome in reported.items() if outcome.created],
        "pending": pending_regions(result.outcomes.values()),
        "registered": len(result.outcomes.keys() - {CHECK_COUNTER}),
        **{name: what for name, what in found.items() if what},
    }


def note(outcomes: Mapping[str, Outcome], record: DeploymentRecord) -> str:
    """Return what the record keeps for the next preview, as JSON."""
    shown = [counter for counter in record.desired.counters if counter in outcomes and counter != CHECK_COUNTER]
    named = {counter: outcomes[counter].register for counter in shown}
    counters = {counter: {"epoch": register.epoch, "base": register.base} for counter, register in named.items()}
    return json.dumps({"counters": counters, "pending": pending_regions(outcomes.values())}, sort_keys=True)


def nowhere(outcomes: Iterable[Outcome]) -> Register | None:
    """Return a register whose counter can't be minted in any region that answers, if there is one.

    As long as there is, a deployment isn't reconciled, and nothing that has left may be deleted.
    """
    registers = (outcome.register for outcome in outcomes if {*outcome.register.regions} <= {*outcome.pending})
    return next(registers, None)


def _layout(outcome: Outcome) -> dict[str, Any]:
    register = outcome.register
    layout = {region: {"offset": p.offset, "stride": p.stride} for region, p in places(register.regions).items()}
    return {
        "epoch": register.epoch,
        "base": register.base,
        "limit": register.limit,
        "regions": layout,
        "pending": list(outcome.pending),
    }
