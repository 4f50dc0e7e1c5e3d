"""Admits a deployment, and keeps the record of it."""

from collections.abc import Mapping
from dataclasses import replace

from . import operations as op
from .model import Absent, Copy, Deploy, DeploymentRecord, Item, Register
from .operations import Steps, one
from .refusals import lost_layouts, mirror_lost, outdated, superseded, unknown_floors

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
        record, admitted = yield [op.ReadRecord(), op.ReadAdmitted()]
        layouts_id = yield from one(op.DescribeLayouts())  # after the read, so it is this table's content
        if record is None or record.layouts_id != layouts_id:
            copy = yield from one(op.ReadRecordCopy())  # after the loss, or it might be outdated
            mirror_id = yield from one(op.DescribeMirror())
            if copy is not None and copy.mirror_id == mirror_id:
                # Else the first deployment was interrupted, and no register is missing.
                lost = copy.original.layouts_id != layouts_id
                yield [op.WriteRecord(record, replace(copy.original, layouts_id=layouts_id, restored=lost))]
                continue
            new = yield from _first(deployment, record, copy, layouts_id)
            if new is None:
                return None
            # The mirror comes first: if the layouts table is lost before all is reconciled, the copy shows that no more
            # registers existed than the mirror has.
            if not (yield from one(op.WriteRecordCopy(copy, Copy(new, mirror_id)))):
                continue
        elif admitted != record.admitted:
            new = record  # somebody has deleted what is beside the record, or changed it
        elif deployment is None or record.desired.text == deployment.desired.text:
            return record
        elif record.number != deployment.follows and not _sees_more(deployment, record):
            raise superseded(record.desired.regions)
        else:
            yield from _check(deployment)
            new = replace(
                _record(deployment, layouts_id, record.number + 1), restored=record.restored, report=record.report
            )
        yield [op.WriteRecord(record, new)]


def _check(deployment: Deploy) -> Steps[None]:
    now = yield from one(op.Clock())
    if abs(now - deployment.requested) > LATEST:
        raise outdated(deployment.requested, now)
    unknown = set(deployment.desired.floors) - {"*", *deployment.desired.counters}
    if unknown:
        registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
        unknown -= {*registers, *copies}
        if unknown:
            raise unknown_floors(sorted(unknown))


def _first(
    deployment: Deploy | None, record: DeploymentRecord | None, copy: Copy[DeploymentRecord] | None, layouts_id: str
) -> Steps[DeploymentRecord | None]:
    """Return this layouts table's first record; None without a deployment. What existed before needs a floor."""
    if deployment is not None:
        yield from _check(deployment)
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    evidence = _evidence(registers, copies, layouts_id)
    if deployment is not None:
        regions = (*deployment.desired.regions, *deployment.desired.leaving)
        scans = yield [op.ScanItems(region) for region in regions]
        evidence = _items(dict(zip(regions, scans, strict=True)), registers) | evidence
    # A copy for this very table shows a first deployment that was interrupted: nothing was done by it.
    stood = bool(record or evidence or (copy is not None and copy.original.layouts_id != layouts_id))
    if deployment is None:
        if stood:
            raise lost_layouts(layouts_id, evidence)
        return None
    desired = deployment.desired
    label = yield from one(op.DescribeStream())
    made_for_it = desired.first_layouts_label in ("", desired.layouts_label) and desired.layouts_label.endswith(label)
    if (stood or not made_for_it) and "*" not in desired.floors:
        raise lost_layouts(layouts_id, evidence)
    numbers = [deployment.follows, record.number if record else 0, copy.original.number if copy else 0]
    return _record(deployment, layouts_id, max(numbers) + 1)


def _record(deployment: Deploy, layouts_id: str, number: int) -> DeploymentRecord:
    return DeploymentRecord(layouts_id, number, deployment.follows, deployment.requested, deployment.desired)


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
    registers: Mapping[str, Register | Absent], copies: Mapping[str, Copy[Register] | Absent], layouts_id: str
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
        if isinstance(register, Register) and register.layouts_id != layouts_id
    }


def _sees_more(deployment: Deploy, record: DeploymentRecord) -> bool:
    """Return whether the preview saw the recreated layouts table, while the restored record still names the old one.

    An outdated deployment names the table before, as the record does.
    """
    return record.restored and deployment.desired.layouts_label != record.desired.layouts_label


def finish(record: DeploymentRecord, report: str | None, mirror_id: str) -> Steps[DeploymentRecord]:
    """Record that every counter is reconciled, first in the layouts table, then in the mirror. Return the record.

    `report` is what is deployed, or None if some counter isn't reconciled: then only the mirror's copy of the record is
    brought up to date. `mirror_id` is that of the mirror in which the copies of all registers were found.

    Raises:
        Refused: another deployment was admitted since, or the mirror was lost.
    """
    while True:
        copy = yield from one(op.ReadRecordCopy())  # before the record, or an older record could replace a newer copy
        present = yield from one(op.ReadRecord())
        layouts_id, present_mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
        if present_mirror_id != mirror_id:
            raise mirror_lost()
        if present is None or present.admitted != record.admitted or layouts_id != record.layouts_id:
            raise superseded(present.desired.regions if present else ())
        done = replace(present, restored=False)  # every register was seen where it should be
        if report is not None:
            done = replace(done, reconciled=True, report=report)
        if present != done:
            yield [op.WriteRecord(present, done)]
        elif copy != Copy(done, mirror_id):
            yield [op.WriteRecordCopy(copy, Copy(done, mirror_id))]
        else:
            return done
