"""Admits a deployment, and keeps the record of it."""

from collections.abc import Mapping
from dataclasses import replace

from . import operations as op
from .model import Absent, Copy, Deploy, DeploymentRecord, Item, Register
from .operations import Steps, one
from .refusals import lost_home, mirror_lost, outdated, superseded, unknown_floors

LATEST = 3 * 3600
"""Seconds after which a deployment is too old to be admitted: far more than one lasts."""


def admit(deployment: Deploy | None) -> Steps[DeploymentRecord | None]:
    """Return the record that this run carries out. A lost record is put back from the mirror first.

    Without a deployment, that is what was admitted before; None if nothing is deployed yet. A deployment that asks for
    what the record asks for already is admitted at any age: it overrules nothing.

    Raises:
        Refused: the deployment is outdated, or has a floor for an unknown counter; or the layouts table and its mirror
            are both lost. It changed nothing then, but a lost record may have been put back.
    """
    while True:
        record, accepted = yield [op.ReadRecord(), op.ReadAccepted()]
        home = yield from one(op.DescribeLayouts())  # after the read, so it is this table's content
        if record is None or record.home != home:
            copy = yield from one(op.ReadRecordCopy())  # after the loss, or it might be outdated
            mirror = yield from one(op.DescribeMirror())
            if copy is not None and copy.mirror == mirror:
                lost = copy.original.home != home  # else the first deployment was interrupted; no register is missing
                yield [op.WriteRecord(record, replace(copy.original, home=home, restored=lost))]
                continue
            new = yield from _first(deployment, record, copy, home)
            if new is None:
                return None
            # The mirror comes first: if the layouts table is lost before all is reconciled, the copy shows that no more
            # registers stood than the mirror has.
            if not (yield from one(op.WriteRecordCopy(copy, Copy(new, mirror)))):
                continue
        elif accepted != record.accepted:
            new = record  # somebody has deleted what stands beside the record, or changed it
        elif deployment is None or record.desired.text == deployment.desired.text:
            return record
        elif record.number != deployment.follows and not _sees_more(deployment, record):
            raise superseded(record.desired.regions)
        else:
            yield from _check(deployment)
            new = replace(_record(deployment, home, record.number + 1), restored=record.restored, report=record.report)
        yield [op.WriteRecord(record, new)]


def _check(deployment: Deploy) -> Steps[None]:
    now = yield from one(op.Clock())
    if abs(now - deployment.asked) > LATEST:
        raise outdated(deployment.asked, now)
    unknown = set(deployment.desired.floors) - {"*", *deployment.desired.counters}
    if unknown:
        registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
        unknown -= {*registers, *copies}
        if unknown:
            raise unknown_floors(sorted(unknown))


def _first(
    deployment: Deploy | None, record: DeploymentRecord | None, copy: Copy[DeploymentRecord] | None, home: str
) -> Steps[DeploymentRecord | None]:
    """Return this layouts table's first record; None without a deployment. What stood before needs a floor."""
    if deployment is not None:
        yield from _check(deployment)
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    evidence = _evidence(registers, copies, home)
    if deployment is not None:
        regions = (*deployment.desired.regions, *deployment.desired.leaving)
        scans = yield [op.ScanItems(region) for region in regions]
        evidence = _items(dict(zip(regions, scans, strict=True)), registers) | evidence
    # A copy for this very table shows a first deployment that was interrupted: nothing was done by it.
    stood = bool(record or evidence or (copy is not None and copy.original.home != home))
    if deployment is None:
        if stood:
            raise lost_home(home, evidence)
        return None
    desired = deployment.desired
    label = yield from one(op.DescribeStream())
    made_for_it = desired.first in ("", desired.home) and desired.home.endswith(label)
    if (stood or not made_for_it) and "*" not in desired.floors:
        raise lost_home(home, evidence)
    numbers = [deployment.follows, record.number if record else 0, copy.original.number if copy else 0]
    return _record(deployment, home, max(numbers) + 1)


def _record(deployment: Deploy, home: str, number: int) -> DeploymentRecord:
    return DeploymentRecord(home, number, deployment.follows, deployment.asked, deployment.desired)


def _items(
    scans: Mapping[str, Mapping[str, Item | Absent] | Absent], registers: Mapping[str, Register | Absent]
) -> dict[str, str]:
    """Return what the regions have of counters that no register knows, by counter."""
    found: dict[str, list[str]] = {}
    for region, items in scans.items():
        if not isinstance(items, Absent):
            for counter, item in items.items():
                if isinstance(item, Item) and counter not in registers:
                    found.setdefault(counter, []).append(f"{region} has minted up to {item.issued:,}")
    return {counter: ", ".join(regions) for counter, regions in found.items()}


def _evidence(
    registers: Mapping[str, Register | Absent], copies: Mapping[str, Copy[Register] | Absent], home: str
) -> dict[str, str]:
    """Return what is left of counters that another layouts table had, by counter."""
    found = {
        counter: f"a copy of its register, of epoch {copy.original.epoch}"
        for counter, copy in copies.items()
        if isinstance(copy, Copy)
    }
    return found | {
        counter: f"a register of another table, of epoch {register.epoch}"
        for counter, register in registers.items()
        if isinstance(register, Register) and register.home != home
    }


def _sees_more(deployment: Deploy, record: DeploymentRecord) -> bool:
    """Return whether the preview saw the recreated layouts table, while the restored record still names the old one.

    An outdated deployment names the table before, as the record does.
    """
    return record.restored and deployment.desired.home != record.desired.home


def finish(record: DeploymentRecord, report: str | None, mirror: str) -> Steps[DeploymentRecord]:
    """Record that every counter is reconciled, first in the layouts table, then in the mirror. Return the record.

    `report` is what stands, or None if some counter isn't reconciled: then only the mirror's copy of the record is
    brought up to date. `mirror` is the id of the mirror in which the copies of all registers were found.

    Raises:
        Refused: another deployment was admitted since, or the mirror was lost.
    """
    while True:
        copy = yield from one(op.ReadRecordCopy())  # before the record, or an older record could replace a newer copy
        present = yield from one(op.ReadRecord())
        home, present_mirror = yield [op.DescribeLayouts(), op.DescribeMirror()]
        if present_mirror != mirror:
            raise mirror_lost()
        if present is None or present.accepted != record.accepted or home != record.home:
            raise superseded(present.desired.regions if present else ())
        done = replace(present, restored=False)  # every register was seen where it should be
        if report is not None:
            done = replace(done, reconciled=True, report=report)
        if present != done:
            yield [op.WriteRecord(present, done)]
        elif copy != Copy(done, mirror):
            yield [op.WriteRecordCopy(copy, Copy(done, mirror))]
        else:
            return done
