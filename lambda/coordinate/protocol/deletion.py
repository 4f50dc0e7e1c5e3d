"""Deletes counters, so that none of their integers is ever minted again.

A register without regions replaces that of a counter: its last epoch. Its items are closed, so it mints nothing more,
and callers see no such counter. An hour later, a scheduled run deletes what is left: the items, and, once the mark is
in the archive and the record knows it, the register and its copy. By then, no run or write is under way any more that
has seen the register with its regions, and that could put and open an item where there is none.

A counter that is created again within that hour goes on with the next epoch. Later, it begins above its mark. What a
restored table brings back of the mark's epoch or before is a remainder, which the next run removes.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

from . import operations as op
from .model import (
    NEVER,
    Absent,
    Copy,
    Deleted,
    Deletions,
    DeploymentRecord,
    Item,
    Register,
    Scanned,
    highest,
    item_in,
)
from .operations import Observation, Steps, one
from .refusals import archive_unreachable

GRACE = 3600
"""Seconds from the last register of a counter until what is left of it is deleted: more than a run lasts (15 minutes),
a signature is valid (15 minutes), and two clocks differ."""

ATTEMPTS = 10
"""How often a write is tried while other runs write the same record."""


class Former(NamedTuple):
    """What is known of a former counter of the same name."""

    mark: Deleted | None
    """None if it isn't known to be deleted. Otherwise, what is of this epoch or before is a remainder."""
    lost: Deleted
    """The highest of all marks that were lost."""

    @property
    def least(self) -> Deleted:
        """A new counter of this name begins above this epoch and this limit."""
        return highest(self.mark or NEVER, self.lost)


NOTHING = Former(None, NEVER)


def former(counter: str, record: DeploymentRecord, *, has_copy: bool) -> Steps[Former]:
    """Return what is known of a former counter of this name, of which no register was found.

    If the archive doesn't answer, nothing is begun. What the mirror has is put back, as if all marks were lost.
    """
    # A register is deleted after the record knows its mark. So the record is read again, after the register.
    present = (yield from one(op.ReadRecord())) or record
    if not present.deletions.archive_id:
        return NOTHING
    mark = yield from one(op.ReadDeleted(counter))
    lost = yield from lost_marks(present)
    if Absent.UNREACHABLE in (mark, lost) and not has_copy:
        raise archive_unreachable(counter)
    if isinstance(lost, Absent) or isinstance(mark, Absent):
        lost = present.deletions.of_all
    return Former(mark if isinstance(mark, Deleted) else None, lost)


def lost_marks(record: DeploymentRecord) -> Steps[Deleted | Absent]:
    """Return the highest of all marks that were lost, or `UNREACHABLE` if the archive doesn't say."""
    archive_id = yield from one(op.DescribeArchive())  # after what was read there, and the record named it before
    if archive_id is Absent.UNREACHABLE:
        return Absent.UNREACHABLE
    deletions = record.deletions
    return deletions.lost if archive_id == deletions.archive_id else deletions.of_all


def remainders(
    known: Former, register: Register | None, copy: Copy[Register] | None, mirror_id: str, first_epoch: int
) -> tuple[Register | None, Copy[Register] | None]:
    """Return the register and the copy if they are remainders of the former counter; otherwise None.

    If marks were lost, a copy without a register is one in a mirror that was restored. One that is older than the
    `first_epoch` of this layouts table, or above all lost marks, is of a counter that was lost.
    """
    last = known.mark.epoch if known.mark else 0
    left = register if register is not None and register.epoch <= last else None
    if copy is None or copy.original.epoch <= last:
        return left, copy
    restored = register is None and copy.mirror_id != mirror_id and copy.original.epoch >= first_epoch
    below = copy.original.epoch <= known.lost.epoch and copy.original.limit <= known.lost.limit
    return left, copy if restored and below else None


def deleting(register: Register, now: int) -> Register:
    """Return the register that deletes a counter."""
    return replace(register, epoch=register.epoch + 1, regions=(), ids=(), granted=now)


def is_due(register: Register, now: int) -> bool:
    """Return whether what is left of a deleted counter may be deleted, too."""
    return not register.regions and now >= register.granted + GRACE


def put_back(register: Register, layouts_id: str, known: Former) -> Register:
    """Return the register that a copy has, for a layouts table that has lost it.

    If marks were lost, the copy could be a remainder. Then its epoch ends at once, and the next one begins above all.
    """
    found = replace(register, layouts_id=layouts_id)
    if register.epoch > known.least.epoch:
        return found
    epoch, limit = highest(known.least, Deleted(register.epoch, register.limit))
    return replace(found, epoch=epoch, limit=limit, base=limit + 1, window=0)


def close_items(observation: Observation) -> Steps[None]:
    """Close the items of a counter that is being deleted, in the regions that answer."""
    register, items, _ = observation
    yield [
        op.CloseItem(region, register.counter, item.epoch, register.epoch, deleted=True)
        for region, item in items.items()
        if isinstance(item, Item) and item.epoch <= register.epoch and not item.deleted
    ]


def delete_items(observation: Observation) -> Steps[None]:
    """Delete the items of a deleted counter in the regions that answer."""
    register, items, _ = observation
    regions = [name for name, item in items.items() if isinstance(item, Item) and item.epoch <= register.epoch]
    yield [op.DeleteItem(region, register.counter, register.epoch) for region in regions]


def remove_remainders(
    unknown: Mapping[str, tuple[str, ...]],
    items: Mapping[str, Scanned],
    record: DeploymentRecord,
) -> Steps[dict[str, tuple[str, ...]]]:
    """Delete items without a register whose counter was deleted. Return the others.

    `unknown` are counters, and the regions that have an item of them; `items` are those of each region. If marks were
    lost, an item that may be a remainder is closed: its counter begins above, should somebody create it. Not if a floor
    is set for it: then it goes on.
    """
    marks = dict(zip(unknown, (yield [op.ReadDeleted(counter) for counter in unknown]), strict=True))
    lost = (yield from lost_marks(record)) if unknown else NEVER
    left: dict[str, tuple[str, ...]] = {}
    writes: list[op.Operation] = []
    for counter, regions in unknown.items():
        mark = marks[counter]
        for region in regions:
            item = item_in(items[region], counter)
            if isinstance(mark, Deleted) and isinstance(item, Item) and item.epoch <= mark.epoch:
                writes.append(op.DeleteItem(region, counter, mark.epoch))
                continue
            left[counter] = (*left.get(counter, ()), region)
            if isinstance(lost, Absent) or not isinstance(item, Item) or record.desired.floor(counter):
                continue
            if may_be_remainder(item, lost) and not item.deleted:
                writes.append(op.CloseItem(region, counter, item.epoch, item.epoch, deleted=True))
    yield writes
    return left


def may_be_remainder(item: Item, lost: Deleted) -> bool:
    """Return whether an item may be of a deleted counter whose mark was lost."""
    return item.epoch <= lost.epoch and item.ceiling <= lost.limit


def remove(counter: str, mark: Deleted, register: Register | None, copy: Copy[Register] | None) -> Steps[bool]:
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
    if not (yield from note_mark(archive_id, mark)):
        return False
    if register is not None and not (yield from one(op.DeleteRegister(register))):
        return True
    if copy is not None:
        yield [op.DeleteCopy(copy)]
    return True


def note_mark(archive_id: str, mark: Deleted) -> Steps[bool]:
    """Let the copy of the record know a mark, and then the record. Return False if that can't be done yet."""
    for _ in range(ATTEMPTS):
        record = yield from one(op.ReadRecord())
        copy = yield from one(op.ReadRecordCopy())
        layouts_id, mirror_id = yield [op.DescribeLayouts(), op.DescribeMirror()]
        if record is None or record.layouts_id != layouts_id:
            return False  # the layouts table was lost
        if _noted(record, archive_id, mark) == record:
            return True
        if copy is None or copy.mirror_id != mirror_id:
            return False  # the mirror was lost, and isn't whole yet
        noted = Copy(_noted(copy.original, archive_id, mark), mirror_id)
        if copy != noted and not (yield from one(op.WriteRecordCopy(copy, noted))):
            continue
        if (yield from one(op.WriteRecord(record, _noted(mirrored(record, copy.original), archive_id, mark)))):
            return True
    return False


def mirrored(record: DeploymentRecord, copy: DeploymentRecord) -> DeploymentRecord:
    """Return the record with all that its copy knows of deletions. The copy is written first."""
    mine, its = record.deletions, copy.deletions
    if mine.archive_id == its.archive_id:
        known = Deletions(its.archive_id, highest(mine.highest, its.highest), highest(mine.lost, its.lost))
    else:
        known = its._replace(lost=highest(its.lost, mine.of_all))
    return replace(record, deletions=known)


def _noted(record: DeploymentRecord, archive_id: str, mark: Deleted) -> DeploymentRecord:
    known = record.deletions
    if known.archive_id != archive_id:  # the marks of former deletions are lost
        known = Deletions(archive_id, lost=known.of_all)
    return replace(record, deletions=known._replace(highest=highest(known.highest, mark)))
