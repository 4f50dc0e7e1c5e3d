"""One whole run of the coordinator, as a generator of operations: admit, scan, reconcile each counter, finish.

The Lambda function (`handler.py`) and the simulation drive the same code.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from global_integers_core.lattice import places
from global_integers_core.names import CHECK_COUNTER, NAMED

from . import operations as op
from . import refusals
from .admit import admit, finish
from .history import record_layouts
from .model import Absent, Deploy, DeploymentRecord, Elsewhere, Frozen, Refused, Register, item_in
from .moves import record_home
from .operations import Observation, Parallel, Steps, one
from .plan import Asked
from .reconcile import Outcome, reconcile
from .refusals import SHOWN
from .scan import TablesScan, scan_tables


class Create(Frozen):
    """Counters that must exist, in the regions of the last deployment."""

    counters: tuple[str, ...]
    most: int | None = None
    """How many counters there may be then. None: any number."""


class Delete(Frozen):
    """Counters that must not exist any more."""

    counters: tuple[str, ...]


class Grant(Frozen):
    """A counter of which a region has too few integers left. It is reconciled if it exists, and never created."""

    counter: str
    count: int = 1
    """How many integers were asked for at once."""
    went_back: int = 0
    """The epoch in which the region has seen its table go back, to an earlier state of the same table; 0: it hasn't."""


class ScheduledRun(Frozen):
    """A scheduled run: carry out what was admitted, and repair what has changed since."""


Run = Deploy | Create | Delete | Grant | ScheduledRun
"""What a run may be asked for."""


@dataclass
class RunResult:
    """The state of a run: it fills this while it goes on, and returns it in the end."""

    record: DeploymentRecord | None = None
    """What it carries out; None if nothing is deployed."""
    outcomes: dict[str, Outcome] = field(default_factory=dict[str, Outcome])
    """The counters that have what was asked for, as far as their regions answer."""
    to_delete: tuple[str, ...] = ()
    """The counters that were to be deleted, and are."""
    reported: tuple[str, ...] = ()
    """The counters that the reply is about."""
    scan: TablesScan = field(default_factory=TablesScan)
    """What it has found in all tables; empty if it hasn't looked."""
    unfinished: int = 0
    """How many counters weren't begun, since time ran out or another run has taken over."""
    skipped: str | None = None
    deleted: set[str] = field(default_factory=set[str])
    """The counters that are gone, or will be when a later run has carried on."""


def run(request: Run, token: str, result: RunResult) -> Steps[RunResult]:
    """Carry out a deployment, or what was admitted before; create, delete or grant counters. Return `result`, filled.

    No other run has this random token. `result` also shows how far a refused run got.

    Raises:
        Refused: the deployment or a counter is refused. All but a scheduled run are also refused if time runs out.
            The next run continues.
    """
    match request:
        case Create(counters, most):
            yield from _reconcile_only(counters, token, result, Asked(may_create=True), most)
        case Delete(counters):
            yield from _reconcile_only(counters, token, result, Asked(delete=True))
        case Grant(counter, count, went_back):
            yield from _reconcile_only((counter,), token, result, Asked(count=count, went_back=went_back))
        case ScheduledRun():
            if not (yield from one(op.TakeRunLock(over=False))):
                result.skipped = "another run is at work"
                return result
            try:
                result.record = yield from admit(None, token)
                if result.record is None:
                    result.skipped = "nothing is deployed"
                else:
                    yield from _carry_on(result.record, token, result, wanted=False)
            except Elsewhere as elsewhere:
                result.record, result.skipped = None, str(elsewhere)
        case Deploy():
            result.record = yield from admit(request, token)
            assert result.record is not None  # noqa: S101 (a deployment makes the record)
            yield [op.TakeRunLock(over=True)]
            yield from _carry_on(result.record, token, result, wanted=True)
    return result


def _reconcile_only(
    counters: tuple[str, ...], token: str, result: RunResult, asked: Asked, most: int | None = None
) -> Steps[None]:
    """Reconcile or delete these counters, without a scan and without the run lock: somebody waits for them.

    If only a few integers are left of one, regions are granted as many as are `asked` for all the same.
    """
    result.record = yield from admit(None, token)
    if result.record is None:
        raise refusals.nothing_deployed(", ".join(counters))
    if most is not None:
        yield from _check_room(counters, most)
    for counter in () if asked.may_create else counters:
        if all(found is None for found in (yield [op.ReadRegister(counter), op.ReadCopy(counter)])):
            raise refusals.no_counter(counter)
    refused = yield from _reconcile_each(dict.fromkeys(counters), result.record, token, result, asked)
    if refused:
        done = f"\nDeleted: {', '.join(sorted(result.deleted))}." if result.deleted else ""
        raise Refused(f"{refused}{done}")
    if result.deleted and not asked.delete:
        raise refusals.no_counter(", ".join(result.deleted))
    if result.unfinished:
        done = len(result.outcomes.keys() | result.deleted)
        raise Refused(f"{done} of {len(counters)} counters are done; time ran out. Send it again.")
    if asked.delete:
        result.to_delete = counters
    else:
        result.reported = counters


def _check_room(counters: tuple[str, ...], most: int) -> Steps[None]:
    """Refuse new counters if there would be more than `most`. Creations at the same time may all find room."""
    if len(counters) > most:
        raise refusals.too_many(counters[0], most)
    found = yield [op.ReadRegister(counter) for counter in counters]
    new = [counter for counter, register in zip(counters, found, strict=True) if not _exists(register)]
    if new:
        registers = yield from one(op.ScanRegisters())
        here = {name for name, register in registers.items() if _exists(register)}
        if len(here - {CHECK_COUNTER}) + len(new) > most:
            raise refusals.too_many(new[0], most)


def _exists(register: Register | Absent | None) -> bool:
    """Return whether there is a counter, by its register. A deleted one doesn't count."""
    return register is not None and (isinstance(register, Absent) or bool(register.regions))


def _carry_on(record: DeploymentRecord, token: str, result: RunResult, *, wanted: bool) -> Steps[None]:
    """Scan all tables, reconcile counters, and finish the record. If `wanted`, what stays undone is refused."""
    scan = result.scan = yield from scan_tables(record)
    result.outcomes |= scan.reconciled
    yield from record_home(scan.outdated, record.term)
    refused = yield from _reconcile_each(scan.unreconciled, record, token, result, Asked())
    if scan.unrecorded:
        yield from _record_again(scan.unrecorded, record.desired.counters[0], result)
    if refused or result.unfinished:
        done = result.outcomes.keys() | result.deleted
        undone = [scan.unreconciled[name] for name in scan.unreconciled if name not in done]
        if None not in undone:
            # Every register has its copy, so the mirror is whole: the next loss needs no operator. What can't be read
            # is nobody's, or its counter is among those that are undone.
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
        raise refusals.no_region(unmintable.regions, unmintable.counter)
    report = note(result.outcomes, record) if unmintable is None else None
    result.record = yield from finish(record, report, scan.mirror_id)
    result.reported = record.desired.counters


def _reconcile_each(
    counters: Mapping[str, Observation | None], record: DeploymentRecord, token: str, result: RunResult, asked: Asked
) -> Steps[Refused | None]:
    """Reconcile counters at the same time. Return what was refused, which does not stop the others.

    The check counter comes last: where it is missing, callers hear that the table is new, not that there is no counter.
    """
    answers: list[Any] = []
    for last in (False, True):
        names = [name for name in counters if (name == CHECK_COUNTER) == last]
        answers += yield Parallel(_reconcile(name, token, record, counters[name], result, asked) for name in names)
    result.unfinished = sum(not answer for answer in answers)
    refused = [str(each) for each in refusals.joined(answer for answer in answers if isinstance(answer, Refused))]
    shown = refused if len(refused) <= SHOWN else [*refused[:SHOWN], f"… and {len(refused) - SHOWN} more"]
    return Refused("\n".join(shown)) if refused else None


def _reconcile(
    counter: str, token: str, record: DeploymentRecord, observation: Observation | None, result: RunResult, asked: Asked
) -> Steps[bool]:
    """Reconcile a counter, unless time is short or the run lock is lost. Return whether it was begun."""
    if not (yield from one(op.MayBegin())):
        return False
    outcome = yield from reconcile(counter, token, record, observation, asked, result.scan.items)
    if isinstance(outcome, Outcome):
        result.outcomes[counter] = outcome
    else:
        result.deleted.add(counter)
    return True


def _record_again(regions: Sequence[str], first: str, result: RunResult) -> Steps[None]:
    """Record all counters' layouts again in regions whose receipts table was lost.

    The `first` counter shows the loss, so it comes last: what is interrupted is done again by the next run.
    """
    names = [name for name in result.outcomes if name != first]
    answers = yield Parallel(_record_one(name, regions, result) for name in names)
    if all(answer is True for answer in answers) and first in result.outcomes:
        yield from _record_one(first, regions, result)


def _record_one(counter: str, regions: Sequence[str], result: RunResult) -> Steps[bool]:
    """Record a counter's layouts in those of the regions that follow its register. Return whether they all answered."""
    if not (yield from one(op.MayBegin())):
        return False
    outcome, found = result.outcomes[counter], result.scan.items
    here = [region for region in regions if region in outcome.register.regions and region not in outcome.pending]
    items = {region: item_in(found.get(region, Absent.GONE), counter) for region in here}
    answers = yield from record_layouts(outcome.register, here, items)
    return not any(isinstance(answer, Absent) for answer in answers.values())


def pending_regions(outcomes: Iterable[Outcome]) -> list[str]:
    """Return the regions in which some counter has yet to follow."""
    return sorted({region for outcome in outcomes for region in outcome.pending})


def reply(result: RunResult) -> dict[str, Any]:
    """Return the state of the counters that were asked for, and how many there are in all, without `CHECK_COUNTER`."""
    if result.skipped is not None:
        return {"skipped": result.skipped}
    if result.to_delete:
        return {"deleted": list(result.to_delete)}
    reported = {counter: result.outcomes[counter] for counter in result.reported if counter != CHECK_COUNTER}
    found = {"unfinished": result.unfinished, "stray": {key: [*tables] for key, tables in result.scan.stray.items()}}
    return {
        "counters": {counter: _layout(outcome) for counter, outcome in reported.items()},
        "created": [counter for counter, outcome in reported.items() if outcome.created],
        "pending": pending_regions(result.outcomes.values()),
        "registered": len(result.outcomes.keys() - {CHECK_COUNTER}),
        **{name: what for name, what in found.items() if what},
    }


def about(window: int) -> int:
    """Return a window with two digits, rounded up: so the record isn't written whenever one has changed a little."""
    unit = 10 ** max(len(str(window)) - 2, 0)
    return -(-window // unit) * unit


def note(outcomes: Mapping[str, Outcome], record: DeploymentRecord) -> str:
    """Return what the record keeps for the next preview, as JSON."""
    shown = [counter for counter in record.desired.counters if counter in outcomes and counter != CHECK_COUNTER]
    registers = [outcomes[counter].register for counter in shown]
    named = sorted(registers, key=lambda each: each.counter)[:NAMED]
    of_all = {
        "counters": {each.counter: {"epoch": each.epoch, "base": each.base} for each in registers},
        "pending": pending_regions(outcomes.values()),
        "windows": {each.counter: about(each.window) for each in named if each.window > record.desired.window},
    }
    return json.dumps(of_all, sort_keys=True)


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
