"""Deletes counters, so that none of their integers is ever minted again.

A register without regions replaces that of a counter: whoever sees it carries the deletion on. Its items are deleted in
the regions that answer. Then its mark is written to the archive, and only then are its register and its copy deleted. A
late write may bring any of them back, a restored table too, and a region that doesn't answer keeps its item. But what
is of the mark's epoch or an earlier one is a remainder. It mints up to the mark at most, and another counter of this
name begins above it. The next run removes remainders.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from . import operations as op
from .model import Absent, Copy, Deleted, Deletions, DeploymentRecord, Item, Register
from .operations import Observation, Steps, one
from .refusals import archive_unreachable

NEVER = Deleted(0, 0)


class Former(NamedTuple):
    """What is known of a former counter of the same name."""

    mark: Deleted | None
    """None if it isn't known to be deleted. Otherwise, what is of this epoch or before is a remainder."""
    least: Deleted
    """A new counter of this name begins above this epoch and this limit."""


NOTHING = Former(None, NEVER)


def former(counter: str, record: DeploymentRecord) -> Steps[Former]:
    """Return what is known of a former counter of this name. If its mark may be lost, the highest mark counts."""
    if not record.deletions.number:
        return NOTHING
    mark = yield from one(op.ReadDeleted(counter))
    archive_id = yield from one(op.DescribeArchive())  # after the read, and the record named it before
    if Absent.UNREACHABLE in (mark, archive_id):
        raise archive_unreachable(counter)
    known = mark if isinstance(mark, Deleted) else None
    if mark is not Absent.STRAY and archive_id == record.deletions.archive_id:
        return Former(known, known or NEVER)
    return Former(known, _highest(record.deletions.highest, known or NEVER))


def remainders(
    known: Former, register: Register | None, copy: Copy[Register] | None
) -> tuple[Register | None, Copy[Register] | None]:
    """Return the register and the copy if they are remainders of the former counter; otherwise None."""
    last = known.mark.epoch if known.mark else 0
    return (
        register if register is not None and register.epoch <= last else None,
        copy if copy is not None and copy.original.epoch <= last else None,
    )


def deleting(register: Register, now: int) -> Register:
    """Return the register that deletes a counter."""
    return replace(register, epoch=register.epoch + 1, regions=(), ids=(), granted=now)


def put_back(register: Register, layouts_id: str, known: Former) -> Register:
    """Return the register that a copy has, for a layouts table that has lost it.

    If marks may be lost, the copy could be a remainder. Then its epoch ends at once, and the next one begins above all.
    """
    found = replace(register, layouts_id=layouts_id)
    if register.epoch > known.least.epoch:
        return found
    epoch, limit = _highest(known.least, Deleted(register.epoch, register.limit))
    return replace(found, epoch=epoch, limit=limit, base=limit + 1, window=0)


def delete_items(observation: Observation, epoch: int) -> Steps[None]:
    """Delete a counter's items up to this epoch in the regions that answer."""
    found = observation.items.items()
    regions = [region for region, item in found if isinstance(item, Item) and item.epoch <= epoch]
    yield [op.DeleteItem(region, observation.register.counter, epoch) for region in regions]


def delete_remainders(
    unknown: Mapping[str, tuple[str, ...]], items: Mapping[str, Mapping[str, Item | Absent] | Absent]
) -> Steps[dict[str, tuple[str, ...]]]:
    """Delete items without a register whose counter was deleted. Return the others.

    `unknown` are counters, and the regions that have an item of them; `items` are those of each region.
    """
    marks = dict(zip(unknown, (yield [op.ReadDeleted(counter) for counter in unknown]), strict=True))
    left: dict[str, tuple[str, ...]] = {}
    writes: list[op.Operation] = []
    for counter, regions in unknown.items():
        mark = marks[counter]
        for region in regions:
            there = items[region]
            item = None if isinstance(there, Absent) else there.get(counter)
            if isinstance(mark, Deleted) and isinstance(item, Item) and item.epoch <= mark.epoch:
                writes.append(op.DeleteItem(region, counter, mark.epoch))
            else:
                left[counter] = (*left.get(counter, ()), region)
    yield writes
    return left


def remove(
    counter: str, mark: Deleted, register: Register | None, copy: Copy[Register] | None, record: DeploymentRecord
) -> Steps[bool]:
    """Write the mark, and delete what the home region has of a counter. Return False if that can't be done yet.

    The record knows the highest mark before a register is gone, and so does its copy: should the archive be lost, too.
    Another run may have been faster, so look again.
    """
    archive_id = yield from one(op.DescribeArchive())
    yield [op.WriteDeleted(counter, mark)]  # it may be there already
    there = yield from one(op.ReadDeleted(counter))
    if isinstance(archive_id, Absent) or not isinstance(there, Deleted) or there.epoch < mark.epoch:
        return False
    if archive_id != (yield from one(op.DescribeArchive())):
        return False  # nobody knows in which of the two the mark is
    if register is not None:
        present = yield from one(op.ReadRecord())
        if present is None or present.admitted != record.admitted:
            return True
        known = yield from one(op.ReadRecordCopy())
        mirror_id = yield from one(op.DescribeMirror())
        if known is None or known.mirror_id != mirror_id:
            return False  # the mirror isn't whole
        noted = Copy(_noted(known.original, archive_id, mark), mirror_id)
        if not (yield from one(op.WriteRecordCopy(known, noted))):
            return True
        if not (yield from one(op.DeleteRegister(register, present, _noted(present, archive_id, mark)))):
            return True
    if copy is not None:
        yield [op.DeleteCopy(copy)]
    return True


def mirrored(record: DeploymentRecord, copy: DeploymentRecord) -> DeploymentRecord:
    """Return the record for the mirror, whose `copy` already knows of a deletion that is under way."""
    if copy.deletions.number <= record.deletions.number:
        return record
    first_epoch, first_base = max(record.first_epoch, copy.first_epoch), max(record.first_base, copy.first_base)
    return replace(record, deletions=copy.deletions, first_epoch=first_epoch, first_base=first_base)


def _noted(record: DeploymentRecord, archive_id: str, mark: Deleted) -> DeploymentRecord:
    """Return the record after a deletion. If the marks of former ones are lost, all begins above them for ever."""
    number, known_id, highest = record.deletions
    if number and known_id != archive_id:
        epoch, limit = highest
        first_epoch, first_base = max(record.first_epoch, epoch + 1), max(record.first_base, limit + 1)
        record, highest = replace(record, first_epoch=first_epoch, first_base=first_base), NEVER
    return replace(record, deletions=Deletions(number + 1, archive_id, _highest(highest, mark)))


def _highest(one: Deleted, other: Deleted) -> Deleted:
    return Deleted(max(one.epoch, other.epoch), max(one.limit, other.limit))
