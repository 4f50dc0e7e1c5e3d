"""Admits a deployment, and keeps the record of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import sha256
from itertools import count
from typing import Any

from global_integers_core.names import CHECK_COUNTER
from global_integers_core.records import RECORD_KEY

from . import operations as op
from . import refusals
from .epochs import left_of, lost_register
from .model import (
    Absent,
    Admitted,
    Claim,
    Copy,
    Deploy,
    DeploymentRecord,
    DesiredState,
    Recovery,
    Refused,
    Register,
    Scanned,
    highest,
    items_in,
    loss_id,
    where,
)
from .moves import Left, at, check_age, record_home, stays, take
from .operations import Steps, one
from .plan import beginning


def admit(deployment: Deploy | None, run: str) -> Steps[DeploymentRecord | None]:
    """Return the record that this run carries out. A lost record is put back from the mirror first.

    Without a deployment, that is what was admitted before; None if nothing is deployed yet. A deployment that asks for
    what the record asks for already is admitted at any age: it overrules nothing. No other run has the random `run`.

    Raises:
        Refused: the deployment is outdated, has a floor for an unknown counter, answers a loss wrongly, or none of its
            regions answers; the layouts table and its mirror are both lost, and that isn't answered; or a region
            doesn't answer at the first deployment. No counter was changed then.
    """
    for attempt in count():
        token = f"{run}/{attempt}"  # what was written by a former attempt isn't what this one writes
        admitted = yield from one(op.ReadAdmitted())  # first, or it could be of a record that wasn't there yet
        record = yield from one(op.ReadRecord())
        layouts_id = yield from one(op.DescribeLayouts())  # after the read, so it is this table's content
        if record is None or record.layouts_id != layouts_id or isinstance(admitted, Claim):
            if isinstance(admitted, Absent):  # every write of a register compares it
                raise refusals.stray_admitted()
            copy = yield from one(op.ReadRecordCopy())  # after the loss, or it might be outdated
            own = Left(admitted, record, copy, layouts_id, (yield from one(op.DescribeMirror())))
            if copy is not None and copy.mirror_id == own.mirror_id:
                put_back = replace(copy.original, layouts_id=layouts_id)
                if (yield from _put_back(put_back, admitted, own.mirror_id)):
                    yield [op.WriteRecord(record, put_back, admitted)]
                continue
            if deployment is None:
                stays(own.claim)
            last = (yield from take(deployment, run)) if deployment else (0, ())
            if last is None:
                continue
            try:
                new = yield from _first(deployment, own, token, *last)
            except Refused:
                if (yield from one(op.ReadRecord())) == record:
                    raise
                continue  # another run was faster, and what was found is its work
            if deployment is None:
                return None
            if new is None:
                continue
            yield from record_home(new.desired.everywhere, new.term)
            # The mirror comes first: if the layouts table is lost before all is reconciled, the copy shows that no more
            # registers existed than the mirror has.
            if not (yield from one(op.WriteRecordCopy(copy, Copy(new, own.mirror_id), admitted))):
                continue
        elif admitted != record.admitted:
            new = record  # somebody has deleted what is beside the record, or changed it
        elif deployment is None:
            return record
        elif (yield from take(deployment, run, record)) is None:
            continue
        elif record.desired.text == deployment.desired.text:
            return record
        elif record.token != deployment.follows:
            raise refusals.superseded(record.desired.regions)
        else:
            yield from check_age(deployment)
            yield from _check_floors(deployment.desired)
            if all(
                isinstance(answer, Absent) for answer in (yield [*map(op.DescribeTable, deployment.desired.regions)])
            ):
                raise refusals.no_region(deployment.desired.regions)
            answered = yield from _answered(deployment.desired, record)
            new = replace(
                answered,
                token=token,
                number=record.number + 1,
                follows=deployment.follows,
                requested=deployment.requested,
                desired=deployment.desired,
                reconciled=False,
            )
        if not (yield from one(op.WriteRecord(record, new, admitted))) and isinstance(admitted, Absent):
            raise refusals.stray_admitted()
    raise AssertionError  # it counts for ever


def _put_back(record: DeploymentRecord, admitted: Admitted | Claim | None, mirror_id: str) -> Steps[bool]:
    """Put back every register as its copy has it. Return whether all are there, so that the record may be.

    They come first: so no register is missing where the record is. What can't be read is left to who reads it next, and
    so is a register that has no copy.
    """
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    layouts_id, present_mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
    if (layouts_id, present_mirror_id) != (record.layouts_id, mirror_id):
        return False
    writes: list[op.Operation] = []
    for name, copy in copies.items():
        old = registers.get(name)
        if not isinstance(old, Absent) and not isinstance(copy, Absent) and copy.mirror_id == mirror_id:
            new = replace(copy.original, layouts_id=layouts_id)
            writes += [op.WriteRegister(old, new, admitted)] if old != new else []
    return all((yield writes))


def _check_floors(desired: DesiredState) -> Steps[None]:
    unknown = set(desired.floors) - {"*", *desired.counters}
    if unknown:
        registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
        unknown -= {*registers, *copies}
        if unknown:
            raise refusals.unknown_floors(sorted(unknown))


def _answered(desired: DesiredState, record: DeploymentRecord) -> Steps[DeploymentRecord]:
    """Return the record with the answer that a deployment gives to a loss, if it gives one.

    One that answers nothing any more stays in the settings without harm.
    """
    recovery = desired.recovery
    if recovery is None or recovery == record.desired.recovery:
        return record
    registers = yield from one(op.ScanRegisters())
    lost = [each for each in registers.values() if isinstance(each, Register) and each.lost]
    asked = [each for each in lost if each.lost == recovery.loss]
    if not asked:
        others = {each.lost for each in lost if each.regions} - {record.answered}
        if others and recovery.loss != record.answered:
            raise refusals.another_loss(recovery.loss, others)
        return record
    return _answer(recovery, record, asked, (yield from _scan_items(desired)))


def _answer(
    recovery: Recovery, record: DeploymentRecord, lost: Sequence[Register], scans: Mapping[str, Scanned]
) -> DeploymentRecord:
    """Return the record with the answer to a loss, which `lost` registers show. It covers what no table shows.

    Raises:
        Refused: more may have been minted than it says.
    """
    least = highest(*(items_in(scans, register.counter) for register in lost))
    if recovery.above < least:
        raise refusals.too_low(recovery, least)
    return replace(record, answered=recovery.loss, above=recovery.above)


def _scan_items(desired: DesiredState) -> Steps[dict[str, Scanned]]:
    """Return the items of every region, or refuse if one doesn't answer."""
    regions = desired.everywhere
    scans = dict(zip(regions, (yield [op.ScanItems(region, patient=True) for region in regions]), strict=True))
    unreachable = [region for region, items in scans.items() if items is Absent.UNREACHABLE]
    if unreachable:
        raise refusals.must_answer(unreachable)
    return scans


def _first(
    deployment: Deploy | None, own: Left, token: str, term: int, silent: Sequence[str]
) -> Steps[DeploymentRecord | None]:
    """Return this layouts table's first record; None without a deployment, or if it must be looked for again.

    It is written only if every region has answered. If anything, anywhere, shows that there was a deployment, the
    register of every counter is lost, and that loss must be answered. Where registers don't say so yet, they are
    written. First the loss of `silent` homes must be answered, each of which may have a record. `term` is that of
    this home.
    """
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    layouts_id, mirror_id, copy = own.layouts_id, own.mirror_id, own.copy
    tables: dict[str, Scanned] = {"the layouts table": registers, "the mirror": copies}
    if any(each.layouts_id != layouts_id for each in own.records):
        tables["another layouts table's record"] = {RECORD_KEY: Absent.GONE}
    if deployment is None:
        if traces := where(tables, lambda _: True):
            raise refusals.lost_everything(layouts_id, traces)
        return None
    desired = deployment.desired
    scans = yield from _scan_items(desired)
    recorded = [
        op.ReadRecorded(region, name)
        for region in scans
        for name in dict.fromkeys((desired.counters[0], CHECK_COUNTER))
    ]
    found = {
        f"{read.region}'s receipts": {read.counter: layouts}
        for read, layouts in zip(recorded, (yield recorded), strict=True)
        if layouts and not isinstance(layouts, Absent)
    }
    traces = where({**tables, **scans, **found}, lambda _: True)
    if silent:
        traces["the home region"] = tuple(f"{home}, which doesn't answer or lacks a table" for home in silent)
    first = [at(desired.first_home, desired.home, read) for read in (op.DescribeStream(), op.ScanRegisters())]
    label, shown = yield first
    if Absent.UNREACHABLE in (label, shown) and desired.first_home not in silent:
        return None  # it doesn't answer any more
    if not label or shown or desired.first_layouts_label != f"{desired.first_home} {label}":
        traces[f"the layouts table of {desired.first_layouts_label}"] = ("Pulumi's state",)
    new = DeploymentRecord(
        layouts_id,
        token,
        1 + max([0, *(each.number for each in own.records)]),
        deployment.follows,
        deployment.requested,
        desired,
        first_epoch=max([1, *(each.first_epoch for each in own.records)]),
        first_base=max([1, *(each.first_base for each in own.records)]),
        term=term + bool(silent),  # more than that of a home which takes a record from one that is silent here
    )
    if not traces:
        yield from _check_floors(desired)
        return new
    # What can't be read is a counter's if anything else shows one. Otherwise it is nobody's, and stops nobody.
    shown = where({**tables, **scans}, lambda what: not isinstance(what, Absent))
    names = sorted({*desired.counters, *shown})
    least = highest(*(items_in(scans, name) for name in names))
    answered = desired.recovery.loss if desired.recovery else ""
    home_loss = f"loss-{sha256(' '.join((layouts_id, *silent)).encode()).hexdigest()[:16]}-{term}" if silent else ""
    if home_loss and answered != home_loss:
        raise refusals.lost_everything(layouts_id, traces, home_loss, least, another=bool(answered))
    lost = [each for name in names if _is_lost(each := registers.get(name), copies.get(name), layouts_id, mirror_id)]
    losses = {register.lost for register in lost}
    if len(lost) < len(names) or len(losses) > 1:  # whoever answers must know of all of them
        now = yield from one(op.Clock())
        marked: list[Register] = []
        for name in names:
            stored: list[Any] = [registers.get(name), copies.get(name), *items_in(scans, name).values()]
            if Absent.STRAY in stored[:2]:
                raise refusals.stray(name, "the layouts table" if stored[0] is Absent.STRAY else "the mirror")
            begun = beginning(name, new, new.first_epoch, new.first_base, now)
            marked.append(lost_register(begun, home_loss or loss_id(token, new), left_of(*stored), now))
        same = copy and Copy(copy.original.admitted, copy.mirror_id)
        written = yield [op.WriteRegister(registers.get(each.counter), each, own.admitted, same) for each in marked]
        marked = [each for each, held in zip(marked, written, strict=True) if held]
        yield [op.WriteCopy(copies.get(each.counter), Copy(each, mirror_id)) for each in marked]
        return None
    (loss,) = losses
    if desired.recovery is None or answered != loss:
        raise refusals.lost_everything(layouts_id, traces, loss, least, another=bool(answered))
    new = _answer(desired.recovery, new, lost, scans)
    # Counters of which nothing was found at all may be begun later.
    first_epoch = max([new.first_epoch, *(register.epoch for register in lost)])
    return replace(new, first_epoch=first_epoch, first_base=max(new.first_base, new.above + 1))


def _is_lost(register: Any, copy: Any, layouts_id: str, mirror_id: str) -> bool:
    """Return whether a register says here, and its copy, that it is lost."""
    return copy == Copy(register, mirror_id) and register.layouts_id == layouts_id and bool(register.lost)


def finish(record: DeploymentRecord, report: str | None, mirror_id: str) -> Steps[DeploymentRecord]:
    """Record that every counter is reconciled, first in the layouts table, then in the mirror. Return the record.

    `report` is what is deployed, or None if some counter isn't reconciled: then only the mirror's copy of the record is
    brought up to date. `mirror_id` is that of the mirror in which the copies of all registers were found.

    Raises:
        Refused: another deployment was admitted since, or the mirror was lost.
    """
    while True:
        copy = yield from one(op.ReadRecordCopy())  # before the record, or an older record could replace a newer copy
        admitted = yield from one(op.ReadAdmitted())
        stays(admitted)
        present = yield from one(op.ReadRecord())
        layouts_id, present_mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
        if present_mirror_id != mirror_id:
            raise refusals.lost_meanwhile("mirror")
        if present is None or admitted != record.admitted or layouts_id != record.layouts_id:
            raise refusals.superseded(present.desired.regions if present else ())
        done = present
        if report is not None:  # then nothing is lost any more
            done = replace(present, reconciled=True, report=report, answered="", above=0)
        if present != done:
            yield [op.WriteRecord(present, done, admitted)]
        elif copy != Copy(done, mirror_id):
            yield [op.WriteRecordCopy(copy, Copy(done, mirror_id), admitted)]
        else:
            return done
