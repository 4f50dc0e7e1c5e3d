"""Admits a deployment, and keeps the record of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import count

from global_integers_core.records import RECORD_KEY

from . import operations as op
from .deletion import mirrored
from .model import (
    Absent,
    Copy,
    Deletions,
    Deploy,
    DeploymentRecord,
    DesiredState,
    Item,
    Refused,
    Register,
    highest,
)
from .operations import Steps, one
from .refusals import (
    another_default,
    lost_layouts,
    mirror_lost,
    not_put_back,
    nowhere,
    outdated,
    superseded,
    unanswered,
    unknown_floors,
    unnamed_default,
)

LATEST = 3 * 3600
"""Seconds after which a deployment is too old to be admitted: far more than one lasts."""


def admit(deployment: Deploy | None, run: str) -> Steps[DeploymentRecord | None]:
    """Return the record that this run carries out. A lost record is put back from the mirror first.

    Without a deployment, that is what was admitted before; None if nothing is deployed yet. A deployment that asks for
    what the record asks for already is admitted at any age: it overrules nothing. No other run has the random `run`.

    Raises:
        Refused: the deployment is outdated, has a floor for an unknown counter, or none of its regions answers; the
            layouts table and its mirror are both lost; or a region doesn't answer at the first deployment. Nothing was
            changed then, except that a lost record may have been put back.
    """
    for attempt in count():
        token = f"{run}/{attempt}"  # what was written by a former attempt isn't what this one writes
        record, admitted = yield [op.ReadRecord(), op.ReadAdmitted()]
        layouts_id = yield from one(op.DescribeLayouts())  # after the read, so it is this table's content
        if record is None or record.layouts_id != layouts_id:
            copy = yield from one(op.ReadRecordCopy())  # after the loss, or it might be outdated
            mirror_id = yield from one(op.DescribeMirror())
            if copy is not None and copy.mirror_id == mirror_id:
                # Else the first deployment was interrupted, and no register is missing.
                lost = copy.original.layouts_id != layouts_id
                put_back = replace(copy.original, layouts_id=layouts_id, token=token, restored=lost)
                yield [op.WriteRecord(record, put_back)]
                continue
            try:
                new = yield from _first(deployment, record, copy, layouts_id, token)
            except Refused:
                if (yield from one(op.ReadRecord())) == record:
                    raise
                continue  # another run was faster, and what was found is its work
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
        elif record.token != deployment.follows and not (yield from _sees_more(deployment, record)):
            raise superseded(record.desired.regions)
        else:
            yield from _check(deployment)
            if all(
                isinstance(answer, Absent) for answer in (yield [*map(op.DescribeTable, deployment.desired.regions)])
            ):
                raise nowhere(deployment.desired.regions)
            floor = deployment.desired.floors.get("*", 1)
            new = replace(
                record,
                token=token,
                number=record.number + 1,
                follows=deployment.follows,
                requested=deployment.requested,
                desired=deployment.desired,
                reconciled=False,
                # After a loss of everything, a floor may have to be corrected.
                first_base=max(record.first_base, floor) if record.first_epoch > 1 else record.first_base,
            )
        yield [op.WriteRecord(record, new)]
    raise AssertionError  # it counts for ever


def _check(deployment: Deploy) -> Steps[None]:
    now = yield from one(op.Clock())
    if abs(now - deployment.requested) > LATEST:
        raise outdated(deployment.requested, now)
    desired = deployment.desired
    unknown = set(desired.floors) - {"*", *desired.counters}
    if unknown:
        registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
        unknown -= {*registers, *copies}
        regions = (*desired.regions, *desired.leaving)
        reads = [op.ReadItem(region, counter) for counter in sorted(unknown) for region in regions]
        found = yield reads  # if a register was lost, there may still be an item
        unknown -= {read.counter for read, item in zip(reads, found, strict=True) if isinstance(item, Item)}
        if unknown:
            raise unknown_floors(sorted(unknown))


def _first(
    deployment: Deploy | None,
    record: DeploymentRecord | None,
    copy: Copy[DeploymentRecord] | None,
    layouts_id: str,
    token: str,
) -> Steps[DeploymentRecord | None]:
    """Return this layouts table's first record; None without a deployment.

    It is written only if every region has answered. If anything, anywhere, shows that there was a deployment, a floor
    is needed, too, and the settings must name the default counter.
    """
    if deployment is not None:
        yield from _check(deployment)
    desired = deployment.desired if deployment is not None else None
    regions = (*desired.regions, *desired.leaving) if desired is not None else ()
    registers, copies = yield [op.ScanRegisters(), op.ScanCopies()]
    scans = dict(zip(regions, (yield [op.ScanItems(region, patient=True) for region in regions]), strict=True))
    traces = _items(scans) | _copies(copies) | _registers(registers)
    if record is not None or (copy is not None and copy.original.layouts_id != layouts_id):
        traces |= {RECORD_KEY: "a record of another layouts table"}
    if desired is None:
        if traces:
            raise lost_layouts(layouts_id, traces)
        return None
    assert deployment is not None  # noqa: S101 (it has the desired state)
    named = yield from _names_the_present_table(desired)
    if desired.first_layouts_label != desired.layouts_label or not named:
        first, _, made = desired.first_layouts_label.partition(" ")
        traces |= {"Pulumi's state": f"the first layouts table of this stack, of {made} in {first}"}
    floor = desired.floors.get("*")
    if traces and (floor is None or not desired.default_chosen):
        raise lost_layouts(layouts_id, traces)
    unreachable = [region for region, items in scans.items() if items is Absent.UNREACHABLE]
    if unreachable:
        raise unanswered(unreachable)
    number = 1 + max([0, *(known.number for known in (record, copy and copy.original) if known is not None)])
    new = DeploymentRecord(
        layouts_id, token, number, deployment.follows, deployment.requested, desired, desired.default_counter
    )
    if traces and floor is not None:
        deletions = yield from _deletions([known for known in (record, copy and copy.original) if known is not None])
        # No warm function may have seen a later epoch: since 1970, fewer epochs began than seconds have passed.
        return replace(new, first_epoch=(yield from one(op.Clock())), first_base=floor, deletions=deletions)
    return new


def _deletions(known: Sequence[DeploymentRecord]) -> Steps[Deletions]:
    """Return what is known of deleted counters after a loss of both tables at home. The archive may have marks."""
    archive_id = yield from one(op.DescribeArchive())
    found = Deletions("unknown" if isinstance(archive_id, Absent) else archive_id)
    for _, marks, lost in (record.deletions for record in known):
        found = found._replace(highest=highest(found.highest, marks), lost=highest(found.lost, lost))
    if any(record.deletions.archive_id not in ("", archive_id) for record in known):
        found = found._replace(lost=found.of_all)
    return found


def _items(scans: Mapping[str, Mapping[str, Item | Absent] | Absent]) -> dict[str, str]:
    """Return what the regions have, by counter."""
    found: dict[str, list[str]] = {}
    for region, items in scans.items():
        if not isinstance(items, Absent):
            for counter, item in items.items():
                has = "has an item that can't be read"
                if isinstance(item, Item):  # or nothing yet of an epoch that has just begun
                    has = f"may have minted up to {item.issued:,}" if item.issued > 0 else "has minted nothing"
                found.setdefault(counter, []).append(f"{region} {has}")
    return {counter: ", ".join(regions) for counter, regions in found.items()}


def _copies(copies: Mapping[str, Copy[Register] | Absent]) -> dict[str, str]:
    return {
        counter: f"a copy of its register, of epoch {copy.original.epoch}"
        if isinstance(copy, Copy)
        else "a copy that can't be read"
        for counter, copy in copies.items()
    }


def _registers(registers: Mapping[str, Register | Absent]) -> dict[str, str]:
    return {
        counter: f"a register of epoch {register.epoch}"
        if isinstance(register, Register)
        else "a register that can't be read"
        for counter, register in registers.items()
    }


def _sees_more(deployment: Deploy, record: DeploymentRecord) -> Steps[bool]:
    """Return whether the preview saw the recreated layouts table, empty, and another run has put back the record.

    The record still names the table before, also once every register is back. An outdated deployment names that one,
    too, or was requested before.
    """
    desired = record.desired
    if deployment.desired.layouts_label == desired.layouts_label or deployment.requested < record.requested:
        return False
    return (yield from _names_the_present_table(deployment.desired))


def _names_the_present_table(desired: DesiredState) -> Steps[bool]:
    label = yield from one(op.DescribeStream())
    return bool(label) and desired.layouts_label.endswith(label)


def check_default(region: str, counter: str, *, chosen: bool) -> Steps[None]:
    """Refuse to let callers of a region's `/` reach this counter, unless it is the one of always, or was `chosen`.

    What callers of `/` get from another counter may be integers that they got before. Once it has changed, it must be
    chosen by every deployment: after an interrupted one, or one that was taken back, some callers reach the other one.

    Raises:
        Refused: it is another one and wasn't chosen, or the record is still in the mirror only; or nobody knows which
            one it was.
    """
    yield from _default(region, counter, chosen=chosen)


def note_default(region: str, counter: str, *, chosen: bool) -> Steps[None]:
    """Do the same, and if it is another counter than before, let the record say so: callers are about to reach it."""
    while True:
        found = yield from _default(region, counter, chosen=chosen)
        if found is None:
            return
        record, copy, mirror_id = found
        new = record
        if record.default_counter != counter:
            new = replace(record, default_counter=counter, default_before=record.default_counter)
        if new != record:
            yield [op.WriteRecord(record, new)]
        elif copy is not None and copy.mirror_id == mirror_id and _default_of(copy.original) != _default_of(record):
            before, after = copy.original, _default_of(record)
            noted = replace(before, default_counter=after[0], default_before=after[1])
            yield [op.WriteRecordCopy(copy, Copy(noted, mirror_id))]
        else:
            return


def _default_of(record: DeploymentRecord) -> tuple[str, str]:
    return record.default_counter, record.default_before


def _default(
    region: str, counter: str, *, chosen: bool
) -> Steps[tuple[DeploymentRecord, Copy[DeploymentRecord] | None, str] | None]:
    """Return the record, the mirror's copy and the mirror's id, or None if there is no record in its place."""
    copy, record = yield [op.ReadRecordCopy(), op.ReadRecord()]
    layouts_id, mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
    here = record if record is not None and record.layouts_id == layouts_id else None
    known = here or (copy.original if copy is not None and copy.mirror_id == mirror_id else None)
    if known is None:
        if not chosen:
            # Before the first deployment is admitted, no region has an item of any counter.
            items = yield from one(op.ScanItems(region, patient=True))
            if traces := _items({region: items}):
                if (yield from one(op.ReadRecord())) == record:
                    raise lost_layouts(layouts_id, traces, only=region)
                return (yield from _default(region, counter, chosen=chosen))  # a run has just been admitted
            if items is Absent.UNREACHABLE:
                raise unanswered([region])
        return None
    if not chosen and known.default_counter != counter:
        raise another_default(known.default_counter, counter)
    if not chosen and known.default_before:
        raise unnamed_default(known.default_counter, known.default_before)
    if here is None and known.default_counter != counter:  # another run may just be putting back what the copy had
        raise not_put_back()
    return (here, copy, mirror_id) if here is not None else None


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
        if present is None or present.token != record.token or layouts_id != record.layouts_id:
            raise superseded(present.desired.regions if present else ())
        done = replace(present, restored=False)  # every register was seen where it should be
        if report is not None:
            done = replace(done, reconciled=True, report=report)
        there = copy.original if copy is not None and copy.mirror_id == mirror_id else done
        if present != done:
            yield [op.WriteRecord(present, done)]
        elif copy != Copy(mirrored(done, there), mirror_id):
            yield [op.WriteRecordCopy(copy, Copy(mirrored(done, there), mirror_id))]
        else:
            return done
